// Reads the input of commands: text in an option, a file, or stdin.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageFailure } from './failure.ts';
import type { Io } from './io.ts';

/** A text that is valid JSON, and its value. */
type Json = { readonly text: string; readonly value: unknown };

/** Reads JSON that is given as text, as `@FILE` or as `-` for stdin. Error messages name `option`, such as `--payload`. */
export async function readJsonOption(option: string, given: string, io: Io): Promise<Json> {
  const text = given.startsWith('@')
    ? decoded(option, readNamedFile(option, resolve(io.cwd, given.slice(1))))
    : given === '-'
      ? decoded(option, await readStdin(option, io))
      : given;
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw usageFailure(`${option} is not JSON: ${(error as Error).message}`);
  }
}

/** Reads a file or, if `path` is `-`, stdin. Error messages name `option`. */
export async function readBytesOption(option: string, path: string, io: Io): Promise<Uint8Array> {
  return path === '-' ? readStdin(option, io) : readNamedFile(option, resolve(io.cwd, path));
}

/** Reads stdin to its end. `what` names the input in error messages. */
export async function readStdin(what: string, { stdin }: Io, bytesMax = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    length += chunks[chunks.push(Buffer.from(chunk as Uint8Array | string)) - 1]!.length;
    if (length > bytesMax) throw usageFailure(`${what} is longer than ${bytesMax} bytes`);
  }
  return Buffer.concat(chunks);
}

function readNamedFile(option: string, path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw usageFailure(`${option}: ${path} cannot be read: ${(error as Error).message}`);
  }
}

/** Decodes UTF-8. `what` names the input in error messages. With `ignoreBOM`, a byte order mark becomes part of the text. */
export function decoded(what: string, bytes: Uint8Array, { ignoreBOM = false } = {}): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(bytes);
  } catch {
    throw usageFailure(`${what} is not UTF-8 text`);
  }
}
