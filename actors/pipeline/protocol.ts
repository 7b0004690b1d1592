// The pipeline actor's messages. Within a turn the job actor calls it (PipelineCalls in job/protocol.ts).
import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { EntryEvent, IdempotencyKey, RerunSource } from '../job/protocol.ts';

/** The type of the entry event of a called pipeline that has no `on`. */
export const callEventType = 'api.trigger';
/** The entry event of a run that was called. */
export const callEvent = { type: callEventType, source: 'api' } as const satisfies EntryEvent;
/** The type of the event that a join passes on. */
export const joinEventType = 'pipeline.join';

/** From the edge: run a pipeline by name. Answered with a SubmitReply when the run is on disk. */
export type StartRun = {
  readonly kind: 'start_run';
  readonly replyTo: ReplyTo;
  readonly pipeline: string;
  /** Packed map. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  /** Of a webhook delivery; absent: a direct call. */
  readonly event?: EntryEvent;
  /** The caller waits: the edge gets RunSettled. */
  readonly watch: boolean;
  readonly idempotency?: IdempotencyKey;
  readonly source?: RerunSource;
};

/** To the edge, after the commit that settled an awaited run. The callers that waited may have left meanwhile. */
export type RunSettled = { readonly kind: 'run_settled'; readonly id: JobId };

/** To the edge: the actors started again, and no longer know which runs are awaited. */
export type ActorsRestarted = { readonly kind: 'actors_restarted' };
export type EdgeMessage = RunSettled | ActorsRestarted;

/** From the edge, after `actors_restarted`: callers wait for this run. */
export type AwaitRun = { readonly kind: 'await_run'; readonly id: JobId };

/** From the ledger thread, at intervals: remove expired keys. */
export type Prune = { readonly kind: 'prune' };

/** From the ledger thread: this run made a turn fail. The run fails when its jobs have settled, or at once. */
export type FailRun = {
  readonly kind: 'fail_run';
  readonly id: JobId;
  readonly error: string;
  readonly atOnce: boolean;
};

export type PipelineMessage = StartRun | AwaitRun | Prune | FailRun;
