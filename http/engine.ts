// What the HTTP face needs of the rest: to hand in work, to look at it, and the configuration in force.

import type { StopwatchReading, Window } from '../actors/index/stopwatch-view.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { Place } from '../actors/job/journal.ts';
import type { JobFilter, JobPage } from '../actors/job/listing.ts';
import type { LogFilter, LogView } from '../actors/job/log-view.ts';
import type { IdempotencyKey, SubmitReply } from '../actors/job/protocol.ts';
import type { Config } from '../config/config.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Administration } from './administration.ts';
import type { EventStreams } from './event-streams.ts';
import type { VaultDoor } from './vault-door.ts';

export type Submission = {
  readonly plugin: string;
  readonly command: string;
  /** Packed payload. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  readonly event: { readonly type: string; readonly source: string } | null;
  readonly idempotency?: IdempotencyKey;
};

export type RunSubmission = {
  readonly pipeline: string;
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  readonly idempotency?: IdempotencyKey;
};

/** Null: any. */
export type LogsWanted = LogFilter & {
  /** As it was given; what is no job's id matches nothing. */
  readonly jobId: string | null;
  /** Words, in the language of docs/search.md. */
  readonly query: string | null;
  readonly limit: number;
  readonly before: Place | null;
};
/** `next`: the last place of the page, when there is more behind it. */
export type LogPage = {
  readonly logs: readonly LogView[];
  readonly total: number;
  readonly next: Place | null;
  /** Logs that a search has not looked at: they ended just now, and are too many to be read without the index. */
  readonly unsearched: number;
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
  /**
   * A run that was waited for and all its descendants, parents before children, as they were when it was over, or later; undefined when
   * there is no such job. At most `limit`.
   */
  tree(id: JobId, limit: number): readonly JobView[] | undefined;
  /** As tree, in pages for streaming: each call gives the next jobs, an empty page at the end. */
  treePages(id: JobId): { next(): readonly JobView[] } | undefined;
  /** A page of the jobs that match, newest first; behind `before`, where it is given. */
  listJobs(filter: JobFilter, limit: number, before: JobId | null): JobPage | Promise<JobPage>;
  /** A page of the logs that match, newest first. */
  listLogs(wanted: LogsWanted): LogPage | Promise<LogPage>;
  queueDepth(): number;
  /** The open event streams. */
  readonly events: EventStreams;
  /** The times of a plugin's steps in a window, with all that ended before the call; read bit by bit. */
  stopwatch(plugin: string, window: Window): Promise<StopwatchReading>;
  startedAtMs: number;
  version: string;
  readonly administration: Administration;
  readonly vault: VaultDoor;
  /** No new work: the service is stopping. */
  stopping(): boolean;
}
