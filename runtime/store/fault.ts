// Interprets errors of LMDB and of the file system: distinguishes a lack of room from a failing disk.
import { statfsSync } from 'node:fs';
import { StoreFault, StoreFull } from './store.ts';

/** The codes for a lack of room: ENOSPC and EDQUOT as names and as numbers of Linux, and MDB_MAP_FULL of LMDB. */
const noSpace = new Set<unknown>(['ENOSPC', 28, 'EDQUOT', 122, -30792]);

/** If less disk space than this is free, an input/output error of a write counts as a lack of room. */
const roomBytesMin = 2 ** 20;

/** Converts an error to a StoreFull or a StoreFault. `path`: the directory of the store, whose disk is examined. */
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

/** Whether a write probably failed for lack of room. LMDB reports such a failure as an input/output error. */
function isShortWrite(message: string, path: string): boolean {
  if (!/EIO|input\/output error/i.test(message)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize < roomBytesMin;
}

/** Matches LMDB's messages for a read after LMDB failed to write its first pages. */
const unreadable = /MDB_PANIC|No transaction to renew/;

/** Whether the error means that the store is unusable. */
export function isStoreFault(error: unknown): error is Error {
  return error instanceof StoreFault || (error instanceof Error && unreadable.test(error.message));
}
