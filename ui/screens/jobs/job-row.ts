// A row of GET /jobs.
import { microsOf } from '../run/timeline.ts';

export type JobRow = {
  readonly job_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly attempt: number;
  readonly tags?: Readonly<Record<string, string>>;
};
export type JobPage = {
  readonly jobs: readonly JobRow[];
  readonly total: number;
  readonly total_at_least?: true;
  readonly next_cursor?: string;
};

/** How long the job has run, until now if it still runs; null: it has not started. */
export function ranUs({ started_at, completed_at, status }: JobRow, nowMs: number): number | null {
  if (started_at === null) return null;
  if (completed_at !== null) return microsOf(completed_at) - microsOf(started_at);
  return status === 'running' ? Math.max(0, nowMs * 1_000 - microsOf(started_at)) : null;
}

/** How long the job waited before it started. */
export function waitedUs({ created_at, started_at }: JobRow): number | null {
  return started_at === null ? null : Math.max(0, microsOf(started_at) - microsOf(created_at));
}
