// The command in this process: called with words and an environment, it returns exit status and output.
import { PassThrough, Readable } from 'node:stream';
import type { InputStream, OutputStream } from '../../../cli/io.ts';
import { run } from '../../../cli/run.ts';
import { watch } from '../../service/canary/canary.ts';
import { watchEnvironment } from '../../service/canary/environment.ts';
import { sweepBytes } from '../../service/canary/sweep.ts';

export type Surroundings = {
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  /** Whether `stdin` is typed at a terminal instead of coming from a pipe. */
  readonly isTyped?: boolean;
  /** Whether stdout and stderr are terminals. */
  readonly isTerminal?: boolean;
  /** Called with each piece of stdout, or of stderr, as it is written. */
  readonly onOutput?: (text: string) => void;
  readonly onNote?: (text: string) => void;
};

export type Outcome = {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout, which must be one JSON document, parsed. */
  readonly json: Document;
};
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, looked into by tests
type Document = any;

export async function headgate(words: readonly string[], surroundings: Surroundings = {}): Promise<Outcome> {
  const { env = {}, cwd = '/', stdin = '', isTyped = false, isTerminal = false, onOutput, onNote } = surroundings;
  const [stdout, stderr] = [sink(isTerminal, onOutput), sink(isTerminal, onNote)];
  const io = {
    stdin: Object.assign(Readable.from(stdin.length > 0 ? [Buffer.from(stdin)] : []), {
      isTTY: isTyped,
    }) as InputStream,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env,
    cwd,
  };
  watchEnvironment(env);
  if (words[0] === 'vault') watch('what a vault command read', stdin);
  const status = await run(words, io);
  const found = [...sweepBytes('stdout', stdout.text()), ...sweepBytes('stderr', stderr.text())];
  if (found.length > 0) throw new Error(`headgate ${words[0]} shows secrets:\n${found.join('\n')}`);
  return {
    status,
    stdout: stdout.text(),
    stderr: stderr.text(),
    get json() {
      return JSON.parse(stdout.text());
    },
  };
}

function sink(
  isTTY: boolean,
  onText?: (text: string) => void,
): { readonly stream: OutputStream; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new PassThrough().on('data', chunk => {
    chunks.push(chunk);
    onText?.(String(chunk));
  });
  return { stream: Object.assign(stream, { isTTY, columns: 100 }), text: () => Buffer.concat(chunks).toString() };
}
