// Passes bytes as unlinked files to a library that reads only files. So the library reads the bytes that were checked, and no
// directory ever contains a file with a key.
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Calls the function with paths of files that have these contents. The files are in no directory, and are gone after the call.
 * `directory` must be writable.
 */
export function withUnnamedFiles<T>(
  directory: string,
  contents: readonly Uint8Array[],
  use: (paths: string[]) => T,
): T {
  const open: number[] = [];
  try {
    for (const bytes of contents) {
      const path = join(directory, `.unnamed-${randomUUID()}`);
      const file = openSync(path, 'wx+', 0o600);
      open.push(file);
      unlinkSync(path);
      // Writes at a position leave the file's offset at 0, which matters on systems where /dev/fd shares the offset.
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
    }
    return use(open.map(file => `/dev/fd/${file}`));
  } finally {
    for (const file of open) closeSync(file);
  }
}
