// The doctor's check of pauses: a pause that has lasted for a long time may have been forgotten.
import { isHalfOpen, type Pause, targetText } from '../../actors/job/records/pause.ts';
import { timestamp } from '../json/timestamp.ts';

/** The check fails if a pause is older than this. */
export const pauseHoursMax = 24;

export function checkPauses(pauses: readonly Pause[], nowMs: number): { passed: boolean; detail: string } {
  const isTrying = (pause: Pause) => isHalfOpen(pause, nowMs * 1000);
  const isOld = ({ sinceUs }: Pause) => nowMs - sinceUs / 1000 > pauseHoursMax * 3_600_000;
  const old = pauses.filter(pause => isOld(pause) && !isTrying(pause));
  const shown = old.length > 0 ? old : pauses;
  const detail = shown.map(pause => {
    if (isTrying(pause)) return `the breaker of ${targetText(pause)} is half open: the next job tries`;
    const { reason, by, sinceUs } = pause;
    return `${targetText(pause)} by ${by} since ${timestamp(sinceUs)}${reason === null ? '' : `: ${reason}`}`;
  });
  if (old.length === 0) return { passed: true, detail: detail.length === 0 ? 'none' : detail.join('; ') };
  return { passed: false, detail: `paused for more than ${pauseHoursMax} h: ${detail.join('; ')}` };
}
