// The marks of cancelled runs, in memory and in the store.
import { expect, test } from 'vitest';
import { Cancels, type RunLookups } from '../../../../../actors/job/cancel/cancels.ts';
import type { Cancel } from '../../../../../actors/job/records/cancel.ts';
import { jobId, makeBlockKeys } from '../../../../../runtime/ids.ts';
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
