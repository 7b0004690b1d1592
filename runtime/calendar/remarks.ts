// What a change of a zone's offset does to an instant at which a cron expression fires.
import type { CronPattern } from './cron.ts';
import type { Zone, ZonePeriod } from './zone.ts';

/**
 * `moved`: the wall clock skips the time that matches, so the expression fires when the clock goes on. `first`: the wall clock shows this
 * time again later. `again`: the wall clock has shown this time before.
 */
export type InstantRemark = 'moved' | 'first' | 'again';

/** Null: the wall clock shows this time once. */
export function remarkOn(pattern: CronPattern, zone: Zone, ms: number): InstantRemark | null {
  const period = zone.periodAt(ms);
  const wall = ms + period.offsetMs;
  if (pattern.next(wall - 1) !== wall) return 'moved';
  const before = otherBefore(zone, period, ms);
  if (before !== null && ms < period.fromMs + before.offsetMs - period.offsetMs) return 'again';
  const after = zone.periodAt(period.toMs);
  return ms >= period.toMs - (period.offsetMs - after.offsetMs) ? 'first' : null;
}

/** The period before this one, if it ended less than a day ago. */
function otherBefore(zone: Zone, { fromMs }: ZonePeriod, ms: number): ZonePeriod | null {
  return ms - fromMs > 24 * 3_600_000 ? null : zone.periodAt(fromMs - 1);
}
