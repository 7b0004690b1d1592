// The feed: each consumer gets each entry once, in order, however many of them it takes at a time.
import { expect, it } from 'vitest';
import type { JournalConsumer } from '../../../actors/index/consumer.ts';
import { FailureIndex } from '../../../actors/index/failure-index.ts';
import { JournalFollower } from '../../../actors/index/journal-follower.ts';
import { SearchIndex } from '../../../actors/index/search-index.ts';
import { listFailures } from '../../../actors/index/views/failures.ts';
import { untilTaken } from '../../../actors/index/views/lag.ts';
import { pruneMarkRecord } from '../../../actors/job/records/journal.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger } from './ledger.ts';

const commitsOf = [3, 1, 20, 5];

function consumer(name: string, entriesMax: number): JournalConsumer & { readonly taken: string[] } {
  const taken: string[] = [];
  return {
    name,
    taken,
    take(entries) {
      const some = entries.slice(0, entriesMax);
      taken.push(...some.map(({ atUs, place }) => `${atUs} ${place}`));
      return some.length;
    },
  };
}

it.each([
  [1, 7],
  [7, 1],
  [2, 1_000],
  [1_000, 3],
  [1_000, 1_000],
])('consumers that take %d and %d entries at a time miss none and get none twice', (one, other) => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const stores = { ledger: ledger.store, index };
  const consumers = [consumer('one', one), consumer('other', other)];
  const attempts = [{ status: 'failed' as const, error: 'no' }];
  for (const [n, count] of commitsOf.entries()) {
    const jobs = Array.from({ length: count }, () => ({ attempts, end: 'over' as const }));
    ledger.add({ plugin: 'p', command: 'c', submittedBy: 'api:one', jobs });
    // In one step, the first consumer is missing, as a newly named one would be.
    const feed = new JournalFollower(stores, n === 1 ? consumers.slice(1) : consumers);
    while (feed.take(ledger.journalUs));
  }
  const all = ledger.logs.map(({ atUs }, i, logs) => `${atUs} ${i - logs.findIndex(log => log.atUs === atUs)}`);
  for (const { taken } of consumers) expect(taken).toEqual(all);
});

it('who waits for a consumer goes on when it has taken what had ended, or when it may wait no longer', async () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const feed = new JournalFollower({ ledger: ledger.store, index }, [consumer('one', 1)]);
  const end = () => {
    const jobs = [{ attempts: [{ status: 'failed' as const, error: 'no' }], end: 'over' as const }];
    ledger.add({ plugin: 'p', command: 'c', submittedBy: 'api:one', jobs });
  };
  await untilTaken(ledger.store, index, 'one', () => true);
  end();
  let goesOn = false;
  let looks = 0;
  const waiting = untilTaken(ledger.store, index, 'one', () => true).then(() => {
    goesOn = true;
  });
  await untilTaken(ledger.store, index, 'one', () => ++looks < 3);
  expect(goesOn).toBe(false);
  while (feed.take(ledger.journalUs));
  end();
  await waiting;
});

/** A ledger with failed jobs, one block of them for each number, and an index that has taken them. */
function failed(...blocks: readonly number[]) {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  for (const [n, count] of blocks.entries()) {
    const attempts = [{ status: 'failed' as const, error: 'abcdef'[n % 6]!.repeat(5) }];
    const jobs = Array.from({ length: count }, () => ({ attempts, end: 'over' as const }));
    ledger.add({ plugin: 'p', command: 'c', submittedBy: 'api:one', jobs });
  }
  const stores = { ledger: ledger.store, index };
  const feed = new JournalFollower(stores, [new SearchIndex(stores), new FailureIndex(stores)]);
  while (feed.take(ledger.journalUs));
  return { ledger, index, feed };
}

it('what is pruned while a consumer is on its way through the index is removed by its next lap', async () => {
  const { ledger, index, feed } = failed(1, 1, 1, 1);
  ledger.prune(3);
  expect(feed.prune()).toBe(true);
  ledger.prune(1);
  for (let lap = 0; lap < 2; lap++) while (feed.prune());
  const asked = { plugin: null, command: null, fromUs: null, toUs: null };
  const { groups } = await inSlices(listFailures(index, asked, 10, null), () => {});
  expect(groups.map(({ count, pattern }) => [count, pattern])).toEqual([[1, 'ddddd']]);
});

it('pruning ends, however differently long the laps of the consumers are', () => {
  const { ledger, feed } = failed(...Array.from({ length: 9 }, () => 1_000));
  const batch = ledger.store.batch();
  batch.put('meta', ...pruneMarkRecord({ upToUs: ledger.journalUs, number: 1 }));
  ledger.store.commit(batch);
  let calls = 1;
  while (feed.prune() && calls < 50) calls++;
  expect(calls).toBeLessThan(10);
});
