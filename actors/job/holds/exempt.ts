// A pause of the whole service does not hold the phases of cancelled runs, nor the runs that these phases call. The jobs of these phases
// and runs are exempt. Because the pause holds the lanes of exempt jobs, each of these jobs runs alone in a quarantine host.
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';

/** Whether the service is paused, but the pause does not hold this job. */
export function isExempt(state: JobState, job: Pick<OpenAttempt, 'open' | 'index'>): boolean {
  if (!state.pauses.isOfService) return false;
  const run = state.runOf(job);
  return run !== null && state.openRuns.exemptSince(run) !== null;
}
