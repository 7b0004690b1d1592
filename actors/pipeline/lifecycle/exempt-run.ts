// Runs that a pause of the whole service does not hold. These are cancelled runs that are in a phase, and the runs that
// such a phase has called, directly or not.
import type { JobId } from '../../../runtime/ids.ts';
import type { Run } from '../run.ts';

/**
 * The time in µs at which the current phase of a cancelled run began. The cancelled run is this run, or a run that contains
 * it. 0: the phase has passed its time limit. Null: there is no such phase, and a pause of the service holds the run.
 */
export function exemptSince(run: Run | undefined, find: (id: JobId) => Run | undefined): number | null {
  for (let at = run; at; at = at.outer ? find(at.outer.run) : undefined) {
    if (at.phase?.status !== 'cancelled') continue;
    if (at.phase.beganUs !== undefined) return at.phase.beganUs;
    const [endUs] = at.deadlines.find(([, kind]) => kind === 'phase') ?? [0];
    return Math.max(0, endUs - at.version.compiled.definition.phaseTimeoutMs! * 1000);
  }
  return null;
}
