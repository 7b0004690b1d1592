// What an error of LMDB means: no room, or a disk that fails.
import { statfsSync } from 'node:fs';
import { StoreFault, StoreFull } from './store.ts';

const noSpace = new Set<unknown>(['ENOSPC', 28, 'EDQUOT', 122, -30792]);

/** With less free room than this a write may have found too little. */
const roomBytesMin = 2 ** 20;

export function asStoreError(error: unknown, path: string): Error {
  const cause = error as { code?: unknown; message?: string; commitError?: { code?: unknown; message?: string } };
  const inner = cause.commitError ?? cause;
  const message = String(inner.message ?? error);
  const full =
    noSpace.has(inner.code) ||
    /ENOSPC|no space|MDB_MAP_FULL|mapsize|quota/i.test(message) ||
    isShortWrite(message, path);
  return full ? new StoreFull(message, { cause: error }) : new StoreFault(message, { cause: error });
}

/** A write that only part of found room is an input/output error in the words of LMDB. */
function isShortWrite(message: string, path: string): boolean {
  if (!/EIO|input\/output error/i.test(message)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize < roomBytesMin;
}

/** Whether the store cannot be used any more: LMDB refuses every read, too, once it could not write its first pages. */
export function isStoreFault(error: unknown): error is Error {
  return error instanceof StoreFault || (error instanceof Error && error.message.includes('MDB_PANIC'));
}
