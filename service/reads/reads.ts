// Reads that can be slow or large, as messages. They run on the reads thread, and each answer is written as fast as its caller takes it.

import type { Window } from '../../actors/index/views/stopwatch.ts';
import type { Waits } from '../../actors/job/protocol.ts';
import type { JournalPosition } from '../../actors/job/records/journal.ts';
import type { JobFilter } from '../../actors/job/views/job-page.ts';
import type { LogFilter, LogView } from '../../actors/job/views/log-listing.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { JobDetail } from '../json/job.ts';

/** The filters of a list of logs; null: any. */
export type LogsWanted = LogFilter & {
  /** As given; a value that is not a job id matches nothing. */
  readonly jobId: string | null;
  /** Words, in the language of docs/search.md. */
  readonly query: string | null;
  readonly limit: number;
  readonly before: JournalPosition | null;
};
/** `next`: the last position of the page; null: there are no further logs. */
export type LogPage = {
  /** Read one by one, because they can be large. */
  readonly logs: Iterable<LogView>;
  readonly total: number;
  readonly next: JournalPosition | null;
  /** Logs that a search has skipped: they are not indexed yet, and too many to read. */
  readonly unsearched: number;
};

/** How much of a log is shown: see `logParts`. */
export type LogDetail = 'bare' | 'plain' | 'result';

/** A query of the stopwatch. */
export type StopwatchWanted = {
  readonly plugin: string;
  readonly window: Window;
  readonly nowUs: number;
  /** Steps that are listed first, with or without samples. */
  readonly steps: readonly string[];
  /** Whether spans are included; null: not requested. False: this caller may not see them. */
  readonly subs: boolean | null;
};

/** `error`: words of the last error, in the language of docs/search.md. Null: any. */
export type JobsWanted = {
  readonly filter: JobFilter;
  readonly error: string | null;
  readonly limit: number;
  readonly before: JobId | null;
};

/** A read as a message. */
export type Read =
  | { readonly kind: 'job'; readonly id: JobId; readonly detail: JobDetail; readonly waits: Waits | null }
  | { readonly kind: 'tree'; readonly id: JobId; readonly withResult: boolean }
  /** A settled run with its tree: the answer to a call that waited for it. */
  | { readonly kind: 'run'; readonly id: JobId }
  | ({ readonly kind: 'jobs' } & JobsWanted)
  | { readonly kind: 'actions'; readonly limit: number; readonly before: JobId | null }
  | { readonly kind: 'logs'; readonly wanted: LogsWanted; readonly detail: LogDetail }
  | ({ readonly kind: 'stopwatch' } & StopwatchWanted);

/** The reads thread has died and is restarting. */
export class ReadsDown extends Error {}
export const readsDownDetail = 'the reads thread has died and is restarting';

/** The receiver of an answer's chunks. An exception in a callback ends the answer, not the process. */
export interface AnswerSink {
  /**
   * False: the reader is too slow, and unsent data accumulates. If a write has less than 16 KiB, the false may come only with the next
   * write. A reader that takes nothing for about ten seconds is disconnected.
   */
  write(text: string): boolean;
  /** Calls the function once, when there is room to write, and never synchronously. */
  onReady(resume: () => void): void;
  end(): void;
}

/** JSON, complete or in chunks, or a refusal. */
export type ReadAnswer =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'pieces'; open(sink: AnswerSink): void }
  | {
      readonly kind: 'refused';
      readonly refusal: 'too_many_reads' | 'unknown_job' | 'unavailable';
      readonly detail: string;
    };

/** A caller; `forget` is called if it disconnects before the answer is complete. */
export type Disconnectable = { onGone(forget: () => void): void };

export interface Reads {
  /** The answer includes everything committed before the call. The read ends when the caller disconnects. */
  answer(read: Read, call: Disconnectable): Promise<ReadAnswer>;
}
