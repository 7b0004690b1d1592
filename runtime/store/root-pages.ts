// The two root pages (LMDB: meta pages) of a data file. Writing a copy of them back undoes every commit since the copy was made. This
// requires that no page to which the copy refers has been overwritten.
import { constants, fdatasyncSync, readSync, writeSync } from 'node:fs';
import { withFile } from '../durable-file.ts';
import { databasesAt, isMeta, metaBytes, metaPages, pageBytesMax, pageBytesMin, transactionAt } from './damage.ts';

/** Reads both root pages. Throws if the file does not begin with a root page, or if the page size is invalid. */
export function copyRoots(descriptor: number): Buffer {
  const first = Buffer.alloc(metaBytes);
  readSync(descriptor, first, 0, metaBytes, 0);
  if (!isMeta(first)) throw new Error('it does not begin with a root page');
  const pageBytes = first.readUInt32LE(databasesAt);
  if (pageBytes < pageBytesMin || pageBytes > pageBytesMax) throw new Error(`its pages have ${pageBytes} bytes`);
  const roots = Buffer.alloc(metaPages * pageBytes);
  readSync(descriptor, roots, 0, roots.length, 0);
  return roots;
}

/** The number of the newest transaction that the root pages know; null if neither is usable. */
export function newestTransaction(roots: Buffer): number | null {
  const pageBytes = roots.length / metaPages;
  const numbers = [0, 1]
    .map(page => roots.subarray(page * pageBytes, page * pageBytes + metaBytes))
    .filter(meta => isMeta(meta))
    .map(meta => Number(meta.readBigUInt64LE(transactionAt)));
  return numbers.length === 0 ? null : Math.max(...numbers);
}

/** The root pages as they are in the file. `bytes`: the size of both together. */
export function rootsIn(path: string, bytes: number): Buffer {
  const roots = Buffer.alloc(bytes);
  const read = withFile(path, 'r', file => readSync(file, roots, 0, bytes, 0));
  return roots.subarray(0, read);
}

/** Writes the root pages back. They are on disk when this returns. */
export function restoreRoots(path: string, roots: Buffer): void {
  withFile(path, constants.O_RDWR, file => {
    for (let at = 0; at < roots.length; ) at += writeSync(file, roots, at, roots.length - at, at);
    fdatasyncSync(file);
  });
}
