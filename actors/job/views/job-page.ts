// The filter, rows and pages of the list of jobs.

import type { JobId } from '../../../runtime/ids.ts';
import type { Status } from '../records/job.ts';
import type { JobView } from './job-view.ts';

export type JobFilter = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly status: Status | null;
  /** A job must match all of these filters. Empty: every job matches. */
  readonly within: readonly JobScopeFilter[];
  /** A job must have all of these, each as `key:text`. */
  readonly tags?: readonly string[];
};

/**
 * Selects jobs of one tree. `root`: the job and all its descendants; `parent`: the jobs that it caused; `run`: the jobs inside a run,
 * including those of called runs, but not those that its events started.
 */
export type JobScopeFilter = { readonly of: 'root' | 'parent' | 'run'; readonly id: JobId };

export type JobRow = { readonly id: JobId } & Pick<
  JobView,
  | 'plugin'
  | 'command'
  | 'status'
  | 'createdUs'
  | 'startedUs'
  | 'completedUs'
  | 'attempt'
  | 'counts'
  | 'isReused'
  | 'options'
>;

/** A page of the list of jobs. `more`: further jobs follow. `atLeast`: the total is a lower bound. */
export type JobPage = {
  readonly rows: readonly JobRow[];
  readonly total: number;
  readonly more: boolean;
  readonly atLeast: boolean;
  /** The end of the searched time range; only for a search. Null: no attempt had ended yet. */
  readonly searchedUs?: number | null;
  /** Only for a filter by tags: the number of jobs with tags that the index lacks, and that the page may therefore miss. */
  readonly unindexed?: number;
};

/**
 * The maximum number of jobs that are counted one by one, if no counter or index has the total. If more match, the total is a lower bound.
 */
export const countedMax = 10_000;

/** Reads the parts of the view that a row has. */
export function rowOf(id: JobId, view: JobView): JobRow {
  const { plugin, command, status, createdUs, startedUs, completedUs, attempt, counts, isReused, options } = view;
  return { id, plugin, command, status, createdUs, startedUs, completedUs, attempt, counts, isReused, options };
}
