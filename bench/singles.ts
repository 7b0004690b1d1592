// A steady, light load: single jobs of a command that does nothing, one after the other.
import type { Caller, Job } from './caller.ts';
import { nowUs } from './moment.ts';
import { pause, until } from './pause.ts';

/** A single job that has succeeded, and when its request was sent, in µs since the epoch. */
export type Single = { readonly sentUs: number; readonly job: Job };

/** Until it is enough; a pause between one and the next. Throws when one does not succeed. */
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

/** Looks every so many ms. */
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
