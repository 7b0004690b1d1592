// Makes a steady, light load of single no-op jobs, one after the other.
import type { Caller, Job } from './caller.ts';
import { momentUs, nowUs } from './moment.ts';
import { pause, until } from './pause.ts';

/** A single job that has succeeded, and the time of its request in µs since the epoch. */
export type Single = { readonly sentUs: number; readonly job: Job };

/** Runs single jobs, with a pause between two, until `isEnough` returns true. Throws if a job does not succeed. */
export async function singles(
  caller: Caller,
  pauseMs: number,
  isEnough: (count: number) => boolean | Promise<boolean>,
): Promise<Single[]> {
  const done: Single[] = [];
  do {
    const sentUs = nowUs();
    const id = await caller.submit('/plugin/noop/run', { n: done.length });
    const job = await ended(caller, id, pauseMs);
    if (job.status !== 'succeeded') throw new Error(`a single job is ${job.status}: ${job.last_error}`);
    done.push({ sentUs, job });
    await pause(pauseMs);
  } while (!(await isEnough(done.length)));
  return done;
}

/** For each single job, the time from its request to the end in its record, in ms. */
export function timesMs(done: readonly Single[]): number[] {
  return done.map(({ sentUs, job }) => (momentUs(job.completed_at) - sentUs) / 1000);
}

/** Polls the job every `everyMs`, and resolves with it when it has ended. */
export function ended(caller: Caller, id: string, everyMs: number): Promise<Job> {
  const look = async () => {
    const job = await caller.job(id);
    return isOver(job.status) ? job : undefined;
  };
  return until(look, { everyMs, withinMs: 30_000, what: `end of job ${id}` });
}

export function isOver(status: string): boolean {
  return status !== 'queued' && status !== 'running';
}
