// What a command says: its answer on stdout, as JSON or for people, and everything else on stderr.
import type { Io, Sink } from './io.ts';

export class Output {
  readonly json: boolean;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  /** The command's whole answer: the document with `--json`, else the lines. */
  answer(document: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.json) return write(this.#io.stdout, `${JSON.stringify(document, null, 2)}\n`);
    return write(
      this.#io.stdout,
      lines()
        .map(line => `${line}\n`)
        .join(''),
    );
  }

  /** One object of an answer that streams. */
  item(document: unknown, line: () => string): Promise<void> {
    return write(this.#io.stdout, `${this.json ? JSON.stringify(document) : line()}\n`);
  }

  /** Beside the answer. */
  note(line: string): void {
    this.#io.stderr.write(`${line}\n`);
  }
}

/** Resolves when the sink can take more. */
async function write(sink: Sink, text: string): Promise<void> {
  if (text === '' || sink.write(text)) return;
  await new Promise<void>(resolve => {
    sink.once('drain', resolve);
    sink.once('close', resolve);
  });
}
