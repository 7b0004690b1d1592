// Finds unsettled jobs by their status, in the open records of their blocks.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, indexOf, jobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type CommandFilter, matchesCommand } from '../records/job.ts';
import { isUntouched, keyText, OpenBlock } from '../records/open.ts';
import { decodeRetry, isInFlight, type RetryRecord } from '../records/retry.ts';

export type OpenStatus = 'queued' | 'running';

/** Jobs of one block. `indexes`: in ascending order. */
export type JobsOfBlock = { readonly key: BlockKey; readonly indexes: readonly number[] };

/** The maximum number of open records that one scan reads. */
const pageSize = 256;

/**
 * If at most this many jobs match, the table is searched from both ends: running jobs are usually among the oldest, and a million blocks
 * of queued jobs may follow them.
 */
export const fewMax = 4_096;

type Wanted = CommandFilter & { readonly status: OpenStatus };

/**
 * Calls `take` with the matching jobs of each block, newest first, until it returns true. `total`: the number of all matching jobs; once
 * they are found, the rest of the table is not read. `below`: the caller needs no block with this key or a greater one.
 */
export function* takeOpenJobs(
  reader: Reader,
  wanted: Wanted,
  { total, below }: { readonly total: number; readonly below: BlockKey },
  take: (jobs: JobsOfBlock) => boolean,
): Sliced<void> {
  const areFew = total <= fewMax;
  const oldest: JobsOfBlock[] = [];
  let from: Uint8Array | null = null;
  let to: Uint8Array | null = areFew ? null : below;
  let left = total;
  for (let isNewest = true; left > 0; isNewest = !areFew || !isNewest) {
    const range = { ...(from && { from }), ...(to && { to }), reverse: isNewest, limit: pageSize };
    let seen = 0;
    for (const { key, value } of reader.scan('open', range)) {
      seen++;
      const block = Buffer.from(key);
      if (isNewest) to = block;
      else from = keyAfter(block);
      const jobs = jobsIn(reader, wanted, block, value);
      if (!jobs) continue;
      left -= jobs.indexes.length;
      if (!isNewest) oldest.push(jobs);
      else if (take(jobs)) return;
    }
    if (seen < pageSize) break;
    // A page of the newest records and a page of the oldest are read without an interruption: no job changes between the two reads.
    if (!areFew || !isNewest) yield;
  }
  for (const jobs of oldest.reverse()) if (take(jobs)) return;
}

/** The matching jobs of a block. Null: none matches, or the record is unusable. */
function jobsIn(reader: Reader, wanted: Wanted, key: Buffer, value: Uint8Array): JobsOfBlock | null {
  const { status } = wanted;
  // Most blocks may have only queued jobs. Their records are not decoded.
  if (status === 'running' && isUntouched(value)) return null;
  const open = readable(() => OpenBlock.decode(keyText(key), value));
  if (!open || !matchesCommand(wanted, open)) return null;
  const statusOf = openStatuses(reader, key, open);
  const indexes: number[] = [];
  for (let index = 0; index < open.count; index++)
    if (!open.isSettled(index) && statusOf(index) === status) indexes.push(index);
  return indexes.length === 0 ? null : { key, indexes };
}

/** Stands for an unusable record in the table `retries`. The job is then shown as queued. */
const unusable: RetryRecord = { attempt: 1, custody: 'waiting', dueUs: 0 };

/** Returns a function that tells whether an unsettled job of the block is queued or running. */
function openStatuses(reader: Reader, key: BlockKey, open: OpenBlock): (index: number) => OpenStatus {
  const retries = new Map<number, RetryRecord>();
  if (open.retrying > 0) {
    for (const entry of reader.scan('retries', { from: jobId(key, 0), to: jobId(key, open.count) })) {
      retries.set(indexOf(entry.key), readable(() => decodeRetry(entry.value)) ?? unusable);
    }
  }
  return index => (isInFlight(retries.get(index) ?? open.firstAttempt(index)) ? 'running' : 'queued');
}
