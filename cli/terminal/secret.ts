// Reads a secret from a pipe, or from a prompt that does not echo. Secrets are never arguments.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { usageFailure } from '../failure.ts';
import type { Io } from '../io.ts';
import { decoded, readStdin } from '../payload.ts';

/** The maximum size of a secret that is read from a pipe. */
const secretBytesMax = 1_048_576;

/**
 * Reads stdin to its end and drops one trailing line break. If stdin is a terminal, reads one line without echo instead. Throws
 * if the secret is empty. Messages call the secret `what`.
 */
export async function readSecret(io: Io, what: string): Promise<string> {
  const value = io.stdin.isTTY ? await ask(io, `${what}: `) : await piped(io, `the ${what}`);
  if (value === '') throw usageFailure(`no ${what} was given: pipe it to stdin, or type it at the prompt`);
  return value;
}

async function piped(io: Io, what: string): Promise<string> {
  const bytes = await readStdin(what, io, secretBytesMax);
  return decoded(what, bytes, { ignoreBOM: true }).replace(/\r?\n$/, '');
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
