// How much space new work and commits must leave free on the disk of a state directory.
import { statfsSync } from 'node:fs';
import { StoreFull } from './store.ts';

/** The usual reserve. If less space than the reserve is free, the ledger refuses new work, but running jobs can still write their results. */
export const diskReserveBytes = 64 * 2 ** 20;
/** The reserve has room for a segment of the commit log and a turn of this size together, except on a small disk (`diskReservePart`). */
const largeTurnBytes = 4 * 2 ** 20;
/** On a small disk, this fraction of the disk is reserved instead, if it is less. */
const diskReservePart = 0.05;
/** The fraction of the reserve that commits leave free. */
const commitReservePart = 1 / 8;
/**
 * The estimated number of bytes that a commit writes for each byte of its batch: LMDB writes whole pages, including those on the path to
 * each changed value.
 */
const writtenPerByte = 2;
/**
 * If this much space is free, the free space is not measured again for `ampleMs`, except for a large batch. A measurement for each commit
 * would slow down single jobs.
 */
const ampleBytes = 8 * diskReserveBytes;
const ampleMs = 100;

/** Whether the disk has room for new work. `segmentBytes`: the maximum size of a segment of the commit log. */
export function hasRoom(path: string, segmentBytes: number): boolean {
  const { freeBytes, reserveBytes } = spaceOf(path, segmentBytes);
  return freeBytes >= reserveBytes;
}

/** The number of bytes in this fraction of the disk. */
export function diskPart(path: string, part: number): number {
  const { bsize, blocks } = statfsSync(path);
  return Math.floor(blocks * bsize * part);
}

/** The room for the commits of one store. */
export class CommitRoom {
  readonly #path: string;
  readonly #segmentBytes: number;
  #ampleUntilMs = 0;

  /** `segmentBytes`: the maximum size of a segment of the commit log; 0 for a store without a commit log. */
  constructor(path: string, segmentBytes = 0) {
    this.#path = path;
    this.#segmentBytes = segmentBytes;
  }

  /**
   * Throws StoreFull if the disk may lack the room for a commit of `batchBytes`. The check prevents a failed write of LMDB, because lmdb-js
   * 3.5.6 would then overrun the buffer of its error message, which can end the process.
   */
  assertFor(batchBytes: number): void {
    const nowMs = performance.now();
    if (nowMs < this.#ampleUntilMs && batchBytes < diskReserveBytes / writtenPerByte) return;
    const { freeBytes, reserveBytes } = spaceOf(this.#path, this.#segmentBytes);
    if (freeBytes >= ampleBytes) this.#ampleUntilMs = nowMs + ampleMs;
    const neededBytes = reserveBytes * commitReservePart + batchBytes * writtenPerByte;
    if (freeBytes >= neededBytes) return;
    throw new StoreFull(`${this.#path} has ${mib(freeBytes)} MiB free; this commit needs ${mib(neededBytes)} MiB`);
  }
}

function spaceOf(path: string, segmentBytes: number): { readonly freeBytes: number; readonly reserveBytes: number } {
  const { bavail, bsize, blocks } = statfsSync(path);
  const reserveBytes = Math.max(diskReserveBytes, segmentBytes + largeTurnBytes);
  return { freeBytes: bavail * bsize, reserveBytes: Math.min(reserveBytes, blocks * bsize * diskReservePart) };
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
