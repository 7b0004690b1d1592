// The search against a naive matcher: whatever was logged and pruned, in whatever steps the index grew.

import { expect, test } from 'vitest';
import { JournalFollower } from '../../../actors/index/journal-follower.ts';
import { SearchIndex } from '../../../actors/index/search-index.ts';
import { openLists } from '../../../service/reads/lists.ts';
import type { LogPage } from '../../../service/reads/reads.ts';
import { cyclesOf } from '../../support/deep.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger, type NaiveLog } from './ledger.ts';
import { naiveMatch, term } from './naive.ts';
import { storages } from './storage.ts';
import { history, plugins, submitters } from './stories.ts';

function textsOf({ error, stderr, result }: NaiveLog): string[] {
  const texts = [error ?? '', stderr ?? ''];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, each] of Object.entries(value)) {
        texts.push(key);
        walk(each);
      }
    } else if (value !== null && value !== undefined) texts.push(String(value));
  };
  walk(result);
  return texts;
}

const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: null, freq: 1 });
const asked = fc.record({
  terms: fc.array(term, { minLength: 1, maxLength: 2 }),
  plugin: maybe(plugins),
  submittedBy: maybe(submitters),
  status: maybe(['succeeded', 'failed', 'dead', 'cancelled'] as const),
  limit: fc.integer({ min: 1, max: 5 }),
});

test.each(storages)(
  'a search finds exactly the logs that have all its words, newest first, with their total (%s)',
  async (_, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(asked, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('after each step', 'at the end', 'never', 'but for the last step'),
        async (steps, queries, indexed) => {
          const { store, index, close } = open();
          const ledger = new Ledger(store);
          const stores = { ledger: ledger.store, index };
          let feed = new JournalFollower(stores, [new SearchIndex(stores)]);
          const follow = () => {
            while (feed.take(ledger.journalUs));
            while (feed.prune());
          };
          for (const [n, step] of steps.entries()) {
            const takes =
              indexed === 'after each step' || (indexed === 'but for the last step' && n < steps.length - 1);
            if ('prune' in step) ledger.prune(step.prune);
            else ledger.add(step);
            if (!takes) continue;
            follow();
            // A new follower, as after a start.
            feed = new JournalFollower(stores, [new SearchIndex(stores)]);
          }
          // Pruned logs are removed from the index in any case, because lists do not have them either.
          if (indexed === 'at the end') follow();
          else while (feed.prune());
          const lists = openLists(ledger.store, () => index);
          for (const { terms, plugin, submittedBy, status, limit } of queries) {
            const query = terms.map(each => each.query).join(' ');
            const all = terms.flatMap(each => each.terms).filter(({ words }) => words.length > 0);
            const wanted = ledger.logs
              .toReversed()
              .filter(
                log =>
                  naiveMatch(textsOf(log), all) &&
                  (plugin ?? log.plugin) === log.plugin &&
                  (submittedBy ?? log.submittedBy) === log.submittedBy &&
                  (status ?? log.status) === log.status &&
                  (status !== null || !log.neverStarted),
              );
            const seen: string[] = [];
            for (let before: { atUs: number; place: number } | null = null; ; ) {
              const filter = { plugin, submittedBy, status, command: null, fromUs: null, toUs: null, jobId: null };
              const page: LogPage = await inSlices(lists.logs({ ...filter, query, limit, before }), () => {});
              expect({ query, total: page.total }).toEqual({ query, total: wanted.length });
              seen.push(...Array.from(page.logs, log => `${log.jobId}-${log.attempt}`));
              if (!page.next) break;
              before = page.next;
            }
            expect(seen).toEqual(wanted.map(log => log.logId));
          }
          close();
        },
      ),
      { numRuns },
    );
  },
);

test('no text is a syntax error', async () => {
  const ledger = new Ledger();
  ledger.add({
    plugin: 'a',
    command: 'b',
    submittedBy: 'c',
    jobs: [{ attempts: [{ status: 'failed', error: 'x y' }], end: 'over' }],
  });
  const index = openMemoryIndex();
  const stores = { ledger: ledger.store, index };
  const feed = new JournalFollower(stores, [new SearchIndex(stores)]);
  while (feed.take(ledger.journalUs));
  const lists = openLists(ledger.store, () => index);
  const none = { plugin: null, submittedBy: null, status: null, command: null, fromUs: null, toUs: null, jobId: null };
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async query => {
      const { total } = await inSlices(lists.logs({ ...none, query, limit: 1, before: null }), () => {});
      expect(total).toBeLessThanOrEqual(1);
    }),
    { numRuns: cyclesOf({ deep: 1_000, quick: 200 }) },
  );
});
