// The table of reruns: under each job, its reruns. Each of these refers back to the job in its group (records/job.ts).
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Rerun } from './job.ts';

/** The maximum number of reruns of a job that are listed, and that are counted. */
export const rerunsListedMax = 100;
export const rerunsCountedMax = 10_000;

export type Reruns = {
  /** Newest first, at most `rerunsListedMax`. */
  readonly ids: readonly JobId[];
  /** At most `rerunsCountedMax`. */
  readonly count: number;
};

const nothing = new Uint8Array(0);
/** The value for a rerun `from: failed`. */
const takesOver = Uint8Array.of(1);
export const afterIds = Buffer.alloc(16, 0xff);

export function writeRerun(batch: Batch, { of, from }: Rerun, id: JobId): void {
  batch.put('reruns', rerunKey(of, id), from === 'failed' ? takesOver : nothing);
}

/** The reruns `from: failed` of the runs from `first` up to `end`. */
export function* takersOver(reader: Reader, first: JobId, end: JobId): Iterable<JobId> {
  for (const { key, value } of reader.scan('reruns', { from: first, to: end })) {
    if (value.length > 0) yield Buffer.from(key.subarray(jobIdBytes));
  }
}

/** Removes the reruns of the pruned jobs from `first` up to, not including, `end`. */
export function pruneReruns(reader: Reader, batch: Batch, first: JobId, end: JobId): void {
  for (const key of reader.keys('reruns', { from: first, to: end })) batch.remove('reruns', Buffer.from(key));
}

export function readReruns(reader: Reader, of: JobId): Reruns {
  const ids: JobId[] = [];
  let count = 0;
  const range = { from: of, to: rerunKey(of, afterIds), reverse: true, limit: rerunsCountedMax };
  for (const key of reader.keys('reruns', range)) {
    if (count++ < rerunsListedMax) ids.push(Buffer.from(key.subarray(of.length)));
  }
  return { ids, count };
}

/** Key: id of the job (16), id of its rerun (16). */
export function rerunKey(of: JobId, id: Uint8Array): Uint8Array {
  return Buffer.concat([of, id]);
}
