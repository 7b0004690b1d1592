// The ranges of occurrences that have fired: a schedule keeps the newest of them.
import { expect, test } from 'vitest';
import { Firer, type FiringPorts } from '../../../../actors/schedule/firer.ts';
import { OpenSchedule } from '../../../../actors/schedule/open-schedule.ts';
import {
  type FiredRange,
  firedKey,
  firedRanges,
  hasFired,
  putFired,
  rangesMax,
} from '../../../../actors/schedule/records/fired.ts';
import type { ScheduleRecord } from '../../../../actors/schedule/records/schedule.ts';
import { SetAside } from '../../../../runtime/store/set-aside.ts';
import type { Turn } from '../../../../runtime/turn.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

const hourMs = 3_600_000;
const id = 'hourly';
const recurrence = { kind: 'every', everyMs: hourMs } as const;

function rangeAt(n: number): FiredRange {
  return { firstMs: n * hourMs, lastMs: n * hourMs + 1, count: 1, recurrence, originMs: 0 };
}

/** A schedule with `count` ranges of fired occurrences in its store. It was created before the range with the number `created`. */
function scheduleWith(count: number, created = 0) {
  const store = openMemoryStore();
  const batch = store.batch();
  for (let n = created; n < created + count; n++) putFired(batch, id, rangeAt(n));
  store.commit(batch);
  const schedule = new OpenSchedule(id, {
    createdMs: created * hourMs - 1,
    knownMs: 0,
    queue: [],
  } as unknown as ScheduleRecord);
  schedule.ranges = count;
  const firer = new Firer({ reader: store, setAside: new SetAside() } as unknown as FiringPorts);
  return {
    schedule,
    store,
    /** Adds ranges in one turn. */
    add(first: number, added: number): readonly number[] {
      const turn = { batch: store.batch() } as unknown as Turn;
      for (let n = first; n < first + added; n++) firer.addRange(turn, schedule, rangeAt(n));
      store.commit(turn.batch);
      firer.close();
      return Array.from(firedRanges(store, id), ({ firstMs }) => firstMs / hourMs);
    },
  };
}

test.each([1, 2, 5])('%i ranges that one turn adds beyond the limit push out as many of the oldest', added => {
  const { schedule, add } = scheduleWith(rangesMax);
  const kept = add(rangesMax, added);
  expect([kept.length, kept[0], schedule.ranges]).toEqual([rangesMax, added, rangesMax]);
  expect(schedule.record.knownMs).toBe(rangeAt(added - 1).lastMs);
});

test('ranges before the creation of the schedule, which backfills have added, are kept, and push out later ones', () => {
  const { schedule, store, add } = scheduleWith(rangesMax, 10);
  for (const n of [2, 3, 4]) add(n, 1);
  const fired = [1, 2, 3, 4, 5].filter(n => hasFired(schedule.record, firedRanges(store, id), n * hourMs));
  expect(fired).toEqual([2, 3, 4]);
  expect([schedule.ranges, schedule.record.knownMs]).toEqual([rangesMax, rangeAt(12).lastMs]);
});

test('if all ranges are before the creation of the schedule, the oldest of them are pushed out', () => {
  const { schedule, add } = scheduleWith(0, 2 * rangesMax);
  add(0, rangesMax);
  const kept = add(rangesMax, 2);
  expect([kept.length, kept[0], schedule.ranges]).toEqual([rangesMax, 2, rangesMax]);
});

test('a range that cannot be decoded is pushed out like any other', () => {
  const { schedule, store, add } = scheduleWith(rangesMax);
  const batch = store.batch();
  batch.put('fired', firedKey(id, rangeAt(0).firstMs), Buffer.of(0x93));
  store.commit(batch);
  expect(add(rangesMax, 1)).toHaveLength(rangesMax);
  expect([schedule.ranges, schedule.record.knownMs]).toEqual([rangesMax, rangeAt(0).firstMs]);
});

test('a schedule with too many ranges has as many as it may have after the next one, and then keeps them', () => {
  const { schedule, add } = scheduleWith(rangesMax + 3);
  expect(add(rangesMax + 3, 1)).toHaveLength(rangesMax);
  expect(add(rangesMax + 4, 1)).toHaveLength(rangesMax);
  expect([schedule.ranges, schedule.record.knownMs]).toEqual([rangesMax, rangeAt(4).lastMs]);
});

test('occurrences count as fired if a range has them, if they wait in the queue, or if their range was dropped', () => {
  const record = { createdMs: hourMs, knownMs: 3 * hourMs, queue: [{ dueMs: 9 * hourMs, job: null }] };
  const fired = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter(n => hasFired(record, [rangeAt(5), rangeAt(7)], n * hourMs));
  expect(fired).toEqual([2, 3, 5, 7, 9]);
});
