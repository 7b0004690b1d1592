// The types of reads that can be slow or large. Such reads run on the reads thread, and each answer is written as fast as its
// caller takes it.

import type { FailureFilter } from '../../actors/index/views/failures.ts';
import type { Window } from '../../actors/index/views/stopwatch.ts';
import type { Waits } from '../../actors/job/protocol.ts';
import type { JournalPosition } from '../../actors/job/records/journal.ts';
import type { JobFilter } from '../../actors/job/views/job-page.ts';
import type { LogFilter, LogView } from '../../actors/job/views/log-listing.ts';
import type { TimelineQuery } from '../../actors/job/views/timeline-reading.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { JobDetail } from '../json/job.ts';
import type { OverviewQuery } from './overview.ts';

/** The filters of a list of logs. A filter that is null is not applied. */
export type LogsQuery = LogFilter & {
  /** The job id as the caller gave it. A text that is not a job id matches no log. */
  readonly jobId: string | null;
  /** Words that a log must have, in the query language of docs/search.md. */
  readonly query: string | null;
  readonly limit: number;
  readonly before: JournalPosition | null;
};
/** A page of logs. `next`: the position of the last log of the page; null if no further logs match. */
export type LogPage = {
  /** Each log is read when the iteration reaches it, because logs can be large. */
  readonly logs: Iterable<LogView>;
  readonly total: number;
  readonly next: JournalPosition | null;
  /** The number of logs that a search has skipped, because they are not indexed yet, and are too many or too large to be read. */
  readonly unsearched: number;
};

/** How much of a log is shown (`logParts` in json/job.ts). */
export type LogDetail = 'bare' | 'plain' | 'result';

export type StopwatchQuery = {
  readonly plugin: string;
  readonly window: Window;
  readonly nowUs: number;
  /** The steps that are listed first, even if they have no samples. */
  readonly steps: readonly string[];
  /** Whether the answer has only these steps. */
  readonly onlySteps: boolean;
  /**
   * Whether spans are included. Null: spans were not asked for. False: spans were asked for, but this caller may not see them.
   */
  readonly subs: boolean | null;
  /** Whether the answer has the times at which the window begins and ends. */
  readonly bounds: boolean;
  /** Null: the answer has neither a series nor a heat map. */
  readonly history: StopwatchHistory | null;
};

/** The form in which the answer shows the history of each step over the window. */
export type StopwatchHistory = {
  /** The length of a bucket. */
  readonly minutes: number;
  readonly series: boolean;
  readonly heat: boolean;
  /** Whether the answer names example jobs. False: this caller may not see which jobs exist. */
  readonly exemplars: boolean;
};

/** The filters of a list of jobs. `error`: words that the last error must have (docs/search.md); null: any error or none. */
export type JobsQuery = {
  readonly filter: JobFilter;
  readonly error: string | null;
  readonly limit: number;
  readonly before: JobId | null;
};

/**
 * `before`: where the previous page ended: the position of the newest job in its last group. `nowUs`: the time of the call; the trend of each
 * group ends in this hour.
 */
export type FailuresQuery = {
  readonly filter: FailureFilter;
  readonly limit: number;
  readonly before: JournalPosition | null;
  readonly nowUs: number;
};

export type Read =
  | { readonly kind: 'job'; readonly id: JobId; readonly detail: JobDetail; readonly waits: Waits | null }
  | { readonly kind: 'tree'; readonly id: JobId; readonly withResult: boolean }
  /** A settled run with its tree: the answer to a call that waited for the run. */
  | { readonly kind: 'run'; readonly id: JobId; readonly withTree: boolean }
  | ({ readonly kind: 'jobs' } & JobsQuery)
  | ({ readonly kind: 'failures' } & FailuresQuery)
  | { readonly kind: 'actions'; readonly limit: number; readonly before: JobId | null }
  | { readonly kind: 'logs'; readonly wanted: LogsQuery; readonly detail: LogDetail }
  | ({ readonly kind: 'timeline'; readonly withErrors: boolean } & TimelineQuery)
  | ({ readonly kind: 'stopwatch' } & StopwatchQuery)
  | ({ readonly kind: 'overview' } & OverviewQuery)
  | { readonly kind: 'counts'; readonly nowUs: number };

/** Thrown if the reads thread is starting, or ends before it has answered. */
export class ReadsDown extends Error {}
export const readsDownDetail = 'the reads thread has died and is restarting';

/** The connection to the caller that gets an answer's chunks. An exception in a callback ends the answer, not the process. */
export interface AnswerSink {
  /**
   * Returns false if the reader is too slow and unsent data accumulates. After a write of less than 16 KiB this may become known only with the
   * next write. A reader that takes no data for about ten seconds is disconnected.
   */
  write(text: string): boolean;
  /** Calls `resume` once, when there is room to write, but never during this call. */
  onReady(resume: () => void): void;
  end(): void;
}

/** The answer of a read: JSON, complete or in chunks, or a refusal. */
export type ReadAnswer =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'pieces'; open(sink: AnswerSink): void }
  | {
      readonly kind: 'refused';
      readonly refusal: 'too_many_reads' | 'unknown_job' | 'unavailable';
      readonly detail: string;
    };

/** The caller of a read. `forget` is called if the caller disconnects before the answer is complete. */
export type Disconnectable = { onGone(forget: () => void): void };
