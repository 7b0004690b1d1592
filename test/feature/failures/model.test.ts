// Groups of failed jobs against a naive model, whatever was accepted, indexed and pruned: the groups, the jobs of each, and the groups
// of an index that is built again.
import { expect, test } from 'vitest';
import { FailureIndex } from '../../../actors/index/failure-index.ts';
import { JournalFollower } from '../../../actors/index/journal-follower.ts';
import { failureGroupsMax, failurePageRecords, failureTrialShare } from '../../../actors/index/records/failures.ts';
import { fingerprintOf, patternOf } from '../../../actors/index/records/fingerprint.ts';
import { type FailurePage, listFailures } from '../../../actors/index/views/failures.ts';
import type { Selection } from '../../../actors/job/records/action.ts';
import type { JournalPosition } from '../../../actors/job/records/journal.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import type { JobPage } from '../../../actors/job/views/job-page.ts';
import { formatId, type JobId } from '../../../runtime/ids.ts';
import type { IndexTable, Store } from '../../../runtime/store/store.ts';
import { candidatesMax, listByError } from '../../../service/reads/error-list.ts';
import { openSelecting } from '../../../service/reads/selecting.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger, type NaiveLog } from '../search/ledger.ts';
import { storages } from '../search/storage.ts';
import { type History, history, plugins } from '../search/stories.ts';

const failed = ['failed', 'timed_out', 'dead'];

type NaiveFailure = NaiveLog & { readonly fingerprint: string };

/** The jobs that have failed, by the time of their ends. */
function failuresOf(ledger: Ledger): NaiveFailure[] {
  const statusOf = new Map(ledger.jobs.map(({ id, status }) => [id, status]));
  const last = new Map(ledger.logs.map(log => [log.jobId, log]));
  return ledger.logs
    .filter(log => last.get(log.jobId) === log && failed.includes(statusOf.get(log.jobId)!))
    .map(log => ({ ...log, fingerprint: fingerprintOf(log.plugin, log.command, patternOf(log.error ?? '')) }));
}

/** Groups as a list that is drawn up again: the one that was seen last comes first. */
function naiveGroups(failures: readonly NaiveFailure[]) {
  const groups = new Map<string, NaiveFailure[]>();
  for (const failure of failures) {
    const known = groups.get(failure.fingerprint) ?? [];
    groups.delete(failure.fingerprint);
    groups.set(failure.fingerprint, [...known, failure]);
  }
  return [...groups].reverse().map(([fingerprint, jobs]) => ({
    fingerprint,
    plugin: jobs[0]!.plugin,
    command: jobs[0]!.command,
    count: jobs.length,
    firstUs: jobs[0]!.atUs,
    lastUs: jobs.at(-1)!.atUs,
    sample: { jobId: jobs.at(-1)!.jobId, message: (jobs.at(-1)!.error ?? '').trim() },
  }));
}

type Shown = ReturnType<typeof naiveGroups>[number];

async function shownGroups(index: Store<IndexTable>, limit = 1_000, filter: object = {}): Promise<Shown[]> {
  const shown: Shown[] = [];
  const asked = { plugin: null, command: null, fromUs: null, toUs: null, ...filter };
  for (let before: JournalPosition | null = null; ; ) {
    const page: FailurePage = await inSlices(listFailures(index, asked, limit, before), () => {});
    for (const { fingerprint, plugin, command, count, first, last, sample } of page.groups) {
      const of = { jobId: formatId(sample.jobId), message: sample.message };
      shown.push({ fingerprint, plugin, command, count, firstUs: first.atUs, lastUs: last.atUs, sample: of });
    }
    expect(page.groups.length).toBeLessThanOrEqual(limit);
    if (!page.more) {
      expect(page.total).toBe(shown.length);
      return shown;
    }
    before = page.groups.at(-1)!.last;
  }
}

type Stores = { readonly ledger: Ledger['store']; readonly index: Store<IndexTable> };

/** An indexer that knows only the failures, and can be replaced by a new one over the same stores. */
function indexer(stores: Stores) {
  const feed = new JournalFollower(stores, [new FailureIndex(stores)]);
  return {
    take: (upToUs: number) => {
      while (feed.take(upToUs));
    },
    /** Removes what was pruned before this call. A lap that is under way may have passed some of it, so a second one follows. */
    prune: () => {
      while (feed.prune());
      while (feed.prune());
    },
    pruneSome: () => feed.prune(),
  };
}

function tell(ledger: Ledger, step: History[number]): void {
  if ('prune' in step) ledger.prune(step.prune);
  else ledger.add(step);
}

test.each(storages)(
  'the groups are those of the stored jobs, also after prunings, a restart and in a rebuilt index (%s)',
  async (_, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 4 }), fc.nat(3), async (steps, limit, every) => {
        const { store, index, close } = open();
        const ledger = new Ledger(store);
        const stores = { ledger: store, index };
        let feed = indexer(stores);
        for (const [n, step] of steps.entries()) {
          tell(ledger, step);
          if (n % (every + 1) === 0) feed.take(ledger.journalUs);
          if (n % 3 === 0) feed.prune();
          else feed.pruneSome();
          if (n % 4 === 3) feed = indexer(stores);
        }
        feed.take(ledger.journalUs);
        feed.prune();
        const wanted = naiveGroups(failuresOf(ledger));
        expect(await shownGroups(index, limit)).toEqual(wanted);
        for (const plugin of plugins)
          expect(await shownGroups(index, limit, { plugin })).toEqual(wanted.filter(group => group.plugin === plugin));
        const middle = wanted[Math.floor(wanted.length / 2)]?.lastUs ?? 0;
        expect(await shownGroups(index, limit, { fromUs: middle })).toEqual(
          wanted.filter(({ lastUs }) => lastUs >= middle),
        );
        expect(await shownGroups(index, limit, { toUs: middle })).toEqual(
          wanted.filter(({ lastUs }) => lastUs <= middle),
        );
        const rebuilt = openMemoryIndex();
        indexer({ ledger: store, index: rebuilt }).take(ledger.journalUs);
        expect(await shownGroups(rebuilt)).toEqual(wanted);
        expect(contents(index, 'failures')).toEqual(contents(rebuilt, 'failures'));
        close();
      }),
      { numRuns: Math.min(100, numRuns) },
    );
  },
);

function contents(index: Store<IndexTable>, table: IndexTable): string[] {
  return Array.from(index.scan(table, {}), ({ key, value }) => Buffer.concat([key, value]).toString('latin1'));
}

test.each(storages)('the jobs of a group are found, wherever the index has come to (%s)', async (_, numRuns, open) => {
  const asked = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    namedMax: fc.constantFrom(0, 2, candidatesMax),
    status: fc.option(fc.constantFrom('failed' as const, 'dead' as const, 'succeeded' as const), { nil: null }),
    error: fc.option(fc.constantFrom('error', 'e*', 'foo bar'), { nil: null, freq: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(history, asked, fc.nat(), async (steps, { limit, namedMax, status, error }, some) => {
      const { store, index, close } = open();
      const ledger = new Ledger(store);
      const feed = indexer({ ledger: store, index });
      for (const [n, step] of steps.entries()) {
        tell(ledger, step);
        if (n < some % (steps.length + 1)) feed.take(ledger.journalUs);
      }
      feed.prune();
      const failures = failuresOf(ledger);
      const names = new NameTable(store);
      for (const fingerprint of [...new Set(failures.map(failure => failure.fingerprint)), '0'.repeat(16)]) {
        const wanted = failures
          .filter(failure => failure.fingerprint === fingerprint && (status ?? failure.status) === failure.status)
          .filter(failure => error === null || hasWords(failure.error, error))
          .map(({ jobId }) => jobId)
          .sort()
          .reverse();
        const filter = { plugin: null, command: null, status, within: [], fingerprint };
        const seen: string[] = [];
        for (let before: JobId | undefined; ; ) {
          const search = { filter, error, limit };
          const page: JobPage = await inSlices(
            listByError(store, () => index, names, search, before, namedMax),
            () => {},
          );
          expect(page.total).toBe(wanted.length);
          seen.push(...page.rows.map(({ id }) => formatId(id)));
          if (!page.more) break;
          before = page.rows.at(-1)!.id;
        }
        expect(seen).toEqual(wanted);
        // An action with this filter takes the same jobs.
        const moment = { atUs: 1e16, block: Buffer.alloc(12, 0xff), commitUs: 1e16 };
        const selection: Selection = { ...everyJob, status, error, fingerprint };
        const next = { kind: 'next_matches', selection, moment, searchedUs: moment.commitUs, after: null } as const;
        const { ids } = await inSlices(openSelecting(store, () => index).next(next), () => {});
        expect(idsIn(ids)).toEqual(wanted.toReversed());
      }
      close();
    }),
    { numRuns: Math.min(60, numRuns) },
  );
});

const everyJob: Selection = {
  ...{ plugin: null, command: null, status: null, submittedBy: null, pipeline: null, jobId: null, run: null },
  ...{ root: null, parent: null, error: null, query: null, fromUs: null, toUs: null, children: true },
};

/** Whether the text has all words of the query, of which one may be a prefix with a star. Enough for the words of the stories. */
function hasWords(text = '', query: string): boolean {
  const words = text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u);
  return query
    .split(' ')
    .every(wanted =>
      words.some(word => (wanted.endsWith('*') ? word.startsWith(wanted.slice(0, -1)) : word === wanted)),
    );
}

function idsIn(bytes: Uint8Array): string[] {
  return Array.from({ length: bytes.length / 16 }, (_, k) => formatId(bytes.subarray(k * 16, k * 16 + 16)));
}

/** Adds a failed job for each error, all in one commit. */
function fail(ledger: Ledger, ...errors: readonly string[]): void {
  const jobs = errors.map(error => ({ attempts: [{ status: 'dead' as const, error }], end: 'over' as const }));
  ledger.add({ plugin: 'p', command: 'c', submittedBy: 'api:one', jobs });
}

const word = (n: number) =>
  `no ${String.fromCharCode(97 + (n % 26), 97 + (Math.floor(n / 26) % 26), 97 + Math.floor(n / 676))}`;

test(`the number of groups is limited: the one that was seen least recently goes first, and begins again`, async () => {
  expect(failureGroupsMax).toBe(1_000);
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const feed = indexer({ ledger: ledger.store, index });
  const take = () => feed.take(ledger.journalUs);
  for (let n = 0; n < failureGroupsMax; n += 100) fail(ledger, ...Array.from({ length: 100 }, (_, k) => word(n + k)));
  fail(ledger, word(0));
  take();
  const messages = async () => (await shownGroups(index)).map(({ sample, count }) => `${sample.message}: ${count}`);
  expect((await messages()).slice(0, 2)).toEqual([`${word(0)}: 2`, `${word(999)}: 1`]);
  fail(ledger, 'a new one');
  take();
  // The second group was dropped, because it was seen least recently.
  const without = await messages();
  expect([without.length, without.includes(`${word(1)}: 1`), without.includes(`${word(0)}: 2`)]).toEqual([
    1_000,
    false,
    true,
  ]);
  fail(ledger, word(1), word(1));
  take();
  const again = await messages();
  expect([again.length, again[0], again.includes(`${word(2)}: 1`)]).toEqual([1_000, `${word(1)}: 2`, false]);
  // All jobs with the fingerprint are found, also the one that the dropped group counted.
  const filter = {
    plugin: null,
    command: null,
    status: null,
    within: [],
    fingerprint: fingerprintOf('p', 'c', word(1)),
  };
  const names = new NameTable(ledger.store);
  const page = await inSlices(
    listByError(ledger.store, () => index, names, { filter, error: null, limit: 9 }),
    () => {},
  );
  expect(page.total).toBe(3);
  const rebuilt = openMemoryIndex();
  indexer({ ledger: ledger.store, index: rebuilt }).take(ledger.journalUs);
  expect(await shownGroups(rebuilt)).toEqual(await shownGroups(index));
});

test('errors that occur once, or too many in turn, push out only each other', async () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const feed = indexer({ ledger: ledger.store, index });
  const counts = async () => new Map((await shownGroups(index)).map(({ sample, count }) => [sample.message, count]));
  const words = Array.from({ length: failureGroupsMax + 400 }, (_, n) => word(n));
  const rounds = 4;
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < words.length; n += 100) fail(ledger, ...words.slice(n, n + 100));
    // The indexer takes the first two rounds together, and each later round by itself.
    if (round > 0) feed.take(ledger.journalUs);
  }
  const inTurn = await counts();
  expect(inTurn.size).toBe(failureGroupsMax);
  const kept = [...inTurn].filter(([, count]) => count >= rounds - 1);
  expect(kept.length).toBeGreaterThanOrEqual(failureGroupsMax * (1 - failureTrialShare));

  for (let n = 0; n < 3_000; n += 100) fail(ledger, ...Array.from({ length: 100 }, (_, k) => `once ${word(n + k)}`));
  feed.take(ledger.journalUs);
  const after = await counts();
  expect(kept.filter(([message, count]) => after.get(message) !== count)).toEqual([]);
  // The group of a new error that occurs again is kept.
  fail(ledger, 'new', 'new');
  for (let n = 0; n < 1_000; n += 100) fail(ledger, ...Array.from({ length: 100 }, (_, k) => `more ${word(n + k)}`));
  feed.take(ledger.journalUs);
  expect((await counts()).get('new')).toBe(2);
  const rebuilt = openMemoryIndex();
  indexer({ ledger: ledger.store, index: rebuilt }).take(ledger.journalUs);
  expect(await shownGroups(rebuilt)).toEqual(await shownGroups(index));
});

test('records of failed jobs fill pages, and leave none behind when their jobs are pruned', async () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  let feed = indexer({ ledger: ledger.store, index });
  const total = 2 * failurePageRecords + 100;
  for (let n = 0; n < total; n += 50) {
    fail(ledger, ...Array.from({ length: Math.min(50, total - n) }, () => 'no route'));
    if (n % 500 === 0) {
      feed.take(ledger.journalUs);
      feed = indexer({ ledger: ledger.store, index });
    }
  }
  feed.take(ledger.journalUs);
  expect(index.count('failed_jobs')).toBe(3);
  for (const left of [total - 75, failurePageRecords, 30, 0]) {
    ledger.prune(left);
    feed.prune();
    expect(await shownGroups(index)).toEqual(naiveGroups(failuresOf(ledger)));
    const records = Array.from(index.scan('failed_jobs', {}), ({ value }) => value.length / 20);
    expect(records.reduce((sum, count) => sum + count, 0)).toBe(failuresOf(ledger).length);
  }
  expect([index.count('failures'), index.count('failed_jobs')]).toEqual([0, 0]);
  fail(ledger, 'no route');
  feed.take(ledger.journalUs);
  expect((await shownGroups(index)).map(({ count }) => count)).toEqual([1]);
});

test('a group counts its jobs by hour, for a day up to the last one', async () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  fail(ledger, 'no route', 'no route');
  fail(ledger, 'no route');
  indexer({ ledger: ledger.store, index }).take(ledger.journalUs);
  const [group] = (
    await inSlices(listFailures(index, { plugin: null, command: null, fromUs: null, toUs: null }, 1, null), () => {})
  ).groups;
  expect([...group!.hours]).toEqual([[Math.floor(ledger.journalUs / 3_600_000_000), 3]]);
});

test('jobs that did not fail leave nothing in the index', () => {
  const ledger = new Ledger();
  const index = openMemoryIndex();
  const over = (status: 'succeeded' | 'cancelled') => ({ attempts: [{ status, error: 'no' }], end: 'over' as const });
  const retried = { attempts: [{ status: 'failed' as const, error: 'no' }], end: 'queued' as const };
  ledger.add({
    plugin: 'p',
    command: 'c',
    submittedBy: 'api:one',
    jobs: [over('succeeded'), over('cancelled'), retried],
  });
  indexer({ ledger: ledger.store, index }).take(ledger.journalUs);
  expect([index.count('failures'), index.count('failed_jobs')]).toEqual([0, 0]);
});
