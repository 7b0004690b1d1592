// The table of attempts: whatever shares a value, each attempt is found again, alone and among the others.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Attempt, attemptBytes } from '../../../../actors/job/records/attempt.ts';
import {
  AttemptWriter,
  attemptsOf,
  latestAttempt,
  pageAttemptsMax,
  pageBytesMax,
  pagesOf,
} from '../../../../actors/job/records/attempts.ts';
import { AttemptReader, entriesOf, type JournalEntry, JournalPage } from '../../../../actors/job/records/journal.ts';
import { encodeBody } from '../../../../runtime/host/wire/outcome.ts';
import { type JobId, jobId } from '../../../../runtime/ids.ts';
import type { Table } from '../../../../runtime/store/store.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

const jobs = 80;
const blocks = [1, 2].map(n => Buffer.from(`0198c0de000${n}700080000000`, 'hex'));

function attemptOf(completedUs: number, final: boolean, bodyBytes = 3): Attempt {
  const status = final ? 'succeeded' : 'failed';
  return { status, final, startedUs: completedUs - 1, completedUs, body: Buffer.alloc(bodyBytes, completedUs % 251) };
}

/** The fields of an attempt that was read, for a comparison with the written one. */
function plain({ status, final, startedUs, completedUs, body }: Attempt): Attempt {
  return { status, final, startedUs, completedUs, body };
}

function plainOf<T extends { readonly attempt: Attempt }>(ending: T): T {
  return { ...ending, attempt: plain(ending.attempt) };
}

/** The journal entry of this attempt of a job. */
function entryOf(id: JobId, number: number, attempt: Attempt): JournalEntry {
  const page = new JournalPage();
  page.add(id, number, { createdUs: 0, inStep: false }, attempt, 0, 0);
  return entriesOf(0, page.take())[0]!;
}

/** Commits: each has jobs whose next attempt ends in it, by block, index, and dice for whether the attempt is the final one. */
const commits = fc.array(
  fc.array(fc.tuple(fc.nat(1), fc.nat(jobs - 1), fc.integer({ min: 0, max: 9 })), { maxLength: 120 }),
  { maxLength: 8 },
);

test('each attempt is found again, as the latest, by its number, and in ranges', () => {
  fc.assert(
    fc.property(commits, fc.nat(jobs), fc.nat(jobs), (rounds, a, b) => {
      const store = openMemoryStore();
      const writer = new AttemptWriter();
      const told = blocks.map(() => Array.from({ length: jobs }, (): Attempt[] => []));
      rounds.forEach((ends, round) => {
        const batch = store.batch();
        // Frames report their jobs mostly in the order of the jobs.
        for (const [block, index, dice] of ends.sort(([b1, i1], [b2, i2]) => b1 - b2 || i1 - i2)) {
          const known = told[block]![index]!;
          if (known.at(-1)?.final) continue;
          const attempt = attemptOf(round * 1000 + index, dice > 1);
          known.push(attempt);
          writer.add(batch, jobId(blocks[block]!, index), known.length, attempt);
        }
        writer.close(batch);
        store.commit(batch);
      });
      const shelf = new AttemptReader(store);
      const [from, to] = a < b ? [a, b] : [b, a];
      for (const [block, key] of blocks.entries()) {
        const all = told[block]!.flatMap((known, index) =>
          known.map((attempt, n) => ({ index, number: n + 1, attempt })),
        );
        const inRange = all.filter(({ index }) => index >= from && index < to);
        expect(Array.from(attemptsOf(store, key, from, to), plainOf)).toEqual(inRange);
        for (const { index, number, attempt } of all) {
          const id = jobId(key, index);
          expect(plain(shelf.find(entryOf(id, number, attempt))!)).toEqual(attempt);
          expect(shelf.find(entryOf(id, told[block]![index]!.length + 1, attempt))).toBeUndefined();
        }
        for (const [index, known] of told[block]!.entries()) {
          const latest = latestAttempt(store, jobId(key, index));
          const ended = known.length === 0 ? undefined : { number: known.length, attempt: known.at(-1) };
          expect(latest && plainOf(latest)).toEqual(ended);
        }
      }
    }),
  );
});

/** A store with these first attempts of neighbours, which ended together. */
function storeOf(attempts: readonly Attempt[]) {
  const store = openMemoryStore();
  const writer = new AttemptWriter();
  const batch = store.batch();
  for (const [index, attempt] of attempts.entries()) writer.add(batch, jobId(blocks[0]!, index), 1, attempt);
  writer.close(batch);
  store.commit(batch);
  return store;
}

const large = pageBytesMax - attemptBytes(attemptOf(0, true, 0)) + 1;

test.each([
  ['neighbours that end together share a value', [10, 10, 10], 1, 0],
  ['the number of attempts in a value is limited', Array<number>(pageAttemptsMax + 1).fill(10), 2, 0],
  ['a value that is long enough takes no further one', [large - 1, 10, 10], 2, 0],
  ['a large one has a value to itself, and its body lies apart', [10, large, 10], 3, 1],
])('%s', (_, sizes, values, bodies) => {
  const attempts = sizes.map((bytes, n) => attemptOf(1000 + n, true, bytes));
  const store = storeOf(attempts);
  expect([store.count('attempts'), store.count('bodies')]).toEqual([values, bodies]);
  expect(Array.from(attemptsOf(store, blocks[0]!, 0, sizes.length), ({ attempt }) => plain(attempt))).toEqual(attempts);
});

test('a body that lies apart is read when it is asked for, and removed with its attempt', () => {
  const body = encodeBody({ result: Buffer.alloc(large) });
  const store = storeOf([{ ...attemptOf(1000, true), body }]);
  const read: Table[] = [];
  const get = (table: Table, key: Uint8Array) => {
    read.push(table);
    return store.get(table, key);
  };
  const { attempt } = latestAttempt({ ...store, get }, jobId(blocks[0]!, 0))!;
  expect([attempt.status, attempt.completedUs]).toEqual(['succeeded', 1000]);
  // Which parts the body has is known without reading it.
  expect(attempt.text('stderr')).toBeNull();
  expect(read).not.toContain('bodies');
  expect(attempt.body).toEqual(body);
  expect(read.filter(table => table === 'bodies')).toHaveLength(1);
  const batch = store.batch();
  for (const stretch of pagesOf(store, blocks[0]!, 0, 1)) stretch.remove(batch);
  store.commit(batch);
  expect([store.count('attempts'), store.count('bodies')]).toEqual([0, 0]);
  expect(latestAttempt(store, jobId(blocks[0]!, 0))).toBeUndefined();
});

test('an attempt whose record is cut off is not found', () => {
  const store = openMemoryStore();
  const id = jobId(blocks[0]!, 0);
  const attempt = attemptOf(7, true);
  const page = store.batch();
  const writer = new AttemptWriter();
  writer.add(page, id, 1, attempt);
  writer.close(page);
  store.commit(page);
  const find = () => new AttemptReader(store).find(entryOf(id, 1, attempt));
  expect(find()).toBeDefined();
  const [{ key, value }] = [...store.scan('attempts', {})] as [{ key: Uint8Array; value: Uint8Array }];
  const cut = store.batch();
  cut.put('attempts', Buffer.from(key), Buffer.from(value.subarray(0, 12)));
  store.commit(cut);
  expect(find()).toBeUndefined();
});
