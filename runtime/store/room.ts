// The free space on the disk of a state directory: how much new work and each commit leave free.
import { statfsSync } from 'node:fs';
import { StoreFull } from './store.ts';

/** If less space than this is free, the ledger refuses new work, but running jobs can still write their results. */
export const diskReserveBytes = 64 * 2 ** 20;
/** On a small disk, this fraction of the disk is reserved instead, if it is less. */
const diskReservePart = 0.05;
/** The fraction of the reserve that commits leave free. */
const commitReservePart = 1 / 8;
/** LMDB writes whole pages, and for each changed value the pages of the path to it: at most this many bytes for a byte of a large batch. */
const writtenPerByte = 2;

/** Whether the disk has room for new work. */
export function hasRoom(path: string): boolean {
  const { freeBytes, reserveBytes } = spaceOf(path);
  return freeBytes >= reserveBytes;
}

/**
 * Throws StoreFull if the disk may lack the room for a commit of `batchBytes`. LMDB must not find this out by a failed write: lmdb-js 3.5.6
 * then overruns the buffer of its error message, which can end the process.
 */
export function assertRoom(path: string, batchBytes: number): void {
  const { freeBytes, reserveBytes } = spaceOf(path);
  const neededBytes = reserveBytes * commitReservePart + batchBytes * writtenPerByte;
  if (freeBytes >= neededBytes) return;
  throw new StoreFull(`${path} has ${mib(freeBytes)} MiB free; this commit needs ${mib(neededBytes)} MiB`);
}

function spaceOf(path: string): { readonly freeBytes: number; readonly reserveBytes: number } {
  const { bavail, bsize, blocks } = statfsSync(path);
  return { freeBytes: bavail * bsize, reserveBytes: Math.min(diskReserveBytes, blocks * bsize * diskReservePart) };
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
