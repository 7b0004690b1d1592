// Reads that may take long, or give much: made on a thread of their own, and written as fast as their callers take them.

import type { Window } from '../actors/index/stopwatch-view.ts';
import type { JobFilter } from '../actors/job/job-page.ts';
import type { Place } from '../actors/job/journal.ts';
import type { LogFilter, LogView } from '../actors/job/log-view.ts';
import type { Waits } from '../actors/job/protocol.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Answer } from './answer.ts';
import type { JobDetail } from './job-json.ts';

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
  /** Each is read when it is asked for: what it says may be large. */
  readonly logs: Iterable<LogView>;
  readonly total: number;
  readonly next: Place | null;
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

/** A caller, who may go away before the answer is complete; then `forget` is called. */
export type MayLeave = { onGone(forget: () => void): void };

export interface Reads {
  /** Sees all that was committed before the call. The read ends when the caller goes away. */
  answer(read: Read, call: MayLeave): Answer | Promise<Answer>;
}
