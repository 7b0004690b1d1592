// Reads when jobs were accepted, started and ended, and for how long they ran, many jobs at a time.
import type { BlockKey } from '../../../runtime/ids.ts';
import { type NumberedAttempt, pagesOf } from '../records/attempts.ts';
import { hasRun } from '../records/journal.ts';
import type { BlockJobs } from './job-view.ts';
import type { TimedJob } from './timeline.ts';

/** A summary of a job's ended attempts: the last one, when the first one started (null: none started), and their total run time in µs. */
type Ended = { last: NumberedAttempt; startedUs: number | null; ranUs: number };

/** The jobs of a block from index `from` up to, not including, `to`. `createdUs` is the time of acceptance, even of a delayed job. */
export function timedJobs(jobs: BlockJobs, key: BlockKey, from: number, to: number): TimedJob[] {
  const ended = endedAttempts(jobs, key, from, to);
  const { createdUs } = jobs.block;
  const timed: TimedJob[] = [];
  for (let index = from; index < to; index++) {
    const known = ended[index - from];
    const startedUs = known?.startedUs ?? null;
    const ranUs = known?.ranUs ?? 0;
    if (known?.last.attempt.final) {
      const { status, completedUs: endedUs } = known.last.attempt;
      timed.push({ key, index, status, createdUs, startedUs, ranUs, endedUs });
      continue;
    }
    const { status, startedUs: runningUs } = jobs.view(index, known?.last);
    const sinceUs = startedUs ?? (status === 'running' ? runningUs : null);
    timed.push({ key, index, status, createdUs, startedUs: sinceUs, ranUs, endedUs: null });
  }
  return timed;
}

/** Sums up the ended attempts of each job from index `from` up to, not including, `to`. The results are in the order of the jobs. */
function endedAttempts({ reader }: BlockJobs, key: BlockKey, from: number, to: number): (Ended | undefined)[] {
  const ended: (Ended | undefined)[] = new Array(to - from);
  for (const page of pagesOf(reader, key, from, to)) {
    const { number, first, count } = page;
    const end = Math.min(to, first + count);
    for (let index = Math.max(from, first); index < end; index++) {
      const attempt = page.attempt(index)!;
      const ranUs = attempt.completedUs - attempt.startedUs;
      const ran = hasRun(attempt.status, number, ranUs);
      const known = ended[index - from];
      const last = { number, attempt };
      if (known === undefined)
        ended[index - from] = { last, startedUs: ran ? attempt.startedUs : null, ranUs: ran ? ranUs : 0 };
      else {
        known.last = last;
        if (!ran) continue;
        known.startedUs ??= attempt.startedUs;
        known.ranUs += ranUs;
      }
    }
  }
  return ended;
}
