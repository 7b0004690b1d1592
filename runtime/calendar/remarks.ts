// Says how a change of a zone's offset affects an instant at which a cron expression fires.
import type { CronPattern } from './cron.ts';
import type { Zone } from './zone.ts';

/**
 * `moved`: the wall clock skips the matching time, so the expression fires at the end of the gap. `first`: the wall clock will show this
 * time again. `again`: the wall clock has shown this time before.
 */
export type InstantRemark = 'moved' | 'first' | 'again';

/** Returns the remark on an instant at which the pattern fires. Null: the time matches, and the wall clock shows it only once. */
export function remarkOn(pattern: CronPattern, zone: Zone, ms: number): InstantRemark | null {
  const period = zone.periodAt(ms);
  const wall = ms + period.offsetMs;
  if (pattern.next(wall - 1) !== wall) return 'moved';
  // A period that began more than 24 hours ago has no effect on this instant.
  const before = ms - period.fromMs > 24 * 3_600_000 ? null : zone.periodAt(period.fromMs - 1);
  if (before !== null && ms < period.fromMs + before.offsetMs - period.offsetMs) return 'again';
  const after = zone.periodAt(period.toMs);
  return ms >= period.toMs - (period.offsetMs - after.offsetMs) ? 'first' : null;
}
