// Reads a secret from a pipe, or from a prompt that does not echo. Secrets are never arguments.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { usageFailure } from '../failure.ts';
import type { InputStream, Io } from '../io.ts';

/** The size limit of a value from a pipe. */
const secretBytesMax = 1_048_576;

/** From a pipe everything, without one trailing newline; from a terminal one line, without echo. */
export async function readSecret(io: Io, what: string): Promise<string> {
  const value = io.stdin.isTTY ? await ask(io, `${what}: `) : withoutNewline(await readAll(io.stdin, what));
  if (value === '') throw usageFailure(`no ${what} was given: pipe it to stdin, or type it at the prompt`);
  return value;
}

async function readAll(stdin: InputStream, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    length += bytes.length;
    if (length > secretBytesMax) throw usageFailure(`the ${what} is longer than ${secretBytesMax} bytes`);
    chunks.push(bytes);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usageFailure(`the ${what} is not UTF-8 text`);
  }
}

function withoutNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function ask({ stdin, stderr }: Io, prompt: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  stderr.write(prompt);
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  return new Promise((resolve, reject) => {
    let typed: string | null = null;
    lines.once('line', line => {
      typed = line;
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      stderr.write('\n');
      if (typed === null) reject(usageFailure('no value was typed'));
      else resolve(typed);
    });
  });
}
