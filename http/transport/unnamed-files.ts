// Bytes as files without a name, for a library that reads nothing but files: what it reads is what was checked, and no directory
// ever has a key in it.
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Calls with the paths of files that hold the bytes; they are gone afterwards. The directory must be writable. */
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
      // At a position: where a path of /dev/fd shares the offset, the reader begins at 0.
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
    }
    return use(open.map(file => `/dev/fd/${file}`));
  } finally {
    for (const file of open) closeSync(file);
  }
}
