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

/** From the main thread: run the schedule's target now. Answered with a SubmitReply. */
export type RunSchedule = {
  readonly kind: 'run_schedule';
  readonly replyTo: ReplyTo;
  readonly id: string;
  readonly idempotency?: IdempotencyKey;
};
/** From the main thread: the schedule fires no more until it is resumed. Answered with a ScheduleReply. */
export type PauseSchedule = {
  readonly kind: 'pause_schedule';
  readonly replyTo: ReplyTo;
  readonly id: string;
  readonly by: string;
  readonly reason: string | null;
};
/** From the main thread: the schedule fires again. Answered with a ScheduleReply. */
export type ResumeSchedule = { readonly kind: 'resume_schedule'; readonly replyTo: ReplyTo; readonly id: string };
/** The pause that has begun or ended. Null: there was no pause, or there is no such schedule. */
export type ScheduleReply = { readonly kind: 'schedule'; readonly pause: SchedulePause | null };

export type ScheduleMessage =
  | RunSchedule
  | PauseSchedule
  | ResumeSchedule
  /** The time has come for which the actor asked. */
  | { readonly kind: 'alarm' }
  /** At intervals: forget schedules that were removed long ago. */
  | { readonly kind: 'prune' }
  /** Runs that ended in the turn in which they began. */
  | { readonly kind: 'ended_at_once'; readonly ids: readonly Uint8Array[] };

/** What a step of a backfill has done. The cursor is the last occurrence that was handled. */
export type BackfillReport = {
  readonly cursor: Uint8Array | null;
  readonly done: number;
  /** How many occurrences were left out, because they had fired before or are to fire from the queue. */
  readonly fired: number;
  readonly isOver: boolean;
  readonly waits: Refusal | null;
};

/** Fires the next occurrences of a backfill after the cursor, as many as fit into the turn. */
export type FireBackfill = (plan: BackfillPlan, cursor: Uint8Array | null, turn: Turn) => BackfillReport;

/** The job actor, as the schedule actor calls it. */
export interface ScheduledJobs {
  /** Accepts as many of the jobs as there is room for. */
  submit(calls: NewCalls, turn: Turn): SubmitJobsReply;
  /** Whether a pause holds the jobs of this command. */
  isPaused(plugin: string, command: string): boolean;
  /** Cancels a job or run; no caller waits for an answer. */
  cancel(id: JobId, cancel: Cancel, turn: Turn): void;
  /** How the job ended, as of the last commit. Null: it has not ended. Undefined: it is no longer stored. */
  endOf(id: JobId): TerminalStatus | null | undefined;
  /** Jobs whose end the schedule actor handles in the same commit. */
  readonly followed: FollowedJobs;
  /** Sets the function that fires the occurrences of a backfill. */
  onBackfill(backfill: FireBackfill): void;
}

/** Jobs and runs whose end the schedule actor handles. */
export interface FollowedJobs {
  add(id: JobId): void;
  remove(id: JobId): void;
  /** The followed jobs that have ended since the last call. */
  takeEnded(): readonly EndedJob[];
}
/** `id`: as text. */
export type EndedJob = { readonly id: string; readonly status: TerminalStatus };
