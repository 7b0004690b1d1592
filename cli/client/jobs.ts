// Jobs as the API tells them, and waiting for one to end.
import { setTimeout as pause } from 'node:timers/promises';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import type { Output } from '../output.ts';
import { formatMs } from '../terminal/time.ts';
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

const firstPauseMs = 20;
const pauseMsMax = 1_000;
/** Progress of what is over sooner would only flicker. */
const quietMs = 500;

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

/** Asks for it less and less often until it has ended; `Failure` with exit status 5 when it has not within `limitMs`. */
export async function settledJob(client: Client, id: string, limitMs: number | null, out: Output): Promise<Job> {
  const beganMs = performance.now();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMsMax, pauseMs * 1.5)) {
    const job = await fetchJob(client, id);
    const waitedMs = performance.now() - beganMs;
    if (isSettled(job.status)) return job;
    if (limitMs !== null && waitedMs >= limitMs) throw notSettled(job, limitMs);
    if (waitedMs >= quietMs) out.progress(`${job.status}, ${formatMs(waitedMs)}: job ${id}`);
    await pause(limitMs === null ? pauseMs : Math.min(pauseMs, limitMs - waitedMs));
  }
}

function notSettled({ job_id: id, status }: Job, limitMs: number): Error {
  const detail = `job ${id} is still ${status} after ${formatMs(limitMs)}; "headgate job watch ${id}" follows it`;
  return failure(exitStatus.timedOut, 'not_settled', 'The job has not ended in time', detail);
}
