// Runs that a pause of the whole service does not hold: cancelled runs that are in a phase, and the runs that such a phase has called,
// directly or not.
import type { JobId } from '../../runtime/ids.ts';
import type { Run } from './run.ts';

/**
 * If the run, or a run that has called it, is cancelled and in a phase: the time in µs at which this phase began, or 0
 * if the phase has passed its time limit. Otherwise null: a pause of the service holds the run.
 */
export function exemptSince(run: Run | undefined, find: (id: JobId) => Run | undefined): number | null {
  for (let at = run; at; at = at.outer ? find(at.outer.run) : undefined) {
    if (at.phase?.status !== 'cancelled') continue;
    const [endUs] = at.deadlines.find(([, kind]) => kind === 'phase') ?? [0];
    return Math.max(0, endUs - at.version.compiled.definition.phaseTimeoutMs! * 1000);
  }
  return null;
}
