// The pipeline actor's messages. It is called by the job actor, too (PipelineCalls).
import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { EntryEvent, IdempotencyKey } from '../job/protocol.ts';

/** The type of the entry event of a called pipeline that has no `on`. */
export const callEventType = 'api.trigger';
/** The type of the event that a join makes of all that came to it. */
export const joinEventType = 'pipeline.join';

/** From the edge: run a pipeline by name. Asked; answered with a SubmitReply when the run is on disk. */
export type StartRun = {
  readonly kind: 'start_run';
  readonly replyTo: ReplyTo;
  readonly pipeline: string;
  /** Packed map. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  /** Of a delivery; absent: it is called. */
  readonly event?: EntryEvent;
  /** The edge waits: it is told RunSettled. */
  readonly watch: boolean;
  readonly idempotency?: IdempotencyKey;
};

/** To the edge, after the commit that settled a watched run. Those who waited for it may have left meanwhile. */
export type RunSettled = { readonly kind: 'run_settled'; readonly id: JobId };

/** To the edge: the actors were made anew, and do not know who waits for which run. */
export type Begun = { readonly kind: 'begun' };
export type EdgeMessage = RunSettled | Begun;

/** From the edge, after `begun`: somebody waits for this run. */
export type WatchRun = { readonly kind: 'watch'; readonly id: JobId };

/** From the ledger thread, now and then: forget what is expired. */
export type Prune = { readonly kind: 'prune' };

/** From whoever deals with a failed turn: this run made it fail. It fails: when its jobs have settled, or at once, whatever it still has. */
export type FailRun = {
  readonly kind: 'fail_run';
  readonly id: JobId;
  readonly error: string;
  readonly atOnce: boolean;
};

export type PipelineMessage = StartRun | WatchRun | Prune | FailRun;
