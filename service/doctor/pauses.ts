// The doctor's checks of pauses and schedules. A pause that has lasted for a long time may have been forgotten, and so may a schedule that has
// paused itself, or that has been paused for a long time.

import { isHalfOpen, type Pause, targetText } from '../../actors/job/records/pause.ts';
import type { PausedSchedule } from '../../actors/schedule/views/schedules.ts';
import { countText } from '../../runtime/text.ts';
import { timestamp } from '../json/timestamp.ts';
import { type CheckResult, failed, passed } from './result.ts';

/** The checks fail if a pause is older than this. */
const pauseHoursMax = 24;

export function checkPauses(pauses: readonly Pause[], nowMs: number): CheckResult {
  const isTrying = (pause: Pause) => isHalfOpen(pause, nowMs * 1000);
  const isOld = ({ sinceUs }: Pause) => nowMs - sinceUs / 1000 > pauseHoursMax * 3_600_000;
  const old = pauses.filter(pause => isOld(pause) && !isTrying(pause));
  const shown = old.length > 0 ? old : pauses;
  const detail = shown.map(pause => {
    if (isTrying(pause)) return `the breaker of ${targetText(pause)} is half open: the next job tries`;
    const { reason, by, sinceUs } = pause;
    return `${targetText(pause)} by ${by} since ${timestamp(sinceUs)}${reason === null ? '' : `: ${reason}`}`;
  });
  if (old.length === 0) return passed(detail.length === 0 ? 'none' : detail.join('; '));
  return failed(`paused for more than ${pauseHoursMax} h: ${detail.join('; ')}`);
}

/** `warnings`: the warnings of the configuration on disk, such as a time that is past. They do not make the check fail. */
export function checkSchedules(
  count: number,
  paused: readonly PausedSchedule[],
  warnings: string,
  nowMs: number,
): CheckResult {
  const isForgotten = ({ pause: { by, sinceMs } }: PausedSchedule) =>
    by === 'schedule' || nowMs - sinceMs > pauseHoursMax * 3_600_000;
  const forgotten = paused.filter(isForgotten);
  const noted = warnings === '' ? '' : `; ${warnings}`;
  if (forgotten.length === 0) return passed(`${countText(count, 'schedule')}, ${paused.length} of them paused${noted}`);
  const texts = forgotten.slice(0, 5).map(({ id, pause: { by, sinceMs, reason } }) => {
    return `${id} by ${by} since ${timestamp(sinceMs * 1_000)}${reason === null ? '' : `: ${reason}`}`;
  });
  const more = forgotten.length > texts.length ? `; and ${forgotten.length - texts.length} more` : '';
  return failed(`paused: ${texts.join('; ')}${more}${noted}`);
}
