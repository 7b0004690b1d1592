// What retention leaves alone, though it is old: what something else is still to read.
import { expect, it } from 'vitest';
import { parseId } from '../../runtime/ids.ts';
import { packedEmpty } from '../../runtime/packing.ts';
import { Ledger } from '../search/ledger.ts';

const succeeded = { attempts: [{ status: 'succeeded' }], end: 'over' } as const;

it('spares a job whose events are still taken out of its record, until none is left', () => {
  const ledger = new Ledger();
  const { store } = ledger;
  const kept = () => [store.count('blocks'), store.count('attempts')];
  for (const command of ['flood', 'poll']) {
    ledger.add({ plugin: 'news', command, submittedBy: 'api', jobs: [succeeded, succeeded] });
  }
  const flood = parseId(ledger.jobs[1]!.id)!;
  const taking = store.batch();
  taking.put('emissions', flood, packedEmpty);
  store.commit(taking);
  ledger.prune(0);
  expect(kept()).toEqual([1, 1]);
  const taken = store.batch();
  taken.remove('emissions', flood);
  store.commit(taken);
  ledger.prune(0);
  expect(kept()).toEqual([0, 0]);
});
