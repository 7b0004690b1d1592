// The cancel of a run that has passed its deadline, the time limit of its phase, or the timeout of the step that called it.
import { formatDuration } from '../../../config/quantity.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { type Cancel, groupIn } from '../../job/records/cancel.ts';
import type { JobOptions } from '../../job/records/options.ts';
import type { RunDeadline } from '../records/run-deadline.ts';
import type { Run } from '../run.ts';
import { deadlineMsOf } from './run-start.ts';

export function overdueCancel(reader: Reader, run: Run, deadline: RunDeadline, turn: Turn): Cancel {
  return { atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 }, ...reasonOf(reader, run, deadline) };
}

function reasonOf(reader: Reader, run: Run, [us, kind]: RunDeadline): Pick<Cancel, 'by' | 'reason' | 'timeout'> {
  const { definition } = run.version.compiled;
  // The time from the acceptance of the run to this deadline. A called run is never delayed. So for the kind `call`, this is the timeout of
  // the step.
  const passedMs = Math.round((us - run.createdUs) / 1000);
  switch (kind) {
    case 'deadline': {
      const allowedMs = deadlineMsOf(definition, optionsOf(reader, run)) ?? passedMs;
      const allowed = formatDuration(allowedMs);
      return { by: 'deadline', reason: `the run did not end within its deadline of ${allowed}`, timeout: kind };
    }
    case 'phase':
      return {
        by: 'deadline',
        reason: `took longer than ${formatDuration(definition.phaseTimeoutMs!)}`,
        timeout: kind,
      };
    case 'call':
      return {
        by: 'timeout',
        reason: `the run took longer than ${formatDuration(passedMs)}, the timeout of the step that called it`,
      };
  }
}

/** The options with which the run was accepted. Null: it has none, or they cannot be read. */
function optionsOf(reader: Reader, { id }: Run): JobOptions | null {
  return readable(() => groupIn(reader, id)?.options) ?? null;
}
