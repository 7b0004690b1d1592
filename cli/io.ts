// What a command may touch of the process it runs in. A test hands in its own.
import type { Readable, Writable } from 'node:stream';

/** `isTTY` and `columns` are there when it is a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };
export type InputStream = Readable & { readonly isTTY?: boolean; readonly setRawMode?: (raw: boolean) => unknown };

export type Io = {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: { readonly [name: string]: string | undefined };
  /** Reading it throws a system error where the working directory was removed. */
  readonly cwd: string;
};

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  return {
    stdin,
    stdout,
    stderr,
    env,
    get cwd() {
      return process.cwd();
    },
  };
}
