// The schedule actor's messages, and the functions by which the schedule actor and the job actor call each other.
import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { IdempotencyKey, NewCalls, Refusal, SubmitJobsReply } from '../job/protocol.ts';
import type { BackfillPlan } from '../job/records/action.ts';
import type { Cancel } from '../job/records/cancel.ts';
import type { TerminalStatus } from '../job/records/job.ts';
import type { SchedulePause } from './records/schedule.ts';

/** The `submitted_by` of the jobs of a schedule, and the source of their events. */
export function scheduleOrigin(id: string): string {
  return `${originPrefix}${id}`;
}
export const originPrefix = 'schedule:';

/** From the main thread: run the schedule's target now. The answer is a SubmitReply. */
export type RunSchedule = {
  readonly kind: 'run_schedule';
  readonly replyTo: ReplyTo;
  readonly id: string;
  readonly idempotency?: IdempotencyKey;
};
/**
 * From the main thread: pause the schedule, which then does not fire until it is resumed. The answer is a
 * ScheduleReply.
 */
export type PauseSchedule = {
  readonly kind: 'pause_schedule';
  readonly replyTo: ReplyTo;
  readonly id: string;
  readonly by: string;
  readonly reason: string | null;
};
/** From the main thread: end the pause of the schedule. The answer is a ScheduleReply. */
export type ResumeSchedule = { readonly kind: 'resume_schedule'; readonly replyTo: ReplyTo; readonly id: string };
/** The pause that has begun or ended. Null: there was no pause, or there is no such schedule. */
export type ScheduleReply = { readonly kind: 'schedule'; readonly pause: SchedulePause | null };

export type ScheduleMessage =
  | RunSchedule
  | PauseSchedule
  | ResumeSchedule
  /** From a timer, which the actor set with `alarm` (actor.ts): schedules may be due. */
  | { readonly kind: 'alarm' }
  /** From a timer: remove the records of schedules that the configuration dropped more than `removedKeptMs` ago (actor.ts). */
  | { readonly kind: 'prune' }
  /** From the actor to itself: these runs ended in the turn in which they began. */
  | { readonly kind: 'ended_at_once'; readonly ids: readonly Uint8Array[] };

/** The result of a step of a backfill. `cursor`: the last occurrence that the backfill has handled; null: none. */
export type BackfillReport = {
  readonly cursor: Uint8Array | null;
  /** How many occurrences this step has fired. */
  readonly done: number;
  /** How many occurrences this step has skipped because they had fired before, count as fired or wait in the queue. */
  readonly fired: number;
  readonly isOver: boolean;
  /** Why the next occurrence cannot fire yet. Null: nothing prevents it. */
  readonly waits: Refusal | null;
};

/** The progress of a backfill. `left`: how many more occurrences it may handle. */
export type BackfillPlace = { readonly plan: BackfillPlan; readonly cursor: Uint8Array | null; readonly left: number };
/** Fires the next occurrences of a backfill after the cursor, as many as fit into the turn. */
export type FireBackfill = (place: BackfillPlace, turn: Turn) => BackfillReport;

/** `unread`: the record of the job cannot be read at the moment. `over`: the job no longer waits in the queue of its schedule. */
export type Released = 'released' | 'unread' | 'over';

/** The part of the job actor that the schedule actor uses. */
export interface ScheduledJobs {
  /** Accepts as many of the jobs as there is room for. */
  submit(calls: NewCalls, turn: Turn): SubmitJobsReply;
  /** Whether a pause holds the jobs of this command. */
  isPaused(plugin: string, command: string): boolean;
  /** Whether a restored state waits to be resumed. Until then, occurrences that come due do not fire. */
  isRestored(): boolean;
  /**
   * Whether jobs can begin: the job actor has read all unsettled jobs since it started, and the service is not
   * stopping. `cancel` must not be called before all unsettled jobs have been read, because it treats unread jobs
   * as settled.
   */
  mayBegin(): boolean;
  /** Cancels jobs and runs; no caller waits for an answer. Returns how many of the ids, beginning with the first, were handled. */
  cancel(ids: readonly JobId[], cancel: Cancel, turn: Turn): number;
  /** Releases a job or run that was accepted with `whenReleasedUs`. The job or run may then begin. */
  release(id: JobId, turn: Turn): Released;
  /** How the job ended, as of the last commit. Null: it has not ended. Undefined: it is no longer stored, or one of its records is unusable. */
  endOf(id: JobId): TerminalStatus | null | undefined;
  /** The jobs and runs that the schedule actor follows to their end. */
  readonly followed: FollowedJobs;
  /** Sets the function that fires the occurrences of a backfill. */
  onBackfill(backfill: FireBackfill): void;
}

export interface FollowedJobs {
  add(id: JobId): void;
  remove(id: JobId): void;
  /** The followed jobs that have ended since the last call. */
  takeEnded(): readonly EndedJob[];
}
/** `id`: the id of the job as text. */
export type EndedJob = { readonly id: string; readonly status: TerminalStatus };
