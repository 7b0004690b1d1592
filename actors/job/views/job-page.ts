// The filter, rows and pages of the list of jobs.

import type { JobId } from '../../../runtime/ids.ts';
import type { AcceptedRange } from '../records/accepted.ts';
import type { Status } from '../records/job.ts';
import type { JobView } from './job-view.ts';

export type JobFilter = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly status: Status | null;
  /** A job must match all of these filters. Empty: every job matches. */
  readonly within: readonly JobScopeFilter[];
  /** The tags that a job must have, each as `key:text`. */
  readonly tags?: readonly string[];
  /** The range in which a job must have been accepted. Absent: any time. */
  readonly accepted?: AcceptedRange;
  /** The pipeline. A job must be a run of it, or belong to one of its steps. */
  readonly pipeline?: string;
  /** The fingerprint with which a job must have failed. */
  readonly fingerprint?: string;
  /** The original job: a matching job must be a rerun of it. */
  readonly rerunOf?: JobId;
};

/**
 * Selects jobs of one tree. `root`: the root `id` and all its descendants. `parent`: the jobs that the job `id` caused. `run`: the jobs
 * inside the run `id`, including jobs of called runs, but excluding the jobs and runs that events of these jobs started.
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
  | 'stepId'
  | 'options'
>;

/**
 * A page of the list of jobs. `total`: the number of all matching jobs. `more`: whether further jobs follow. `atLeast`: whether the
 * total is a lower bound.
 */
export type JobPage = {
  readonly rows: readonly JobRow[];
  readonly total: number;
  readonly more: boolean;
  readonly atLeast: boolean;
  /** Only for a search by error or fingerprint: attempts that ended at this time or earlier were searched. Null: the journal is empty. */
  readonly searchedUs?: number | null;
  /**
   * Only for a filter by tags: the number of tagged jobs that are not in the index yet and were not examined, counted up to a limit. The page
   * may lack some of these jobs.
   */
  readonly unindexed?: number;
};

/** If jobs must be counted one by one, counting stops at this number once the page is full. The total is then a lower bound. */
export const countedMax = 10_000;

export function rowOf(id: JobId, view: JobView): JobRow {
  const { plugin, command, status, createdUs, startedUs, completedUs, attempt, counts, isReused, stepId, options } =
    view;
  return { id, plugin, command, status, createdUs, startedUs, completedUs, attempt, counts, isReused, stepId, options };
}
