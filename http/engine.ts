// What the HTTP face needs of the rest: to hand in work, to look at it, and the configuration in force.

import type { JobView } from '../actors/job/job-view.ts';
import type { EntryEvent, IdempotencyKey, SubmitReply, Waits } from '../actors/job/protocol.ts';
import type { Config } from '../config/config.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Asker } from '../runtime/link.ts';
import type { Administration } from './administration.ts';
import type { EventStreams } from './event-streams.ts';
import type { Reads } from './reads.ts';
import type { VaultDoor } from './vault-door.ts';

export type Submission = {
  readonly plugin: string;
  readonly command: string;
  /** Packed payload. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  readonly event: EntryEvent | null;
  readonly idempotency?: IdempotencyKey;
  readonly asker?: Asker;
};

export type RunSubmission = {
  readonly pipeline: string;
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  /** Of a delivery; absent: a call. */
  readonly event?: EntryEvent;
  readonly idempotency?: IdempotencyKey;
  readonly asker?: Asker;
};

/** Why a caller need not wait for its run any longer. */
export type OnOver = (how: 'settled' | 'stopped') => void;

export interface Engine {
  config(): Config;
  /** Resolves when the job is on disk, or is refused. */
  submit(submission: Submission): Promise<SubmitReply>;
  /** As submit; `onOver` is called once, when the run has settled or the service stops (never before the promise resolves). */
  startRun(submission: RunSubmission, onOver?: OnOver): Promise<SubmitReply>;
  /** Forget the watch of a caller that no longer waits. */
  unwatch(id: JobId, onOver: OnOver): void;
  /** Undefined when there is no such job. Reads what is committed now. */
  job(id: JobId): JobView | undefined;
  /** What an unsettled job waits for; null: nothing, or the ledger does not answer in time. */
  waits(id: JobId): Promise<Waits | null>;
  /**
   * A run that was waited for and its descendants, parents before children, as they were when it was over, or later; at most
   * `limit`. Undefined: there is no such job, or the thread for reads must look, because what the jobs left behind is large.
   */
  smallTree(id: JobId, limit: number): readonly JobView[] | undefined;
  readonly reads: Reads;
  queueDepth(): number;
  /** The open event streams. */
  readonly events: EventStreams;
  startedAtMs: number;
  version: string;
  readonly administration: Administration;
  readonly vault: VaultDoor;
  /** No new work: the service is stopping. */
  stopping(): boolean;
}
