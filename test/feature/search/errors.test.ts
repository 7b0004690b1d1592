// Jobs by the words of their last error, against a naive matcher: by the index, by the walk through what did not succeed, and both.
import { expect, test } from 'vitest';
import { JournalFollower } from '../../../actors/index/journal-follower.ts';
import { parseQuery } from '../../../actors/index/records/words.ts';
import { SearchIndex } from '../../../actors/index/search-index.ts';
import { jobsWithWords } from '../../../actors/index/views/jobs-with-words.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import type { JobPage } from '../../../actors/job/views/job-page.ts';
import { entryFilter } from '../../../actors/job/views/log-listing.ts';
import { formatId, type JobId } from '../../../runtime/ids.ts';
import { candidatesMax, listByError } from '../../../service/reads/error-list.ts';
import { cyclesOf } from '../../support/deep.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger, type NaiveJob } from './ledger.ts';
import { naiveMatch, term } from './naive.ts';
import { commands, history, plugins } from './stories.ts';

const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: null });
const asked = fc.record({
  term,
  plugin: maybe([...plugins, 'nobody']),
  command: maybe(commands),
  status: maybe(['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const),
  limit: fc.integer({ min: 1, max: 5 }),
  namedMax: fc.constantFrom(0, 2, candidatesMax),
});

/** The error of the latest attempt, unless that succeeded. */
function lastError(ledger: Ledger, { id }: NaiveJob): string | null {
  const last = ledger.logs.filter(log => log.jobId === id).at(-1);
  return last === undefined || last.status === 'succeeded' ? null : (last.error ?? null);
}

test('more jobs than may be named are named by nobody, also while the index knows none of their logs', async () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const job = { attempts: [{ status: 'failed', error: 'no route' }], end: 'over' } as const;
  ledger.add({ plugin: 'p', command: 'c', submittedBy: 'api:one', jobs: Array.from({ length: 3 }, () => job) });
  const filter = { plugin: null, command: null, status: null, submittedBy: null, fromUs: null, toUs: null };
  const entries = entryFilter(new NameTable(ledger.store), filter)!;
  const named = (max: number) =>
    inSlices(jobsWithWords(ledger.store, index, entries, parseQuery('route'), max), () => {});
  expect((await named(3))?.ids).toHaveLength(3);
  expect(await named(2)).toBeNull();
});

test('a search by error finds exactly the jobs whose last error has all its words, newest first, with their total', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.array(asked, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      async (steps, queries, some) => {
        const ledger = new Ledger();
        const index = openMemoryIndex();
        const stores = { ledger: ledger.store, index };
        const feed = new JournalFollower(stores, [new SearchIndex(stores)]);
        for (const [n, step] of steps.entries()) {
          if ('prune' in step) ledger.prune(step.prune);
          else ledger.add(step);
          // Later steps are only in the journal.
          if (n < some % (steps.length + 1)) while (feed.take(ledger.journalUs));
        }
        while (feed.prune());
        for (const { term, limit, namedMax, ...filter } of queries) {
          const terms = term.terms.filter(({ words }) => words.length > 0);
          const wanted = ledger.jobs
            .toSorted((a, b) => (a.id < b.id ? 1 : -1))
            .filter(job => {
              const error = lastError(ledger, job);
              return (
                error !== null &&
                naiveMatch([error], terms) &&
                (filter.plugin ?? job.plugin) === job.plugin &&
                (filter.command ?? job.command) === job.command &&
                (filter.status ?? job.status) === job.status
              );
            });
          const seen: string[] = [];
          for (let before: JobId | undefined; ; ) {
            const search = { filter: { ...filter, within: [] }, error: term.query, limit };
            const names = new NameTable(ledger.store);
            const page: JobPage = await inSlices(
              listByError(ledger.store, () => index, names, search, before, namedMax),
              () => {},
            );
            expect({ query: term.query, total: page.total }).toEqual({ query: term.query, total: wanted.length });
            expect(page.atLeast).toBe(false);
            seen.push(...page.rows.map(({ id, status }) => `${formatId(id)} ${status}`));
            if (!page.more) break;
            before = page.rows.at(-1)!.id;
          }
          expect(seen).toEqual(wanted.map(({ id, status }) => `${id} ${status}`));
        }
      },
    ),
    { numRuns: cyclesOf({ deep: 100, quick: 30 }) },
  );
});
