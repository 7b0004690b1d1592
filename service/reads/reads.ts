// Reads that may take long, or give much: made on a thread of their own, and written as fast as their callers take them.

import type { Window } from '../../actors/index/views/stopwatch.ts';
import type { Waits } from '../../actors/job/protocol.ts';
import type { JournalPosition } from '../../actors/job/records/journal.ts';
import type { JobFilter } from '../../actors/job/views/job-page.ts';
import type { LogFilter, LogView } from '../../actors/job/views/log-listing.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { JobDetail } from '../json/job.ts';

/** Null: any. */
export type LogsWanted = LogFilter & {
  /** As it was given; what is no job's id matches nothing. */
  readonly jobId: string | null;
  /** Words, in the language of docs/search.md. */
  readonly query: string | null;
  readonly limit: number;
  readonly before: JournalPosition | null;
};
/** `next`: the last place of the page, when there is more behind it. */
export type LogPage = {
  /** Each is read when it is asked for: what it says may be large. */
  readonly logs: Iterable<LogView>;
  readonly total: number;
  readonly next: JournalPosition | null;
  /** Logs that a search has not looked at: they ended just now, and are too many to be read without the index. */
  readonly unsearched: number;
};

/** What is shown of a log: see `logParts`. */
export type LogDetail = 'bare' | 'plain' | 'result';

/** What of a plugin's times is asked for. */
export type StopwatchWanted = {
  readonly plugin: string;
  readonly window: Window;
  readonly nowUs: number;
  /** Steps that are listed first, measured or not. */
  readonly steps: readonly string[];
  /** Null: not asked for. False: not for this caller. */
  readonly subs: boolean | null;
};

/** `error`: words of the last error, in the language of docs/search.md. Null: any. */
export type JobsWanted = {
  readonly filter: JobFilter;
  readonly error: string | null;
  readonly limit: number;
  readonly before: JobId | null;
};

/** A read, as a message: plain data. */
export type Read =
  | { readonly kind: 'job'; readonly id: JobId; readonly detail: JobDetail; readonly waits: Waits | null }
  | { readonly kind: 'tree'; readonly id: JobId; readonly withResult: boolean }
  /** A run that has settled, with at most so many jobs of its tree: what a call that waited for it is answered. */
  | { readonly kind: 'run'; readonly id: JobId }
  | ({ readonly kind: 'jobs' } & JobsWanted)
  | { readonly kind: 'logs'; readonly wanted: LogsWanted; readonly detail: LogDetail }
  | ({ readonly kind: 'stopwatch' } & StopwatchWanted);

/** The thread for reads has ended, and is starting again. */
export class ReadsDown extends Error {}
export const readsDownDetail = 'the thread for reads has ended and is starting again';

/** Where the pieces of an answer go. What a callback of it throws ends the answer, not the process. */
export interface Sink {
  /**
   * False: the reader is slower than this, and what waits for it grows. A write of less than 16 KiB may not tell yet; then the next
   * one does. A reader who takes nothing for some ten seconds is let go.
   */
  write(text: string): boolean;
  /** Calls once, when there is room to write, and never before this returns. */
  onReady(resume: () => void): void;
  end(): void;
}

/** JSON, whole or in pieces, or why there is none. */
export type ReadAnswer =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'pieces'; open(sink: Sink): void }
  | {
      readonly kind: 'refused';
      readonly refusal: 'too_many_reads' | 'unknown_job' | 'unavailable';
      readonly detail: string;
    };

/** A caller, who may go away before the answer is complete; then `forget` is called. */
export type MayLeave = { onGone(forget: () => void): void };

export interface Reads {
  /** Sees all that was committed before the call. The read ends when the caller goes away. */
  answer(read: Read, call: MayLeave): Promise<ReadAnswer>;
}
