// What the main thread asks and is told about a cancel.
import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { Status } from './records/job.ts';

/** From the main thread: cancel a job, or a run with everything inside it. Answered with a CancelReply. */
export type CancelJob = {
  readonly kind: 'cancel';
  readonly replyTo: ReplyTo;
  readonly id: JobId;
  readonly by: string;
  readonly reason: string | null;
  /** Whether to cancel also the runs that events of its jobs have started, and so on. */
  readonly detached?: boolean;
  /** Whether to stop also a run that is in `finally`. */
  readonly force?: boolean;
};
/**
 * The answer to a CancelJob. `status`: that of the job after the commit; null: there is no such job, or its record is unusable. If the
 * status is not final, the job is being stopped or, if `isEnding`, the run is in `finally`.
 */
export type CancelReply = { readonly kind: 'cancel'; readonly status: Status | null; readonly isEnding?: true };
