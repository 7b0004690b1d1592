// What a rerun of a run does, in words.
import { count, counted } from '../../core/format.ts';
import type { ShownJob } from './shown-job.ts';

/** `counts`: how the jobs inside the run ended. */
export function rerunText(counts: NonNullable<ShownJob['counts']>, from: 'start' | 'failed'): string {
  const { succeeded = 0, reused = 0, failed = 0, timed_out: timedOut = 0, dead = 0, cancelled = 0 } = counts;
  const good = succeeded + reused;
  const others = failed + timedOut + dead + cancelled;
  if (from === 'failed')
    return (
      `${counted(good, 'job')} succeeded and ${good === 1 ? 'is' : 'are'} reused, but not jobs of phases. ` +
      `${counted(others, 'job runs', 'jobs run')} again, and the steps after ${others === 1 ? 'it' : 'them'}.`
    );
  const all = good + others;
  if (all === 0) return 'The run had no job. It starts again.';
  const also = good === 0 ? '' : `, also the ${good === 1 ? 'one' : count(good)} that succeeded`;
  return all === 1 ? 'The run had 1 job: it runs again.' : `The run had ${count(all)} jobs: all run again${also}.`;
}
