// What the pipeline actor is asked and told.

import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { JobsSettled, SubmitReply } from '../job/protocol.ts';

/** From the edge: run a pipeline by name. Asked; answered with a SubmitReply when the run is on disk. */
export type StartRun = {
  readonly kind: 'start_run';
  readonly replyTo: ReplyTo;
  readonly pipeline: string;
  /** Packed map. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  /** The edge waits: it is told RunSettled. */
  readonly watch: boolean;
};
export type StartRunReply = SubmitReply;

/** To the edge, after the commit that settled a watched run. */
export type RunSettled = { readonly kind: 'run_settled'; readonly id: JobId };

export type PipelineMessage = StartRun | JobsSettled;
