// The state of a schedule, if there is more to say than that it is active.
import type { JSX } from 'preact';
import { counted } from '../../core/format.ts';
import type { ScheduleView } from './schedule-view.ts';

const marks: Readonly<Record<string, string>> = {
  paused: '‖ paused',
  disabled: '○ disabled',
  finished: '✓ finished',
  removed: '✕ removed',
};

export function StateMark({ schedule }: { schedule: ScheduleView }): JSX.Element | null {
  const { state, running, queued = 0, failures = 0 } = schedule;
  const texts = [
    marks[state],
    running ? '◐ running' : undefined,
    queued > 0 ? `${queued} waiting` : undefined,
    failures > 0 ? `${counted(failures, 'failure')} in a row` : undefined,
  ].filter(text => text !== undefined);
  if (texts.length === 0) return null;
  const kind = failures > 0 ? 'state-bad' : state === 'paused' ? 'state-warn' : 'state-idle';
  return <span class={kind}>{texts.join(', ')}</span>;
}
