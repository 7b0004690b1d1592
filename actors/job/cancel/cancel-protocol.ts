// The message by which the main thread cancels a job or run, and its answer.
import type { JobId } from '../../../runtime/ids.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { Status } from '../records/job.ts';

/** From the main thread: cancel a job, or a run with all jobs inside it. Answered with a CancelReply. */
export type CancelJob = {
  readonly kind: 'cancel';
  readonly replyTo: ReplyTo;
  readonly id: JobId;
  readonly by: string;
  readonly reason: string | null;
  /** For a run: whether to also cancel the runs that events of its jobs start, the runs that events of their jobs start, and so on. */
  readonly detached?: boolean;
  /** Whether a run is stopped even in its phase `finally`. */
  readonly force?: boolean;
};
/**
 * The answer to a CancelJob. `status`: the status of the job after the commit; null: there is no such job, or the open record of its
 * block is unusable. `isEnding`: the run is in `finally` and goes on. Otherwise, if the status is not final, the job or run is being
 * stopped, or is a run in `finally` that was cancelled before.
 */
export type CancelReply = { readonly kind: 'cancel'; readonly status: Status | null; readonly isEnding?: boolean };
