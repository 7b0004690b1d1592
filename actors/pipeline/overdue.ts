// The cancel of a run that has passed a deadline: its own, the one of its current phase, or the timeout of the step that called it.
import { formatDuration } from '../../config/quantity.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Cancel } from '../job/records/cancel.ts';
import type { RunDeadline } from './records/run-deadline.ts';
import type { Run } from './run.ts';

export function overdueCancel(run: Run, deadline: RunDeadline, turn: Turn): Cancel {
  return { atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 }, ...reasonOf(run, deadline) };
}

function reasonOf(run: Run, [us, kind]: RunDeadline): Pick<Cancel, 'by' | 'reason' | 'timeout'> {
  const { phaseTimeoutMs } = run.version.compiled.definition;
  const allowed = formatDuration(Math.round((us - run.createdUs) / 1000));
  switch (kind) {
    case 'deadline':
      return { by: 'deadline', reason: `the run did not end within its deadline of ${allowed}`, timeout: kind };
    case 'phase':
      return { by: 'deadline', reason: `took longer than ${formatDuration(phaseTimeoutMs!)}`, timeout: kind };
    case 'call':
      return { by: 'timeout', reason: `the step that called the run allows it ${allowed}` };
  }
}
