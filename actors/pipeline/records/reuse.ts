// The records of reruns `from: failed`: the index of the jobs that a rerun can reuse, the trees that must be kept for
// it, and the jobs that it has reused. Other records name the pruned jobs without which a run cannot be rerun in this
// way, and the events that a run dropped.
//
// A job is found by its address: its ordinal in its fork, and a hash. The hash covers the fork's place in its run, that run's place in the
// run that called it, and so on up to the original run. If the forks of two runs of one definition have the same elements, branches and
// events, their jobs have the same addresses.
import { createHash } from 'node:crypto';
import { type BlockKey, blockKeyBytes, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { RunPosition } from '../../job/records/job.ts';
import { endOfBlocks, endOfIds } from '../../job/records/list-indexes.ts';

const addressBytes = 16;
const addressEnd = jobIdBytes + addressBytes;
const keyBytes = addressEnd + 4;
const ordinalMax = 0xffffffff;

/** The address of the original run itself, and of its rerun. */
export const topAddress: Uint8Array = new Uint8Array(addressBytes);

/** A place in a run: a step, its scope, and the forks on the way to it. */
export type Place = Pick<RunPosition, 'node' | 'path' | 'within'>;

/** Jobs that are neighbours both in their block and in their fork. */
export type IndexedJobs = { readonly key: BlockKey; readonly index: number; readonly count: number };

/** The path without its last ordinal, and that ordinal (0 for an empty path). */
export function splitPath(path: readonly number[]): readonly [before: readonly number[], ordinal: number] {
  return [path.slice(0, -1), path.at(-1) ?? 0];
}

/**
 * The part that the addresses of a fork's jobs have in common. `run`: the address of their run. `path`: the path of the jobs without its
 * last ordinal.
 */
export function forkAddress(run: Uint8Array, { node, path, within = [] }: Place): Uint8Array {
  const text = JSON.stringify([node, within, path]);
  return createHash('sha256').update(run).update(text).digest().subarray(0, addressBytes);
}

/** The address of the run that was called from this place of a run. */
export function calledAddress(run: Uint8Array, place: Place): Uint8Array {
  const [path, ordinal] = splitPath(place.path);
  return forkAddress(forkAddress(run, { ...place, path }), { node: ordinal, path: [] });
}

export function writeIndexed(batch: Batch, root: JobId, fork: Uint8Array, ordinal: number, found: IndexedJobs): void {
  const value = Buffer.allocUnsafe(blockKeyBytes + 8);
  value.set(found.key);
  value.writeUInt32BE(found.index, blockKeyBytes);
  value.writeUInt32BE(found.count, blockKeyBytes + 4);
  batch.put('reuse_index', indexKey(root, fork, ordinal), value);
}

/** The job with this ordinal, with the neighbours that follow it. Null: no job has this ordinal. */
export function readIndexed(reader: Reader, root: JobId, fork: Uint8Array, ordinal: number): IndexedJobs | null {
  const range = { from: indexKey(root, fork, 0), to: indexKey(root, fork, ordinal + 1), reverse: true, limit: 1 };
  for (const { key, value } of reader.scan('reuse_index', range)) {
    const skipped = ordinal - Buffer.from(key).readUInt32BE(addressEnd);
    const found = decodeIndexed(value);
    const count = found.count - skipped;
    return count > 0 ? { ...found, index: found.index + skipped, count } : null;
  }
  return null;
}

export function decodeIndexed(value: Uint8Array): IndexedJobs {
  const bytes = Buffer.from(value);
  const [index, count] = [bytes.readUInt32BE(blockKeyBytes), bytes.readUInt32BE(blockKeyBytes + 4)];
  return { key: bytes.subarray(0, blockKeyBytes), index, count };
}

/** How many consecutive ordinals, beginning with `ordinal`, have no job. The ordinal `ordinal` itself must have none (`readIndexed`). */
export function readGap(reader: Reader, root: JobId, fork: Uint8Array, ordinal: number): number {
  const range = { from: indexKey(root, fork, ordinal), to: indexKey(root, fork, ordinalMax), limit: 1 };
  for (const key of reader.keys('reuse_index', range)) return Buffer.from(key).readUInt32BE(addressEnd) - ordinal;
  return ordinalMax;
}

function indexKey(root: JobId, fork: Uint8Array, ordinal: number): Uint8Array {
  const key = Buffer.allocUnsafe(keyBytes);
  key.set(root);
  key.set(fork, jobIdBytes);
  key.writeUInt32BE(ordinal, addressEnd);
  return key;
}

/** The key range of the index entries of a root. The entry whose key is the root's id alone lists the needed roots. */
export function indexOfRoot(root: JobId): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: root, to: Buffer.concat([root, Buffer.alloc(keyBytes, 0xff)]) };
}

/**
 * Records that the tree with the root `root` needs the tree with the root `neededRoot`. The needed tree contains the
 * original run, or jobs that the original run reused.
 */
export function writeNeed(batch: Batch, neededRoot: JobId, root: JobId): void {
  batch.put('reuse_needs', Buffer.concat([neededRoot, root]), nothing);
}

export function removeNeed(batch: Batch, neededRoot: JobId, root: JobId): void {
  batch.remove('reuse_needs', Buffer.concat([neededRoot, root]));
}

/** Whether an unfinished rerun needs one of the trees with roots from `from` up to, not including, `to`. */
export function isNeeded(reader: Reader, from: JobId, to: JobId): boolean {
  for (const _ of reader.keys('reuse_needs', { from, to, limit: 1 })) return true;
  return false;
}

export function isTreeNeeded(reader: Reader, root: JobId): boolean {
  return isNeeded(reader, root, Buffer.concat([root, endOfIds]));
}

/** The key: root (16), block of the reused jobs (12). */
export function reusedKey(root: JobId, block: BlockKey): Uint8Array {
  return Buffer.concat([root, block]);
}

/** The key range of the blocks from which the runs of a tree reused jobs. */
export function reusedOf(root: JobId): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: root, to: Buffer.concat([root, endOfBlocks]) };
}

/** Records that a job which the run made or reused is pruned before the run. */
export function writeLostJob(batch: Batch, run: JobId, job: JobId): void {
  batch.put('lost_jobs', run, job);
}

/** A pruned job without which the run cannot be rerun `from: failed`. Null: no such job is known. */
export function readLostJob(reader: Reader, run: JobId): JobId | null {
  return reader.get('lost_jobs', run) ?? null;
}

/** Records that an event was dropped in its run because of its `dedupe_key`. `place`: the event's position among the job's events. */
export function writeDropped(batch: Batch, job: JobId, place: number): void {
  batch.put('dropped_events', eventKey(job, place), nothing);
}

export function isDropped(reader: Reader, job: JobId, place: number): boolean {
  return reader.get('dropped_events', eventKey(job, place)) !== undefined;
}

/** Identifies an event: the job that emitted it, and the event's position among the job's events. */
export function eventKey(job: JobId, place: number): Uint8Array {
  const key = Buffer.allocUnsafe(jobIdBytes + 4);
  key.set(job);
  key.writeUInt32BE(place, jobIdBytes);
  return key;
}

/** The tables whose records are pruned with the block of their job. */
const perJob = ['reused', 'lost_jobs', 'dropped_events'] as const;

/** Removes the records of the block's jobs: jobs that its runs reused or lost, and events that were dropped. */
export function pruneReuse(reader: Reader, batch: Batch, key: BlockKey, count: number): void {
  const range = { from: jobId(key, 0), to: jobId(key, count) };
  for (const table of perJob) {
    if (reader.count(table) === 0) continue;
    for (const each of reader.keys(table, range)) batch.remove(table, Buffer.from(each));
  }
}

const nothing = new Uint8Array(0);
