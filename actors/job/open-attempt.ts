// An attempt that has not ended: its job, and its custody. These objects never change, because the frames that outlive a failed
// turn (outstanding-frames.ts) refer to them.
import type { OpenBlock } from './records/open.ts';
import type { RetryRecord } from './records/retry.ts';

/** Why a job must neither start nor be retried: a cancel applies to it, or its deadline has passed. */
export type StopReason = 'cancelled' | 'timed_out';

export type OpenAttempt = RetryRecord & { readonly open: OpenBlock; readonly index: number };

/** The first attempt of a job that was never dispatched. */
export function firstAttempt(open: OpenBlock, index: number): OpenAttempt {
  return { open, index, attempt: 1, custody: 'waiting', dueUs: 0 };
}

/** Whether the job has a record in `retries`. */
export function hasRecord({ attempt, custody }: RetryRecord): boolean {
  return attempt > 1 || custody === 'lost';
}

/** Whether no plugin code of the waiting job can have run. */
export function isUnstarted(job: OpenAttempt): boolean {
  return !hasRecord(job) && !job.open.hasBegun(job.index);
}

export function takeFrom(list: OpenAttempt[], open: OpenBlock, index: number): OpenAttempt | undefined {
  const place = list.findIndex(job => job.index === index && job.open === open);
  return place < 0 ? undefined : list.splice(place, 1)[0];
}
