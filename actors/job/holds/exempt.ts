// A pause of the whole service does not hold the phases of cancelled runs, nor the runs that these phases call. The jobs of these phases
// and runs are exempt, but not in a restored state. Because the pause holds the lanes of exempt jobs, each of these jobs runs alone in a
// quarantine host.
import type { JobId } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import { decodeBlock, groupOf } from '../records/block.ts';

type JobPlace = Pick<OpenAttempt, 'open' | 'index'>;

/** Whether the service is paused, but the pause does not hold this job. Does not load the job's block into memory. */
export function isExempt(state: JobState, job: JobPlace): boolean {
  if (!state.pauses.haveExemptions) return false;
  const run = job.open.block ? state.runOf(job) : storedRunOf(state, job);
  return run !== null && state.openRuns.exemptSince(run) !== null;
}

/** The run that the job belongs to. Null: there is none, or the block is unusable. */
function storedRunOf({ reader }: JobState, { open, index }: JobPlace): JobId | null {
  // The block is not copied, because only the id of the run is kept.
  const bytes = reader.peek('blocks', open.keyBytes);
  const run = bytes && readable(() => groupOf(decodeBlock(bytes), index).group.run?.run);
  return run ? Buffer.from(run) : null;
}
