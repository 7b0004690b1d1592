// How many jobs settled in each minute: what is read beside an unusable record.
import { expect, test } from 'vitest';
import { usKey } from '../../../../actors/job/records/journal.ts';
import { MinuteCounters, settledRecently, settledSince } from '../../../../actors/job/records/minute-counters.ts';
import { WriteBatch } from '../../../../runtime/store/batch.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

const minuteUs = 60_000_000;

test('a minute with an unusable record is left out, and the others count', () => {
  const store = openMemoryStore();
  const counters = new MinuteCounters(store);
  const inTurn = (act: (batch: WriteBatch) => void): void => {
    const batch = new WriteBatch();
    act(batch);
    store.commit(batch);
  };
  for (const minute of [100, 101, 102]) {
    inTurn(batch => {
      counters.settled('succeeded', minute * minuteUs);
      counters.settled('failed', minute * minuteUs);
      counters.close(batch);
    });
  }
  inTurn(batch => batch.put('minutes', usKey(101 * minuteUs), Buffer.of(0x93)));
  expect(Array.from(settledSince(store, 100), ({ minute }) => minute)).toEqual([100, 102]);
  expect(settledRecently(store, 102 * minuteUs)).toMatchObject({ succeeded: 2, failed: 2 });
});
