// The command in this process: its exit status, and what it says.
import { Readable, Writable } from 'node:stream';

export type Ran = { readonly status: number; readonly document: unknown; readonly said: string };

/** The built command: the sources do not find the package's own files. */
const { run } = (await import(
  new URL('../../dist/cli/run.js', import.meta.url).href
)) as typeof import('../../cli/run.ts');

/** With `--json` among the words. */
export async function runCommand(words: readonly string[], env: { readonly [name: string]: string }): Promise<Ran> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const status = await run(words, { stdin: Readable.from([]), stdout, stderr, env, cwd: '/' });
  return { status, document: JSON.parse(stdout.text), said: stderr.text };
}

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}
