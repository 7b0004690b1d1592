// Schedules in the form that the API shows: the definition from the configuration, and the record from the store. Times are ms since
// the epoch.
import type { ScheduleDefinition } from '../../../config/config.ts';
import { delayOf, nextDue } from '../../../runtime/calendar/recurrence.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import {
  type Firing,
  readSchedule,
  type SchedulePause,
  type ScheduleRecord,
  scheduleIdOf,
} from '../records/schedule.ts';

/** `finished`: no occurrence is left. `removed`: the configuration does not have the schedule. */
export const scheduleStates = ['active', 'paused', 'disabled', 'finished', 'removed'] as const;
export type ScheduleState = (typeof scheduleStates)[number];

/** The maximum number of next occurrences that are shown. */
export const nextShown = 5;

export type ScheduleView = {
  readonly id: string;
  readonly state: ScheduleState;
  readonly definition: ScheduleDefinition | null;
  /** Null: the ledger has not written a record of the schedule yet, or the record is unusable. */
  readonly record: ScheduleRecord | null;
  /** The next occurrences, at most `nextShown`. Empty unless the state is `active`. */
  readonly next: readonly number[];
  /** When the first occurrence of `next` fires, including its jitter. Null: `next` is empty. */
  readonly nextFireMs: number | null;
};

export function viewSchedule(reader: Reader, definition: ScheduleDefinition, nowMs: number): ScheduleView {
  const { id } = definition;
  const record = readSchedule(reader, id) ?? null;
  const next = nextOf(definition, record, nowMs);
  const state = stateOf(definition, record, next);
  const shown = state === 'active' ? next : [];
  const nextFireMs = shown[0] === undefined ? null : shown[0] + delayOf(id, shown[0], definition.jitterMs);
  return { id, state, definition, record, next: shown, nextFireMs };
}

function stateOf(
  { enabled }: ScheduleDefinition,
  record: ScheduleRecord | null,
  next: readonly number[],
): ScheduleState {
  if (!enabled) return 'disabled';
  if (record?.pause) return 'paused';
  return next.length === 0 ? 'finished' : 'active';
}

/** The next occurrences to fire. The first one may be due already, if its delay by jitter has not ended. */
function nextOf(definition: ScheduleDefinition, record: ScheduleRecord | null, nowMs: number): readonly number[] {
  const { id, recurrence, jitterMs } = definition;
  const next: number[] = [];
  const originMs = record?.originMs ?? nowMs;
  let due = nextDue(recurrence, Math.max(nowMs - jitterMs, record?.lastDueMs ?? nowMs), originMs);
  for (; due !== null && next.length < nextShown; due = nextDue(recurrence, due, originMs))
    if (due + delayOf(id, due, jitterMs) > nowMs) next.push(due);
  return next;
}

export type PausedSchedule = { readonly id: string; readonly pause: SchedulePause };

/** The configured schedules that are paused. */
export function* pausedSchedules(
  reader: Reader,
  definitions: readonly Pick<ScheduleDefinition, 'id'>[],
): Sliced<readonly PausedSchedule[]> {
  const paused: PausedSchedule[] = [];
  for (const { id } of definitions) {
    const pause = readSchedule(reader, id)?.pause;
    if (pause) paused.push({ id, pause });
    yield;
  }
  return paused;
}

/** The ids of the schedules that have a record in the store but are not configured. `defined`: the ids of the configured schedules. */
export function removedIds(reader: Reader, defined: ReadonlySet<string>): readonly string[] {
  return Array.from(reader.keys('schedules', {}), scheduleIdOf).filter(id => !defined.has(id));
}

/** The schedules that have a usable record in the store but are not configured. */
export function removedSchedules(reader: Reader, defined: ReadonlySet<string>): readonly ScheduleView[] {
  return removedIds(reader, defined).flatMap(id => viewRemoved(reader, id) ?? []);
}

/** A schedule that the configuration does not have. Undefined: the store has no usable record of it. */
export function viewRemoved(reader: Reader, id: string): ScheduleView | undefined {
  const record = readSchedule(reader, id);
  return record && { id, state: 'removed', definition: null, record, next: [], nextFireMs: null };
}

/**
 * How long after its due time plus its jitter an occurrence fired, in ms. Firings of earlier versions are measured with the present jitter.
 * Null: the job was started by hand, or an earlier version fired the occurrence and the configuration does not have the schedule.
 */
export function latenessOf(
  id: string,
  { dueMs, firedMs, lateMs }: Extract<Firing, { kind: 'fired' }>,
  definition: Pick<ScheduleDefinition, 'jitterMs'> | null,
): number | null {
  if (lateMs !== undefined) return lateMs;
  if (dueMs === null || definition === null) return null;
  return Math.max(0, firedMs - dueMs - delayOf(id, dueMs, definition.jitterMs));
}
