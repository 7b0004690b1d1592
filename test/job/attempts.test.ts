// The table of attempts: whatever shares a value, each attempt is found again, alone and among the others.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Attempt } from '../../actors/job/attempt.ts';
import {
  AttemptWriter,
  attemptsOf,
  latestAttempt,
  stretchAttemptsMax,
  stretchBytesMax,
} from '../../actors/job/attempts.ts';
import { AttemptShelf } from '../../actors/job/journal.ts';
import { jobId } from '../../runtime/ids.ts';
import { openMemoryStore } from '../../runtime/store/memory.ts';

const jobs = 80;
const blocks = [1, 2].map(n => Buffer.from(`0198c0de000${n}700080000000`, 'hex'));

function attemptOf(completedUs: number, final: boolean, bodyBytes = 3): Attempt {
  const status = final ? 'succeeded' : 'failed';
  return { status, final, startedUs: completedUs - 1, completedUs, body: Buffer.alloc(bodyBytes, completedUs % 251) };
}

/** In each commit, jobs whose next attempt ends in it: the block, the job, and whether it was the last. */
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
        // As frames come back: mostly in the order of the jobs.
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
      const shelf = new AttemptShelf(store);
      const [from, to] = a < b ? [a, b] : [b, a];
      for (const [block, key] of blocks.entries()) {
        const all = told[block]!.flatMap((known, index) =>
          known.map((attempt, n) => ({ index, number: n + 1, attempt })),
        );
        expect([...attemptsOf(store, key, from, to)]).toEqual(all.filter(({ index }) => index >= from && index < to));
        for (const { index, number, attempt } of all) {
          expect(shelf.find({ id: jobId(key, index), attempt: number })).toEqual(attempt);
          expect(shelf.find({ id: jobId(key, index), attempt: told[block]![index]!.length + 1 })).toBeUndefined();
        }
        for (const [index, known] of told[block]!.entries()) {
          const latest = known.length === 0 ? undefined : { number: known.length, attempt: known.at(-1) };
          expect(latestAttempt(store, jobId(key, index))).toEqual(latest);
        }
      }
    }),
  );
});

test.each([
  ['neighbours that end together share a value', 3, [10, 10, 10], 1],
  ['a value has at most so many attempts', stretchAttemptsMax + 1, [10], 2],
  ['a value that is long enough takes no further one', 3, [stretchBytesMax, 10, 10], 2],
  ['a large one has a value to itself', 3, [10, 2 ** 20, 10], 3],
])('%s', (_, count, bodies, values) => {
  const store = openMemoryStore();
  const writer = new AttemptWriter();
  const batch = store.batch();
  const attempts = Array.from({ length: count }, (_, n) => attemptOf(1000 + n, true, bodies[n % bodies.length]));
  for (const [index, attempt] of attempts.entries()) writer.add(batch, jobId(blocks[0]!, index), 1, attempt);
  writer.close(batch);
  store.commit(batch);
  expect(store.count('attempts')).toBe(values);
  expect(Array.from(attemptsOf(store, blocks[0]!, 0, count), ({ attempt }) => attempt)).toEqual(attempts);
});
