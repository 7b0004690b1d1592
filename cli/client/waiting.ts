// Waits for a job to end, and shows a progress bar.
import { setTimeout as pause } from 'node:timers/promises';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure } from '../failure.ts';
import type { Output } from '../output.ts';
import { progressBar } from '../terminal/plot.ts';
import { formatMs } from '../terminal/time.ts';
import type { Client } from './client.ts';
import { fetchJob, isSettled, type JobDocument } from './jobs.ts';
import { treeJobs } from './tree.ts';

const firstPauseMs = 20;
const pauseMsMax = 1_000;
/** The delay before progress is shown: for shorter jobs it would only flicker. */
const quietMs = 500;
/** Jobs of a tree that progress counts. */
const progressJobsMax = 20_000;

/** Polls the job at growing intervals until it has ended. Throws a `CommandFailure` with exit status 5 after `limitMs`. */
export async function settledJob(
  client: Client,
  id: string,
  limitMs: number | null,
  out: Output,
): Promise<JobDocument> {
  const beganMs = performance.now();
  const waitedMs = (): number => performance.now() - beganMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMsMax, pauseMs * 1.5)) {
    const job = await fetchJob(client, id);
    if (isSettled(job.status)) return job;
    const leftMs = limitMs === null ? Number.POSITIVE_INFINITY : limitMs - waitedMs();
    if (leftMs <= 0) throw notSettled(job, limitMs!);
    const askedMs = waitedMs();
    if (out.isWatched && askedMs >= quietMs) out.progress(`${await progressOf(client, job)}, ${formatMs(askedMs)}`);
    // Reading the progress may take only a small part of the time.
    await pause(Math.min(leftMs, Math.max(pauseMs, 5 * (waitedMs() - askedMs))));
  }
}

/** For a run, how many of its known jobs have ended; for another job, its status. */
async function progressOf(client: Client, { job_id: id, plugin, status }: JobDocument): Promise<string> {
  if (plugin !== 'pipeline') return `${status}: job ${id}`;
  const [run, ...statuses] = await treeStatuses(client, id);
  return run === undefined ? status : `${progressBar(statuses.filter(isSettled).length, statuses.length)} jobs`;
}

/** The first jobs of a tree; none if the token gives no access. */
async function treeStatuses(client: Client, id: string): Promise<string[]> {
  const statuses: string[] = [];
  try {
    for await (const job of treeJobs(client, id)) {
      if (statuses.push(job.status) >= progressJobsMax) break;
    }
    return statuses;
  } catch (error) {
    if (error instanceof CommandFailure && error.exitStatus === exitStatus.denied) return [];
    throw error;
  }
}

function notSettled({ job_id: id, status }: JobDocument, limitMs: number): Error {
  const detail = `job ${id} is still ${status} after ${formatMs(limitMs)}; "headgate job watch ${id}" follows it`;
  return failure(exitStatus.timedOut, 'not_settled', 'The job did not end in time', detail);
}
