// The marks of cancelled runs, in memory and in the store.
import { expect, test } from 'vitest';
import { Cancels, type RunLookups } from '../../../../../actors/job/cancel/cancels.ts';
import type { Cancel } from '../../../../../actors/job/records/cancel.ts';
import { encodeRanges } from '../../../../../actors/job/records/tree.ts';
import { hasStarted } from '../../../../../actors/job/views/started-runs.ts';
import { blockOf, jobId, makeBlockKeys } from '../../../../../runtime/ids.ts';
import { WriteBatch } from '../../../../../runtime/store/batch.ts';
import { SetAside } from '../../../../../runtime/store/set-aside.ts';
import type { Turn } from '../../../../../runtime/turn.ts';
import { openMemoryStore } from '../../../../support/memory-store.ts';

const noRuns: RunLookups = {
  isOpen: () => false,
  callerOf: () => null,
  phaseOf: () => null,
  exemptSince: () => null,
  begun: () => null,
};

test('a second mark keeps the counts of the first, also in the store', () => {
  const store = openMemoryStore();
  const inTurn = (act: (turn: Turn) => void): void => {
    const batch = new WriteBatch();
    act({ batch } as unknown as Turn);
    store.commit(batch);
  };
  const run = jobId(makeBlockKeys(() => 1).next(1), 0);
  const byCaller: Cancel = { by: 'api', atUs: 1, reason: null, notStarted: { jobs: 0, elements: 0 } };
  const cancels = new Cancels(store, new SetAside(), noRuns);
  inTurn(turn => {
    cancels.mark(turn, run, byCaller);
    cancels.countNotStarted(run, 3, 5);
    cancels.close(turn);
  });
  inTurn(turn => {
    cancels.mark(turn, run, { ...byCaller, by: 'ops', atUs: 2 });
    cancels.close(turn);
  });
  const again = new Cancels(store, new SetAside(), noRuns);
  expect(again.own(run)).toEqual({ by: 'ops', atUs: 2, reason: null, notStarted: { jobs: 3, elements: 5 } });
  expect(cancels.own(run)).toEqual(again.own(run));
});

test('marks and detached cancels hold for a run whose block cannot be decoded: it counts as a root', () => {
  const store = openMemoryStore();
  const run = jobId(makeBlockKeys(() => 1).next(1), 0);
  const cancel: Cancel = { by: 'api', atUs: 1, reason: null, notStarted: { jobs: 0, elements: 0 } };
  const batch = new WriteBatch();
  batch.put('blocks', blockOf(run), Buffer.of(0x93));
  store.commit(batch);
  const setAside = new SetAside();
  const cancels = new Cancels(store, setAside, noRuns);
  const marking = new WriteBatch();
  cancels.mark({ batch: marking } as unknown as Turn, run, cancel);
  cancels.detach({ batch: marking } as unknown as Turn, run, cancel);
  store.commit(marking);
  for (const each of [cancels, new Cancels(store, setAside, noRuns)]) {
    expect([each.haveRunsIn(run), each.runs, each.around(run)]).toEqual([true, [run, run], run]);
    expect([each.detached.above(run), each.detached.coversEventsOf(run, run)]).toEqual([run, false]);
  }
  expect(setAside.has('blocks', blockOf(run))).toBe(true);
});

test('a run counts as started if an open record in its tree cannot be decoded', () => {
  const store = openMemoryStore();
  const keys = makeBlockKeys(() => 1);
  const run = jobId(keys.next(1), 0);
  const key = keys.next(2);
  const batch = new WriteBatch();
  batch.put('tree', Buffer.concat([run, key]), encodeRanges([0, 1]));
  batch.put('open', key, Buffer.of(0x93));
  store.commit(batch);
  expect(hasStarted(store, new SetAside(), new Map(), run)).toBe(true);
});
