// The options of a call: the times of its jobs, and their tags. The group of a job (records/job.ts) has the options that were given.
//
// A new option is a new optional field of `JobOptions`, and an entry in `fields` of http/options.ts.
import { isDeepStrictEqual } from 'node:util';
import { noTags, type Tags } from './tags.ts';

export type JobOptions = {
  /**
   * The time from which the job may run, in µs; `whenReleasedUs`: the job waits until its schedule releases it. A reschedule or a release
   * leaves this field unchanged (records/rescheduled.ts).
   */
  readonly runAtUs?: number;
  /** How long the job may wait for its start, from its time to run or its acceptance, whichever is later. */
  readonly expiresMs?: number;
  /** The time within which the job must end, from its time to run or its acceptance, whichever is later. */
  readonly deadlineMs?: number;
  /** All jobs of a tree have the tags of its root. */
  readonly tags?: Tags;
};

/**
 * The `runAtUs` of a job that waits in the queue of its schedule; later than every time. The schedule releases the job, so the job has no
 * timer of the kind `run_at`.
 */
export const whenReleasedUs = Number.MAX_SAFE_INTEGER;

/** The options in a message to the ledger. The ledger turns a delay into a time to run. */
export type CallOptions = JobOptions & { readonly delayMs?: number };

/** The options of a job that is accepted at `nowUs`. Null: the job has no options. A time to run that has passed is kept. */
export function acceptedOptions(asked: CallOptions | undefined, nowUs: number): JobOptions | null {
  if (asked === undefined) return null;
  const { delayMs, tags, ...times } = asked;
  const options = {
    ...times,
    ...(delayMs !== undefined && { runAtUs: nowUs + delayMs * 1000 }),
    ...(tags !== undefined && tags !== noTags && { tags }),
  };
  return Object.keys(options).length === 0 ? null : options;
}

/** Whether the time to run lies in the future. */
export function isLater(options: JobOptions | null, nowUs: number): boolean {
  return (options?.runAtUs ?? 0) > nowUs;
}

/** The options of a rerun: the old job's options, excluding its time to run, merged with the options of the call, which take precedence. */
export function rerunOptions(old: JobOptions | null, asked: CallOptions | undefined): CallOptions | undefined {
  if (old === null) return asked;
  const { runAtUs: _, ...kept } = old;
  const all = { ...kept, ...asked };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** The options of jobs that take their tags from the job that caused them. Null: that job has no tags. */
export function taggedWith(tags: Tags | undefined): JobOptions | null {
  return tags === undefined ? null : { tags };
}

export function areSameOptions(a: object | null | undefined, b: object | null | undefined): boolean {
  return a === b || (a != null && b != null && isDeepStrictEqual(a, b));
}

/** The times from which a job may run, by which it must start, and by which it must end, in µs. Null: there is no such time. */
export type JobTimes = {
  /** The time to run. Null: the job has none, or waits in the queue of its schedule. */
  readonly runAtUs: number | null;
  readonly expiresUs: number | null;
  readonly deadlineUs: number | null;
};

/** Whether the options have a time to run, an expiry or a deadline. */
export function areTimed(options: JobOptions | null): options is JobOptions {
  return (
    options !== null &&
    (options.runAtUs !== undefined || options.expiresMs !== undefined || options.deadlineMs !== undefined)
  );
}

/** The times that follow from the options. `createdUs`: when the job was accepted. `runAtUs`: the new time to run of a rescheduled job. */
export function timesOf(
  { runAtUs: firstUs, expiresMs, deadlineMs }: JobOptions,
  createdUs: number,
  runAtUs = firstUs,
): JobTimes {
  // `expiresMs` and `deadlineMs` count from the time to run or the acceptance, whichever is later.
  const knownUs = runAtUs === undefined || runAtUs === whenReleasedUs ? null : runAtUs;
  const fromUs = Math.max(knownUs ?? 0, createdUs);
  const after = (ms: number | undefined): number | null => (ms === undefined ? null : fromUs + ms * 1000);
  return { runAtUs: knownUs, expiresUs: after(expiresMs), deadlineUs: after(deadlineMs) };
}
