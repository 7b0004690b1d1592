// The instants at which a cron expression fires in a time zone.
//
// An expression whose minute or hour begins with `*` or `?` fires at each instant at which the wall clock of the zone matches.
// Any other expression is fixed: for each matching time, it fires at the first instant at which the wall clock shows that time or
// a later one. If clocks go forward, a fixed expression fires once, at the end of the gap, for all matching times in the gap. If
// clocks go back, a fixed expression fires only the first time that the clock shows a matching time.
import type { CronPattern, WallMs } from './cron.ts';
import type { Zone } from './zone.ts';

const hour = 3_600_000;
/** A time zone's offset from UTC is always less than this. */
const offsetMsMax = 16 * hour;
/** Every change of a time zone so far has put clocks back by less than this. */
const backMsMax = 26 * hour;

/** Returns the first instant after `afterMs` at which the pattern fires, in ms since the epoch; null if there is none. */
export function nextInstant(pattern: CronPattern, zone: Zone, afterMs: number): number | null {
  if (!pattern.isFixed) return nextMatch(pattern, zone, afterMs);
  const wall = pattern.next(latestWall(zone, afterMs));
  return wall === null ? null : firstShown(zone, wall, afterMs);
}

/** The latest of all times that the wall clock has shown up to this instant. */
function latestWall(zone: Zone, ms: number): WallMs {
  let period = zone.periodAt(ms);
  let latest = ms + period.offsetMs;
  while (period.fromMs > ms - backMsMax) {
    period = zone.periodAt(period.fromMs - 1);
    latest = Math.max(latest, period.toMs - 1 + period.offsetMs);
  }
  return latest;
}

/** Returns the first instant at which the wall clock shows this time or a later one. That instant must be after `afterMs`. */
function firstShown(zone: Zone, wall: WallMs, afterMs: number): number {
  let period = zone.periodAt(Math.max(afterMs, wall - offsetMsMax));
  while (wall >= period.toMs + period.offsetMs) period = zone.periodAt(period.toMs);
  return Math.max(wall - period.offsetMs, period.fromMs);
}

function nextMatch(pattern: CronPattern, zone: Zone, afterMs: number): number | null {
  let period = zone.periodAt(afterMs);
  let wall = pattern.next(afterMs + period.offsetMs);
  while (wall !== null && wall - period.offsetMs >= period.toMs) {
    const next = zone.periodAt(period.toMs);
    if (next.offsetMs !== period.offsetMs) wall = pattern.next(next.fromMs - 1 + next.offsetMs);
    period = next;
  }
  return wall === null ? null : wall - period.offsetMs;
}
