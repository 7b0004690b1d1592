// The search over more logs than a chunk holds, and chunks of which all logs are pruned.
import { expect, onTestFinished, test } from 'vitest';
import { JournalFollower } from '../../../actors/index/journal-follower.ts';
import { chunkLogs, LogSet } from '../../../actors/index/records/log-set.ts';
import { positionBytes } from '../../../actors/index/records/position.ts';
import {
  numberKey,
  pageLogs,
  pagesPerChunk,
  postingKey,
  Records,
  recordBytes,
  searchName,
  writeRecord,
} from '../../../actors/index/records/search-layout.ts';
import { parseQuery } from '../../../actors/index/records/words.ts';
import { SearchIndex } from '../../../actors/index/search-index.ts';
import { type Candidates, jobsWithWords } from '../../../actors/index/views/jobs-with-words.ts';
import { search } from '../../../actors/index/views/search.ts';
import { JournalEntry, journalEntryBytes, usKey } from '../../../actors/job/records/journal.ts';
import { jobIdBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Batch, Table } from '../../../runtime/store/store.ts';
import { openLists } from '../../../service/reads/lists.ts';
import { openMemoryIndex, openMemoryStore } from '../../support/memory-store.ts';
import { inSlices } from '../../support/slices.ts';
import { Ledger } from './ledger.ts';
import { storages } from './storage.ts';

const anyLog = {
  status: -1,
  commands: null,
  onlyStarted: false,
  submitter: -1,
  fromUs: 0,
  toUs: Number.MAX_SAFE_INTEGER - 1,
};

test('a set of many logs is read from wherever in a buffer it was stored', () => {
  const set = new LogSet();
  for (let log = 0; log < 30_000; log++) set.put(2 * log);
  const stored = set.encode();
  const pool = Buffer.alloc(4 * stored.length, 0xff);
  pool.set(stored, 20_080);
  const read = new LogSet();
  read.add(pool.subarray(20_080, 20_080 + stored.length));
  expect(read.bits).toEqual(set.bits);
});

const blockJobs = 1_000;
const blocks = 70;

test('totals go over chunks, and a chunk of which all logs are pruned leaves nothing behind', async () => {
  const { store, index, close } = storages[1]![2]();
  onTestFinished(close);
  const ledger = new Ledger(store);
  for (let block = 0; block < blocks; block++) {
    const jobs = Array.from({ length: blockJobs }, (_, k) => {
      const error = `common n${block * blockJobs + k} ${k === 0 ? 'first' : ''}`;
      return { attempts: [{ status: 'failed' as const, error }], end: 'over' as const };
    });
    ledger.add({ plugin: `p${block % 2}`, command: 'handle', submittedBy: 'api:one', jobs });
  }
  const stores = { ledger: store, index };
  const feed = new JournalFollower(stores, [new SearchIndex(stores)]);
  const follow = () => {
    while (feed.take(ledger.journalUs));
    while (feed.prune());
  };
  follow();
  const lists = openLists(store, () => index);
  const none = { submittedBy: null, status: null, command: null, fromUs: null, toUs: null, jobId: null, before: null };
  const total = async (query: string, plugin: string | null = null) => {
    const page = await inSlices(lists.logs({ ...none, plugin, query, limit: 3 }), () => {});
    return [page.total, [...page.logs].length];
  };
  const jobs = blocks * blockJobs;
  expect(await total('common')).toEqual([jobs, 3]);
  expect(await total('common', 'p1')).toEqual([jobs / 2, 3]);
  expect(await total('first')).toEqual([blocks, 3]);
  expect(await total('n5')).toEqual([1, 1]);
  expect(await total(`n${jobs - 1}`)).toEqual([1, 1]);
  expect(await total('"common n7"')).toEqual([1, 1]);
  // Logs that the index has not taken yet are read from the journal, but only some of them.
  ledger.add({
    plugin: 'p1',
    command: 'handle',
    submittedBy: 'api:one',
    jobs: ['late', 'later', 'latest'].map(error => ({
      attempts: [{ status: 'failed' as const, error }],
      end: 'over' as const,
    })),
  });
  const late = (tailMax: number) => {
    return inSlices(
      search(store, index, { query: 'late*', entries: anyLog, limit: 5, before: null }, tailMax),
      () => {},
    );
  };
  expect(await late(3)).toMatchObject({ total: 3, unsearched: 0 });
  expect(await late(2)).toMatchObject({ total: 2, unsearched: 1 });
  ledger.prune(2 * blockJobs + 3);
  follow();
  expect(await total('common')).toEqual([2 * blockJobs, 3]);
  expect(await total('first')).toEqual([2, 2]);
  expect(await total('n5')).toEqual([0, 0]);
  expect(await total(`n${jobs - 1}`)).toEqual([1, 1]);
  index.refresh();
  expect([...index.scan('postings', { limit: 1 })][0]!.key[3]).toBe(1);
  expect(index.count('logs')).toBe(Math.ceil((jobs - chunkLogs) / 1024));
}, 120_000);

/** An index with a full chunk, whose logs the ledger does not have any more, and a page of the next chunk; and how to prune it. */
function pruned() {
  const index = openMemoryIndex();
  const ledger = openMemoryStore();
  const logs = chunkLogs + pageLogs;
  const batch = index.batch();
  const entry = Buffer.alloc(journalEntryBytes);
  for (let page = 0; page <= pagesPerChunk; page++) {
    const bytes = Buffer.alloc(pageLogs * recordBytes);
    for (let k = 0; k < pageLogs; k++) {
      writeRecord(bytes, k * recordBytes, new JournalEntry(page * pageLogs + k, 0, entry));
    }
    batch.put('logs', numberKey(page), bytes);
  }
  const having = new LogSet();
  for (const log of [3, 2_000, 60_000]) having.put(log);
  const words = ['alpha', 'beta', ...Array.from({ length: 2_000 }, (_, n) => `alpha${n}`)];
  for (const word of words) batch.put('postings', postingKey(0, word), having.encode());
  batch.put('positions', Buffer.from(searchName), positionBytes({ atUs: logs, place: 0 }));
  index.commit(batch);
  const indexer = new SearchIndex({ ledger, index });
  const prune = () => {
    for (let more = true; more; ) {
      const removed = index.batch();
      more = indexer.prune(logs, removed);
      index.commit(removed);
    }
  };
  return { ledger, index, prune };
}

test.each([
  [
    'a phrase',
    ({ ledger, index }: ReturnType<typeof pruned>) =>
      search(ledger, index, { query: '"alpha beta"', entries: anyLog, limit: 5, before: null }),
  ],
  [
    'a prefix',
    ({ ledger, index }: ReturnType<typeof pruned>) =>
      search(ledger, index, { query: 'alpha*', entries: anyLog, limit: 5, before: null }),
  ],
  [
    'the jobs with a word',
    ({ ledger, index }: ReturnType<typeof pruned>) =>
      jobsWithWords(ledger, index, anyLog, parseQuery('alpha*'), 100, true),
  ],
])('a search for %s goes on when its chunk is removed at any step', (_, begin) => {
  let steps = 0;
  for (let isOver = false; !isOver; steps++) {
    const stage = pruned();
    const work: Sliced<unknown> = begin(stage);
    for (let n = 0; n < steps && !isOver; n++) isOver = work.next().done === true;
    if (isOver) break;
    stage.prune();
    expect(new Records(stage.index).bounds.first).toBe(chunkLogs);
    let last = work.next();
    while (!last.done) last = work.next();
    const ids = (last.value as Candidates).ids ?? [];
    expect(ids.filter(({ length }) => length !== jobIdBytes)).toEqual([]);
  }
  expect(steps).toBeGreaterThan(2);
});

test('a chunk of which all logs are pruned, while an older one has some, leaves no gap in the numbers', () => {
  const ledger = openMemoryStore();
  const index = openMemoryIndex();
  const entry = Buffer.alloc(journalEntryBytes);
  const pages = 2.5 * pagesPerChunk;
  const logs = pages * pageLogs;
  // Each log ended in a commit of its own, whose time is its number.
  const records = index.batch();
  for (let page = 0; page < pages; page++) {
    const bytes = Buffer.alloc(pageLogs * recordBytes);
    for (let k = 0; k < pageLogs; k++) {
      writeRecord(bytes, k * recordBytes, new JournalEntry(page * pageLogs + k, 0, entry));
    }
    records.put('logs', numberKey(page), bytes);
  }
  index.commit(records);
  const keep = (write: (batch: Batch<Table>) => void) => {
    const batch = ledger.batch();
    write(batch);
    ledger.commit(batch);
  };
  const search = new SearchIndex({ ledger, index });
  const prune = () => {
    for (let more = true; more; ) {
      const batch = index.batch();
      more = search.prune(logs, batch);
      index.commit(batch);
    }
  };
  keep(batch => batch.put('journal', usKey(5), entry));
  for (let sweep = 0; sweep < 2; sweep++) prune();
  const rank = (atUs: number) => new Records(index).rank({ atUs, place: 0 });
  expect([5, chunkLogs, chunkLogs + 7, logs].map(rank)).toEqual([5, chunkLogs, chunkLogs + 7, logs]);
  keep(batch => batch.remove('journal', usKey(5)));
  prune();
  expect(new Records(index).bounds).toEqual({ first: 2 * chunkLogs, end: logs });
  expect(index.count('pruned')).toBe(1);
});
