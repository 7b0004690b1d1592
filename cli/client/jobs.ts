// Jobs as the API tells them.
import { exitStatus } from '../exit-status.ts';
import { type Client, segment } from './client.ts';

export type Job = {
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly status: string;
  readonly plugin: string;
  readonly command: string;
  readonly submitted_by: string;
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** Absent without the scope to see it; null before there is one. */
  readonly result?: { readonly result: unknown; readonly logs?: readonly LogLine[] } | null;
  readonly last_error?: string;
};
export type LogLine = { readonly level: string; readonly message: string };
export type TreeJob = Omit<Job, 'submitted_by' | 'attempt' | 'created_at' | 'last_error'>;

export function fetchJob(client: Client, id: string): Promise<Job> {
  return client.get<Job>(`/job/${segment(id)}`);
}

export function isSettled(status: string): boolean {
  return status !== 'queued' && status !== 'running';
}

/** What the end of a job means to whoever ran it. */
export function exitStatusOfJob(status: string): number {
  if (status === 'succeeded') return exitStatus.ok;
  return status === 'timed_out' ? exitStatus.timedOut : exitStatus.failed;
}
