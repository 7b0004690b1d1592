// Loads schedules from the store on startup, and applies a configuration to them on startup and on each reload.
import type { Config } from '../../config/config.ts';
import { recurrenceText } from '../../runtime/calendar/recurrence.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { OpenSchedule } from './open-schedule.ts';
import { readFiredKey } from './records/fired.ts';
import { decodeSchedule, type ScheduleRecord, scheduleIdOf } from './records/schedule.ts';

/** The schedules that have a usable record in the store, by id. */
export function loadSchedules(reader: Reader, setAside: SetAside): Map<string, OpenSchedule> {
  const schedules = new Map<string, OpenSchedule>();
  for (const { key, value } of reader.scan('schedules', {})) {
    const own = Buffer.from(key);
    const record = setAside.read('schedules', own, () => decodeSchedule(Buffer.from(value)));
    const id = scheduleIdOf(own);
    if (record) schedules.set(id, new OpenSchedule(id, record));
  }
  if (schedules.size > 0) {
    for (const key of reader.keys('fired', {})) {
      const schedule = schedules.get(readFiredKey(key).id);
      if (schedule) schedule.ranges++;
    }
  }
  return schedules;
}

/** A schedule whose record or jitter has changed, and the occurrences without a job that were dropped from its queue. */
export type Reconciled = { readonly schedule: OpenSchedule; readonly dropped: readonly number[] };

/**
 * Applies a configuration. An enabled schedule that is new, was off, or has a changed recurrence starts afresh: its occurrences up to
 * `nowMs` count as past (`lastDueMs`). Any other enabled schedule that was just loaded from the store has been able to fire since `liveMs`.
 */
export function reconcile(
  schedules: Map<string, OpenSchedule>,
  { schedules: definitions }: Config,
  nowMs: number,
  liveMs: number,
): readonly Reconciled[] {
  const changed: Reconciled[] = [];
  const defined = new Set<string>();
  for (const definition of definitions) {
    const { id, recurrence, enabled } = definition;
    defined.add(id);
    let schedule = schedules.get(id);
    const isNew = schedule === undefined;
    if (!schedule) {
      schedule = new OpenSchedule(id, newRecord(definition, nowMs));
      schedules.set(id, schedule);
    }
    const before = schedule.definition;
    schedule.define(definition);
    const { record } = schedule;
    const isSame = recurrenceText(record.recurrence) === recurrenceText(recurrence);
    if (!isNew && enabled && isSame && record.offMs === null) {
      if (!before) schedule.liveMs = liveMs;
      else if (before.jitterMs !== definition.jitterMs) changed.push({ schedule, dropped: [] });
      continue;
    }
    if (!enabled) {
      const isNews = record.offMs === null || record.removedMs !== null;
      if (isNews) changed.push({ schedule, dropped: switchOff(schedule, nowMs, null) });
      continue;
    }
    schedule.liveMs = nowMs;
    schedule.refused = null;
    const originMs = isSame ? record.originMs : nowMs;
    const lastDueMs = Math.max(record.lastDueMs, nowMs);
    schedule.change({ recurrence, originMs, lastDueMs, offMs: null, removedMs: null });
    changed.push({ schedule, dropped: [] });
  }
  for (const schedule of schedules.values()) {
    if (defined.has(schedule.id)) continue;
    schedule.define(null);
    if (schedule.record.removedMs === null) changed.push({ schedule, dropped: switchOff(schedule, nowMs, nowMs) });
  }
  return changed;
}

function newRecord({ recurrence }: Config['schedules'][number], nowMs: number): ScheduleRecord {
  return {
    recurrence,
    createdMs: nowMs,
    originMs: nowMs,
    lastDueMs: nowMs,
    last: null,
    isRunning: false,
    failures: 0,
    pause: null,
    queue: [],
    offMs: null,
    removedMs: null,
    rangeMs: null,
    knownMs: 0,
    history: [],
  };
}

/** Switches the schedule off. Drops the occurrences without a job from its queue, and returns them. */
function switchOff(schedule: OpenSchedule, nowMs: number, removedMs: number | null): readonly number[] {
  const { queue, offMs } = schedule.record;
  schedule.refused = null;
  schedule.change({ offMs: offMs ?? nowMs, removedMs, queue: queue.filter(({ job }) => job !== null) });
  return queue.flatMap(({ dueMs, job }) => (job === null ? [dueMs] : []));
}

/** The schedules that left the configuration before this time. */
export function removedFor(schedules: ReadonlyMap<string, OpenSchedule>, beforeMs: number): OpenSchedule[] {
  return [...schedules.values()].filter(({ record }) => record.removedMs !== null && record.removedMs < beforeMs);
}
