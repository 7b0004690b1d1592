// Decides which due occurrences of a schedule fire and which do not. The decision depends only on a `PlanInput`.
import type { ScheduleDefinition } from '../../config/config.ts';
import { delayOf, newestDue, nextDue } from '../../runtime/calendar/recurrence.ts';
import type { ScheduleRecord } from './records/schedule.ts';

/** An occurrence that is late by more than this counts as missed. */
export const onTimeMsMax = 5_000;
/** Missed occurrences are counted up to this number. */
export const missedMax = 1_000;
/** With `catch_up: run_all`, at most this many of the newest missed occurrences fire. */
export const runAllMax = 100;

/** Consecutive occurrences that do not fire. `count` is at most `missedMax`. */
export type Passed = { readonly firstMs: number; readonly lastMs: number; readonly count: number };
/** `runs`: the occurrences to fire. `passed`: earlier ones that do not fire. `examined`: how many due occurrences were examined. */
export type FiringPlan = {
  readonly runs: readonly number[];
  readonly passed: Passed | null;
  readonly examined: number;
};

export type PlanInput = {
  readonly definition: Pick<ScheduleDefinition, 'id' | 'jitterMs' | 'catchUp' | 'catchUpWithinMs'>;
  readonly record: Pick<ScheduleRecord, 'recurrence' | 'originMs' | 'lastDueMs'>;
  /** The time, in ms, since which the service has been up and the schedule has been able to fire. */
  readonly liveMs: number;
  readonly nowMs: number;
};

/** Null: no occurrence is due. */
export function planOf(input: PlanInput): FiringPlan | null {
  const { definition, liveMs, nowMs } = input;
  const { dues, firstMs, count } = pendingOf(input);
  if (dues.length === 0) return null;
  // All occurrences after the first one that is on time are on time, too: a later occurrence has a later time to fire, because the jitter is
  // shorter than the time between two occurrences.
  const first = dues.findIndex(due => {
    const fireMs = fireTime(input, due);
    return fireMs >= liveMs && nowMs - fireMs <= onTimeMsMax;
  });
  const missed = first < 0 ? dues : dues.slice(0, first);
  const onTime = first < 0 ? [] : dues.slice(first);
  const runs = [...madeUp(definition, missed, onTime.length > 0, nowMs), ...onTime];
  const passed = count - runs.length;
  const lastMs = dues[dues.length - runs.length - 1] ?? firstMs;
  return { runs, passed: passed > 0 ? { firstMs, lastMs, count: passed } : null, examined: dues.length };
}

/** When the first occurrence after `lastDueMs` fires, including its jitter. Null: there is no later occurrence. */
export function nextFireTime(input: Omit<PlanInput, 'liveMs' | 'nowMs'>): number | null {
  const { recurrence, originMs, lastDueMs } = input.record;
  const due = nextDue(recurrence, lastDueMs, originMs);
  return due === null ? null : fireTime(input, due);
}

/** When the occurrence that is due at `dueMs` fires: its due time plus its delay by jitter. */
export function fireTime({ definition }: Pick<PlanInput, 'definition'>, dueMs: number): number {
  return dueMs + delayOf(definition.id, dueMs, definition.jitterMs);
}

/** The missed occurrences that still fire, according to `catch_up` and `catch_up_within`. */
function madeUp(
  { catchUp, catchUpWithinMs }: PlanInput['definition'],
  missed: readonly number[],
  isOneOnTime: boolean,
  nowMs: number,
): readonly number[] {
  const recent = missed.filter(due => nowMs - due <= catchUpWithinMs);
  switch (catchUp) {
    case 'skip':
      return [];
    case 'run_once':
      return isOneOnTime ? [] : recent.slice(-1);
    case 'run_all':
      return recent.slice(-runAllMax);
  }
}

type Pending = {
  /** The newest pending occurrences, oldest first, at most `missedMax`. */
  readonly dues: readonly number[];
  /** The oldest pending occurrence. */
  readonly firstMs: number;
  /** The number of pending occurrences, counted up to `missedMax`. */
  readonly count: number;
};

/** The occurrences after `lastDueMs` whose time to fire has come. */
function pendingOf(input: PlanInput): Pending {
  const { definition, record, nowMs } = input;
  const { recurrence, originMs, lastDueMs } = record;
  const dues: number[] = [];
  let due = nextDue(recurrence, lastDueMs, originMs);
  for (; due !== null && fireTime(input, due) <= nowMs; due = nextDue(recurrence, due, originMs)) {
    if (dues.length === missedMax) {
      const newest = newestDue(recurrence, due - 1, Math.max(due, nowMs - definition.jitterMs), originMs);
      const spanMs = dues.at(-1)! - dues[0]!;
      return { dues: latest(input, dues.at(-1)!, newest, spanMs), firstMs: dues[0]!, count: missedMax };
    }
    dues.push(due);
  }
  return { dues, firstMs: dues[0] ?? 0, count: dues.length };
}

/**
 * The newest occurrences after `afterMs` and up to `newestMs`, at most `missedMax`: all occurrences in a window that
 * ends at `newestMs`. The window has the length `spanMs` at first, and is halved until it contains no more than
 * `missedMax` occurrences.
 */
function latest({ record }: PlanInput, afterMs: number, newestMs: number, spanMs: number): readonly number[] {
  const { recurrence, originMs } = record;
  for (let windowMs = spanMs; ; windowMs /= 2) {
    const dues: number[] = [];
    let due = nextDue(recurrence, Math.min(newestMs - 1, Math.max(afterMs, Math.floor(newestMs - windowMs))), originMs);
    for (; due !== null && due <= newestMs && dues.length <= missedMax; due = nextDue(recurrence, due, originMs))
      dues.push(due);
    if (dues.length <= missedMax) return dues;
  }
}
