// The table of rescheduled jobs. A record holds a job's new time to run; the original time stays in the job's block, which never changes.
// The record is pruned with the job.
import { type BlockKey, type JobId, jobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type Block, groupOf } from './block.ts';
import { areTimed, type JobTimes, timesOf } from './options.ts';

export function putRescheduled(batch: Batch, id: JobId, runAtUs: number): void {
  batch.put('rescheduled', id, pack(runAtUs));
}

export function decodeRescheduled(value: Uint8Array): number {
  const us = unpack(value);
  if (!Number.isSafeInteger(us)) throw new Error('the record has no valid time');
  return Number(us);
}

/** The new time of the job, in µs. Undefined: the job was never rescheduled, or its record is unusable. */
export function rescheduledTo(reader: Reader, id: JobId): number | undefined {
  const value = reader.get('rescheduled', id);
  return value && readable(() => decodeRescheduled(value));
}

/** The rescheduled jobs of a block, each with its new time in µs. Leaves out jobs whose record is unusable. */
export function* rescheduledIn(reader: Reader, block: BlockKey, count: number): Iterable<readonly [JobId, number]> {
  if (reader.count('rescheduled') === 0) return;
  for (const { key, value } of reader.scan('rescheduled', { from: jobId(block, 0), to: jobId(block, count) })) {
    const runAtUs = readable(() => decodeRescheduled(value));
    if (runAtUs !== undefined) yield [Buffer.from(key), runAtUs];
  }
}

export function pruneRescheduled(reader: Reader, batch: Batch, block: BlockKey, count: number): void {
  if (reader.count('rescheduled') === 0) return;
  const range = { from: jobId(block, 0), to: jobId(block, count) };
  for (const id of reader.keys('rescheduled', range)) batch.remove('rescheduled', Buffer.from(id));
}

/** The times that follow from the options of a job and from its last reschedule, as of the last commit. Null: the job has no times. */
export function storedTimes(reader: Reader, key: BlockKey, block: Block, index: number): JobTimes | null {
  const { options } = groupOf(block, index).group;
  if (!areTimed(options)) return null;
  return timesOf(options, block.createdUs, rescheduledTo(reader, jobId(key, index)));
}
