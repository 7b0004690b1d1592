// Invariants of schedules. No fired occurrence is later than the schedule's `lastDueMs`, no occurrence has fired twice,
// and the queue is in order and has at most `queueMax` occurrences. A record in `fired` stands for a range of occurrences.
// The record that the next firing may extend (`rangeMs`) exists, unless it was dropped.
import { recurrenceText } from '../../../runtime/calendar/recurrence.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Invariant } from '../../job/views/invariant.ts';
import { decodeFired, firedRanges, readFired, readFiredKey } from '../records/fired.ts';
import { decodeSchedule, queueMax, readSchedule, scheduleIdOf, textOf } from '../records/schedule.ts';

export function scheduleInvariants(reader: Reader): readonly Invariant[] {
  return [
    { name: 'schedules_wait_in_order', table: 'schedules', wrong: queueIsInOrder },
    { name: 'fired_occurrences_are_past', table: 'fired', wrong: firedIsPast },
    { name: 'fired_occurrences_fire_once', table: 'fired', wrong: firesOnce },
    { name: 'schedules_continue_their_range', table: 'schedules', wrong: rangeExists },
  ];

  function queueIsInOrder(key: Uint8Array, value: Uint8Array): string | null {
    const { queue, lastDueMs } = decodeSchedule(value);
    const id = scheduleIdOf(key);
    if (queue.length > queueMax)
      return `the schedule ${id} has ${queue.length} waiting occurrences; it may have ${queueMax}`;
    const isInOrder = queue.every(
      ({ dueMs }, index) => dueMs <= lastDueMs && (index === 0 || dueMs > queue[index - 1]!.dueMs),
    );
    return isInOrder ? null : `the waiting occurrences of the schedule ${id} are not in order`;
  }

  function firedIsPast(key: Uint8Array, value: Uint8Array): string | null {
    const { id, firstMs } = readFiredKey(key);
    const { lastMs, count } = decodeFired(firstMs, value);
    const record = readSchedule(reader, id);
    if (!record) return `occurrences of the schedule ${id} have fired, but it has no usable record`;
    if (lastMs > record.lastDueMs)
      return `the schedule ${id} has fired for ${textOf(lastMs)}, but its last occurrence is ${textOf(record.lastDueMs)}`;
    return lastMs < firstMs || count < 1 || (count === 1) !== (lastMs === firstMs)
      ? `the schedule ${id} has fired ${count} times from ${textOf(firstMs)} to ${textOf(lastMs)}`
      : null;
  }

  function firesOnce(key: Uint8Array, value: Uint8Array): string | null {
    const { id, firstMs } = readFiredKey(key);
    const { lastMs, recurrence, originMs } = decodeFired(firstMs, value);
    for (const other of firedRanges(reader, id, lastMs + 1)) {
      const isSame = recurrenceText(other.recurrence) === recurrenceText(recurrence) && other.originMs === originMs;
      if (other.firstMs > firstMs && isSame) return `the schedule ${id} has fired twice for ${textOf(other.firstMs)}`;
    }
    return null;
  }

  function rangeExists(key: Uint8Array, value: Uint8Array): string | null {
    const id = scheduleIdOf(key);
    const { rangeMs, knownMs } = decodeSchedule(value);
    if (rangeMs === null || rangeMs <= knownMs || readFired(reader, id, rangeMs)) return null;
    return `the schedule ${id} continues a range of firings that has no record`;
  }
}
