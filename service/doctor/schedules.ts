// The doctor's check of schedules: a schedule that has paused itself, or that has been paused for a long time, may have been forgotten.
import type { PausedSchedule } from '../../actors/schedule/views/schedules.ts';
import { timestamp } from '../json/timestamp.ts';
import { pauseHoursMax } from './pauses.ts';

/** `warnings`: what the configuration on disk warns of, such as a time that is past. They do not make the check fail. */
export function checkSchedules(
  count: number,
  paused: readonly PausedSchedule[],
  warnings: string,
  nowMs: number,
): { passed: boolean; detail: string } {
  const isForgotten = ({ pause: { by, sinceMs } }: PausedSchedule) =>
    by === 'schedule' || nowMs - sinceMs > pauseHoursMax * 3_600_000;
  const forgotten = paused.filter(isForgotten);
  const noted = warnings === '' ? '' : `; ${warnings}`;
  if (forgotten.length === 0)
    return { passed: true, detail: `${count} schedules, ${paused.length} of them paused${noted}` };
  const texts = forgotten.slice(0, 5).map(({ id, pause: { by, sinceMs, reason } }) => {
    return `${id} by ${by} since ${timestamp(sinceMs * 1_000)}${reason === null ? '' : `: ${reason}`}`;
  });
  const more = forgotten.length > texts.length ? `; and ${forgotten.length - texts.length} more` : '';
  return { passed: false, detail: `paused: ${texts.join('; ')}${more}${noted}` };
}
