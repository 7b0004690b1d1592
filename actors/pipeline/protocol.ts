// The pipeline actor's messages. Within a turn, the job actor calls the pipeline actor directly (PipelineCalls in
// job/protocol.ts).
import type { JobId } from '../../runtime/ids.ts';
import type { StoredList } from '../../runtime/packed-list.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { EntryEvent, NewRun } from '../job/protocol.ts';
import type { PhaseName } from '../job/records/job.ts';

/** The type of the entry event if an API call starts a pipeline without `on`. */
export const callEventType = 'api.trigger';
/** The entry event of a run that an API call starts. If the pipeline has `on`, its first steps receive the event with that type instead. */
export const callEvent = { type: callEventType, source: 'api' } as const satisfies EntryEvent;
/** The type of the event that a join passes on. */
export const joinEventType = 'pipeline.join';

/** The type of the event with which a phase begins. */
export function phaseEventType(phase: PhaseName): string {
  return `pipeline.${phase}`;
}

/** From the main thread: run a pipeline by name. A SubmitReply follows the commit. */
export type StartRun = NewRun & {
  readonly kind: 'start_run';
  readonly replyTo: ReplyTo;
  /** Whether the caller waits: a JobSettled then follows when the run has ended. */
  readonly watch: boolean;
};

/** From the main thread: run a pipeline once for each payload. A SubmitJobsReply follows the commit. */
export type StartRuns = Omit<NewRun, 'payload' | 'source' | 'event'> & {
  readonly kind: 'start_runs';
  readonly replyTo: ReplyTo;
  /** The payloads, which are packed maps. */
  readonly payloads: StoredList;
};

/** From the ledger thread, at intervals: remove expired dedupe keys, and unused definitions (`prune` in definition-versions.ts). */
export type Prune = { readonly kind: 'prune' };

/**
 * From the ledger thread: this run made a turn fail. If `atOnce`, the run ends as failed at once. Otherwise its current part fails: the part
 * ends when its jobs have settled, and phases may follow.
 */
export type FailRun = {
  readonly kind: 'fail_run';
  readonly id: JobId;
  readonly error: string;
  readonly atOnce: boolean;
};

export type PipelineMessage = StartRun | StartRuns | Prune | FailRun;
