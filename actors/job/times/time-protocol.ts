// The job actor's protocol for the times of jobs: messages from the main thread.
import type { JobId } from '../../../runtime/ids.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';

/**
 * From the main thread: make the next attempt of a job, or a delayed job or run, due at once. Answered with a RunNowReply or a
 * RefusedWork.
 */
export type RunNow = { readonly kind: 'run_now'; readonly replyTo: ReplyTo; readonly id: JobId };
/** `wasWaiting`: whether the job waited for a time. False: nothing was changed. */
export type RunNowReply = { readonly kind: 'run_now'; readonly wasWaiting: boolean };

/**
 * From the main thread: give a delayed job or run another time, by `runAtUs` or by `delayMs`. Answered with a RescheduleReply or a
 * RefusedWork.
 */
export type RescheduleJob = {
  readonly kind: 'reschedule';
  readonly replyTo: ReplyTo;
  readonly id: JobId;
  readonly runAtUs?: number;
  readonly delayMs?: number;
};
/** The new time in µs. Null: the job is not delayed, waits in the queue of its schedule, or has an unusable open record. */
export type RescheduleReply = { readonly kind: 'reschedule'; readonly runAtUs: number | null };
