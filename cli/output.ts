// The output of a command: its answer on stdout, as JSON or for people, and everything else on stderr.
import type { Io, OutputStream } from './io.ts';
import { printableBlock, printableJson, type TerminalLine, writeLine } from './terminal/text.ts';

export class Output {
  readonly json: boolean;
  /** Whether progress is shown: if stderr is a terminal, and the environment variable CI is not set. */
  readonly isWatched: boolean;
  readonly #io: Io;
  #hasProgress = false;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
    this.isWatched = io.stderr.isTTY === true && !io.env['CI'];
  }

  /** Whether output on stdout may have colours. */
  get hasColours(): boolean {
    return this.#hasColours(this.#io.stdout);
  }

  /** Prints the complete answer: with `--json` the document, else the lines. */
  answer(document: unknown, lines: () => readonly TerminalLine[]): Promise<void> {
    return this.piece(this.#wholeAnswer(document, lines));
  }

  /** Prints an answer that must not be lost. Resolves when the answer has been written to stdout; rejects if that fails. */
  keepAnswer(document: unknown, lines: () => readonly TerminalLine[]): Promise<void> {
    this.#wipe();
    return written(this.#io.stdout, this.#wholeAnswer(document, lines));
  }

  #wholeAnswer(document: unknown, lines: () => readonly TerminalLine[]): string {
    if (this.json) return `${printableJson(JSON.stringify(document, null, 2))}\n`;
    return lines()
      .map(line => `${writeLine(line, this.hasColours)}\n`)
      .join('');
  }

  /** Prints one element of a streamed answer: with `--json` the document, else the line. */
  item(document: unknown, line: () => TerminalLine): Promise<void> {
    if (this.json) return this.piece(`${printableJson(JSON.stringify(document))}\n`);
    return this.piece(`${writeLine(line(), this.hasColours)}\n`);
  }

  /**
   * Prints text as it is. If stdout is a terminal, unprintable characters are escaped (`printableBlock`). Adds a final newline if
   * a non-empty text has none.
   */
  verbatim(text: string): Promise<void> {
    const shown = this.#io.stdout.isTTY ? printableBlock(text) : text;
    return this.piece(shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`);
  }

  /** Prints text unchanged, so it must be safe for a terminal. Resolves when stdout can take more, or is closed. */
  async piece(text: string): Promise<void> {
    const { stdout } = this.#io;
    this.#wipe();
    if (text === '' || stdout.destroyed || stdout.write(text)) return;
    await new Promise<void>(resolve => {
      const go = (): void => {
        stdout.off('drain', go).off('close', go);
        resolve();
      };
      stdout.on('drain', go).on('close', go);
    });
  }

  /** Prints lines on stderr. */
  note(...lines: readonly TerminalLine[]): void {
    const { stderr } = this.#io;
    this.#wipe();
    const single = lines.flatMap((line): readonly TerminalLine[] =>
      typeof line === 'string' ? line.split('\n') : [line],
    );
    for (const line of single) stderr.write(`${writeLine(line, this.#hasColours(stderr))}\n`);
  }

  /** Prints, on stderr, text that must not be lost. Resolves when the text has been written; rejects if that fails. */
  keep(text: string): Promise<void> {
    this.#wipe();
    return written(this.#io.stderr, `${text}\n`);
  }

  /** Shows, on stderr, a line that the next output overwrites. Has no effect unless progress is shown (`isWatched`). */
  progress(text: string): void {
    const { stderr } = this.#io;
    if (!this.isWatched) return;
    this.#wipe();
    stderr.write(writeLine(text, false).slice(0, (stderr.columns || 80) - 1));
    this.#hasProgress = true;
  }

  #wipe(): void {
    if (this.#hasProgress) this.#io.stderr.write('\r\u001b[2K');
    this.#hasProgress = false;
  }

  #hasColours(sink: OutputStream): boolean {
    const { env } = this.#io;
    return sink.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  }
}

function written(sink: OutputStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    sink.write(text, error => (error ? reject(error) : resolve()));
  });
}
