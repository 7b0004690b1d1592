// Waits for a job to end, and shows its progress.
import { setTimeout as pause } from 'node:timers/promises';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure, isUnavailable } from '../failure.ts';
import type { Output } from '../output.ts';
import { progressBar } from '../terminal/plot.ts';
import { formatMs } from '../terminal/time.ts';
import type { Client } from './client.ts';
import { fetchJob, isSettled, type JobDocument } from './jobs.ts';

/** No progress is shown before this time, because short jobs end sooner. */
const quietMs = 500;
/** The time between two updates of the progress. */
const updateEveryMs = 1_000;
/** The service delays its last answer until the limit of the wait. That answer may arrive this much later. */
const lastAnswerMs = 2_000;

/**
 * Waits until the job has ended. Throws a `CommandFailure` with exit status 5 if that takes longer than `limitMs`. While the service is
 * unavailable, asks again. Every failure names the job, because a caller that does not know the job would submit it again.
 */
export async function settledJob(
  client: Client,
  id: string,
  limitMs: number | null,
  out: Output,
): Promise<JobDocument> {
  const beganMs = performance.now();
  const waitedMs = (): number => performance.now() - beganMs;
  const tooLate = limitMs === null ? undefined : AbortSignal.timeout(limitMs + lastAnswerMs);
  let wasUnavailable = false;
  for (let waitMs = quietMs; ; waitMs = updateEveryMs) {
    const leftMs = limitMs === null ? Number.POSITIVE_INFINITY : Math.max(0, limitMs - waitedMs());
    const sentMs = waitedMs();
    const job = await fetchJob(client, id, { waitMs: Math.min(leftMs, waitMs), signal: tooLate }).catch(error => {
      if (tooLate?.aborted) throw notSettled(id, unknownEnd, limitMs!);
      return unavailableOr(error, id);
    });
    const isUnavailable = job instanceof CommandFailure;
    if (!isUnavailable && isSettled(job.status)) return job;
    if (limitMs !== null && waitedMs() >= limitMs)
      throw notSettled(id, isUnavailable ? unknownEnd : `still ${job.status}`, limitMs);
    if (isUnavailable && !wasUnavailable) out.note(`no answer (${job.message}); asking again for job ${id}`);
    if (!isUnavailable && waitedMs() >= quietMs) out.progress(`${progressOf(job)}, ${formatMs(waitedMs())}`);
    wasUnavailable = isUnavailable;
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

/** Returns the error if it means that the service is unavailable. Throws any other error, with the job added to a `CommandFailure`. */
function unavailableOr(error: unknown, id: string): CommandFailure {
  if (isUnavailable(error)) return error;
  if (!(error instanceof CommandFailure)) throw error;
  const accepted = `job ${id} was accepted, and goes on without this command; "headgate job watch ${id}" follows it`;
  const hint = error.hint === null ? accepted : `${error.hint}\n${accepted}`;
  throw new CommandFailure(error.exitStatus, { ...error.problem, job_id: id }, error, hint);
}

const unknownEnd = 'without a known end';

function notSettled(id: string, state: string, limitMs: number): Error {
  const detail = `job ${id} is ${state} after ${formatMs(limitMs)}; "headgate job watch ${id}" follows it`;
  const { problem } = failure(exitStatus.timedOut, 'not_settled', 'The job did not end in time', detail);
  return new CommandFailure(exitStatus.timedOut, { ...problem, job_id: id });
}
