// The parts of the process that commands use: streams, environment and working directory. Tests pass their own.
import type { Readable, Writable } from 'node:stream';

/** `isTTY`, `columns` and `rows` are set for a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
export type InputStream = Readable & { readonly isTTY?: boolean; readonly setRawMode?: (raw: boolean) => unknown };

export type Io = {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: { readonly [name: string]: string | undefined };
  /** Reading this property throws a system error if the working directory has been removed. */
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
