// The occurrences of a schedule: when it is due, and by how much jitter delays it. Times are ms since the epoch.
import { createHash } from 'node:crypto';
import { parseCron } from './cron.ts';
import { nextInstant } from './instants.ts';
import { zoneNamed } from './zone.ts';

export type Recurrence =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number }
  | { readonly kind: 'at'; readonly atMs: number };

/** Two recurrences with the same text have the same occurrences, if they also count from the same time. */
export function recurrenceText(recurrence: Recurrence): string {
  if (recurrence.kind === 'cron') return `cron ${recurrence.cron} ${recurrence.timezone}`;
  return recurrence.kind === 'every' ? `every ${recurrence.everyMs}` : `at ${recurrence.atMs}`;
}

/** The maximum number of results that are kept: many schedules often have the same times. */
const keptMax = 4_096;
const kept = new Map<string, number | null>();

/** The first occurrence after a time. `originMs`: `every` counts from it. Null: there is none. */
export function nextDue(recurrence: Recurrence, afterMs: number, originMs: number): number | null {
  switch (recurrence.kind) {
    case 'at':
      return recurrence.atMs > afterMs ? recurrence.atMs : null;
    case 'every': {
      const passed = Math.floor((afterMs - originMs) / recurrence.everyMs);
      return originMs + Math.max(1, passed + 1) * recurrence.everyMs;
    }
    case 'cron': {
      const key = `${afterMs} ${recurrence.timezone} ${recurrence.cron}`;
      let due = kept.get(key);
      if (due === undefined) {
        due = nextOfCron(recurrence.cron, recurrence.timezone, afterMs);
        if (kept.size >= keptMax) kept.clear();
        kept.set(key, due);
      }
      return due;
    }
  }
}

function nextOfCron(cron: string, timezone: string, afterMs: number): number | null {
  const pattern = parseCron(cron);
  const zone = zoneNamed(timezone);
  // The configuration has been checked, but a stored recurrence may name a zone that this version of Node does not know.
  return typeof pattern === 'string' || !zone ? null : nextInstant(pattern, zone, afterMs);
}

export function isDue(recurrence: Recurrence, ms: number, originMs: number): boolean {
  return nextDue(recurrence, ms - 1, originMs) === ms;
}

/** The newest occurrence up to a time, given that there is one after `afterMs`. */
export function newestDue(recurrence: Recurrence, afterMs: number, untilMs: number, originMs: number): number {
  let low = afterMs;
  let high = untilMs;
  // `low` always has an occurrence after it that is not later than `untilMs`; `high` never has.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const due = nextDue(recurrence, middle, originMs);
    if (due !== null && due <= untilMs) low = due - 1;
    else high = middle;
  }
  return nextDue(recurrence, low, originMs)!;
}

/** The delay of an occurrence, up to `jitterMs`. It is the same each time. */
export function delayOf(id: string, dueMs: number, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  const hash = createHash('sha256').update(`${id}\0${dueMs}`).digest();
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * (jitterMs + 1));
}
