// Waits for a job to end, and shows its progress.
import { setTimeout as pause } from 'node:timers/promises';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import type { Output } from '../output.ts';
import { progressBar } from '../terminal/plot.ts';
import { formatMs } from '../terminal/time.ts';
import type { Client } from './client.ts';
import { fetchJob, isSettled, type JobDocument } from './jobs.ts';

/** No progress is shown before this time, because short jobs end sooner. */
const quietMs = 500;
/** The time between two updates of the progress. */
const updateEveryMs = 1_000;

/** Waits until the job has ended. Throws a `CommandFailure` with exit status 5 if that takes longer than `limitMs`. */
export async function settledJob(
  client: Client,
  id: string,
  limitMs: number | null,
  out: Output,
): Promise<JobDocument> {
  const beganMs = performance.now();
  const waitedMs = (): number => performance.now() - beganMs;
  for (let waitMs = quietMs; ; waitMs = updateEveryMs) {
    const leftMs = limitMs === null ? Number.POSITIVE_INFINITY : Math.max(0, limitMs - waitedMs());
    const sentMs = waitedMs();
    const job = await fetchJob(client, id, { waitMs: Math.min(leftMs, waitMs) });
    if (isSettled(job.status)) return job;
    if (limitMs !== null && waitedMs() >= limitMs) throw notSettled(job, limitMs);
    if (waitedMs() >= quietMs) out.progress(`${progressOf(job)}, ${formatMs(waitedMs())}`);
    // If too many callers wait, the service answers at once. Then this command itself waits for the remaining part of the
    // interval.
    await pause(Math.max(0, Math.min(leftMs, waitMs) - (waitedMs() - sentMs)));
  }
}

/** For a run, a progress bar: how many of its known jobs have ended. For another job, its status. */
function progressOf({ job_id: id, status, counts }: JobDocument): string {
  if (counts === undefined) return `${status}: job ${id}`;
  const known = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${progressBar(known - (counts['unsettled'] ?? 0), known)} jobs`;
}

function notSettled({ job_id: id, status }: JobDocument, limitMs: number): Error {
  const detail = `job ${id} is still ${status} after ${formatMs(limitMs)}; "headgate job watch ${id}" follows it`;
  return failure(exitStatus.timedOut, 'not_settled', 'The job did not end in time', detail);
}
