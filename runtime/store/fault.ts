// Interprets errors of LMDB: no room, or a failing disk.
import { statfsSync } from 'node:fs';
import { StoreFault, StoreFull } from './store.ts';

const noSpace = new Set<unknown>(['ENOSPC', 28, 'EDQUOT', 122, -30792]);

/** If less room than this is free, a write may have failed for lack of room. */
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

/** LMDB reports a write that was only partly possible as an input/output error. */
function isShortWrite(message: string, path: string): boolean {
  if (!/EIO|input\/output error/i.test(message)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize < roomBytesMin;
}

/** Whether the store is unusable: LMDB also refuses every read if it could not write its first pages. */
export function isStoreFault(error: unknown): error is Error {
  return error instanceof StoreFault || (error instanceof Error && error.message.includes('MDB_PANIC'));
}
