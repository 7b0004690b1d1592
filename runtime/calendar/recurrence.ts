// Computes when a schedule is due, and by how much jitter delays each occurrence. Times are in ms since the epoch.
import { createHash } from 'node:crypto';
import { parseCron } from './cron.ts';
import { nextInstant } from './instants.ts';
import { zoneNamed } from './zone.ts';

export type Recurrence =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number }
  | { readonly kind: 'at'; readonly atMs: number };

/** Two recurrences with the same text have the same occurrences for the same `originMs`. */
export function recurrenceText(recurrence: Recurrence): string {
  if (recurrence.kind === 'cron') return `cron ${recurrence.cron} ${recurrence.timezone}`;
  return recurrence.kind === 'every' ? `every ${recurrence.everyMs}` : `at ${recurrence.atMs}`;
}

/** The maximum number of results for cron expressions that are kept for reuse. Often many schedules have the same expression. */
const keptMax = 4_096;
const kept = new Map<string, number | null>();

/**
 * Returns the first occurrence after `afterMs`; null if there is none. The first occurrence of `every` is one interval after `originMs`.
 */
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

/** Returns the last occurrence after `afterMs` and up to `untilMs`. Such an occurrence must exist. */
export function newestDue(recurrence: Recurrence, afterMs: number, untilMs: number, originMs: number): number {
  let low = afterMs;
  let high = untilMs;
  // There is always an occurrence after `low` and up to `untilMs`, and never one after `high` and up to `untilMs`.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const due = nextDue(recurrence, middle, originMs);
    if (due !== null && due <= untilMs) low = due - 1;
    else high = middle;
  }
  return nextDue(recurrence, low, originMs)!;
}

/** Computes the delay of an occurrence, from 0 to `jitterMs`. The same `id` and `dueMs` always give the same delay. */
export function delayOf(id: string, dueMs: number, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  const hash = createHash('sha256').update(`${id}\0${dueMs}`).digest();
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * (jitterMs + 1));
}
