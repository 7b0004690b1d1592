// The history of a step over a window, against what is counted from the samples themselves: percentiles, cells, exemplars.

import { expect, it } from 'vitest';
import { bucketOf, Histogram, octaveOf } from '../../../actors/index/records/histogram.ts';
import { minuteUs, pageKey } from '../../../actors/index/records/stopwatch.ts';
import { cellExemplarsMax, stepExemplarsMax } from '../../../actors/index/views/step-history.ts';
import { formatId, jobId } from '../../../runtime/ids.ts';
import { pack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { cyclesOf } from '../../support/deep.ts';
import { percentileErrorMax } from '../../support/percentile-error.ts';
import { fc } from '../../support/seed.ts';
import { type Ending, read, stage, start } from './stage.ts';

const minutesMax = 12;
const lastUs = start + (minutesMax - 1) * minuteUs;

function idOf(number: number): Buffer {
  const block = Buffer.alloc(12);
  block.writeUInt32BE(number, 0);
  return Buffer.from(jobId(block, 0));
}

type Sample = { readonly minute: number; readonly us: number };

/** Times from 0 to twelve days, spread evenly over the orders of magnitude. */
const samples = fc.array(
  fc.record({
    minute: fc.nat(minutesMax - 1),
    us: fc.double({ min: 0, max: 40, noNaN: true }).map(power => Math.floor(2 ** power) - 1),
  }),
  { minLength: 1, maxLength: 200 },
);

/** One job for each sample, in the order of the journal. */
function endingsOf(taken: readonly Sample[]): Required<Pick<Ending, 'atUs' | 'ranUs' | 'id'>>[] {
  const inOrder = taken.toSorted((a, b) => a.minute - b.minute);
  return inOrder.map(({ minute, us }, n) => ({ atUs: start + minute * minuteUs + n, ranUs: us, id: idOf(n + 1) }));
}

function historyOf(index: Parameters<typeof read>[0], minutes: number, ledger: Reader | null) {
  const steps = read(index, start, lastUs, { history: { minutes, heat: true, ledger } });
  return steps.get('handle.run')!.history!;
}

function grouped<T>(values: readonly T[], keyOf: (value: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

function expectNear(given: number, exact: number): void {
  expect(Math.abs(given - exact)).toBeLessThanOrEqual(exact < 64 ? 0 : exact * percentileErrorMax + 0.5);
}

it('has the percentiles of the samples of each bucket, to a 64th, and counts them in their cells', () => {
  fc.assert(
    fc.property(samples, fc.integer({ min: 1, max: 5 }), (taken, minutes) => {
      const { index, ledger, endAll, store } = stage();
      const endings = endingsOf(taken);
      store(endings.map(({ id }) => id));
      endAll(endings);
      const { buckets, slowest } = historyOf(index, minutes, ledger);
      const byBucket = grouped(taken, ({ minute }) => minute - (minute % minutes));
      expect(buckets.map(({ minute }) => minute - start / minuteUs)).toEqual(
        [...byBucket.keys()].sort((a, b) => a - b),
      );
      for (const bucket of buckets) {
        const sorted = byBucket
          .get(bucket.minute - start / minuteUs)!
          .map(({ us }) => us)
          .sort((a, b) => a - b);
        const exact = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!;
        expect([bucket.count, bucket.maxUs]).toEqual([sorted.length, sorted.at(-1)]);
        expectNear(bucket.p50, exact(0.5));
        expectNear(bucket.p95, exact(0.95));
        expectNear(bucket.p99, exact(0.99));
        const cells = grouped(sorted, us => (us < 2 ? 0 : Math.floor(Math.log2(us))));
        expect(bucket.cells.map(({ octave, count }) => [octave, count])).toEqual(
          [...cells].map(([octave, times]) => [octave, times.length]),
        );
        for (const { octave, exemplars } of bucket.cells) {
          expect(exemplars.length).toBeLessThanOrEqual(cellExemplarsMax);
          // The first exemplar is near the longest time of the cell, and each has the time of its job.
          expect(bucketOf(exemplars[0]!.us)).toBe(bucketOf(cells.get(octave)!.at(-1)!));
          for (const { us, jobId } of exemplars)
            expect(endings.find(({ id }) => formatId(id) === jobId)!.ranUs).toBe(us);
        }
      }
      expect(slowest.length).toBeLessThanOrEqual(stepExemplarsMax);
      expect(bucketOf(slowest[0]!.us)).toBe(bucketOf(Math.max(...taken.map(({ us }) => us))));
    }),
    { numRuns: cyclesOf({ deep: 60, quick: 20 }) },
  );
});

it('is the same after any restarts of the indexer, and when the index is built again at once', () => {
  fc.assert(
    fc.property(samples, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (taken, sizes) => {
      const [often, once] = [stage(), stage()];
      const endings = endingsOf(taken);
      for (let from = 0; from < endings.length; ) {
        const size = sizes.next().value as number;
        often.endAll(endings.slice(from, from + size));
        often.again();
        from += size;
      }
      once.endAll(endings);
      const pages = ({ index }: typeof often) => Array.from(index.scan('stopwatch', {}));
      expect(pages(often)).toEqual(pages(once));
    }),
    { numRuns: cyclesOf({ deep: 60, quick: 20 }) },
  );
});

it('names no job that is no longer stored, and none unless it is asked for', () => {
  const { index, ledger, endAll, store } = stage();
  const endings = endingsOf([1, 2, 3].map(n => ({ minute: 0, us: n * 1_000_000 })));
  endAll(endings);
  store([endings[1]!.id]);
  const namedIn = (of: Reader | null) => {
    const { buckets, slowest } = historyOf(index, 1, of);
    const inCells = buckets.flatMap(({ cells }) => cells.flatMap(({ exemplars }) => exemplars));
    return [slowest, inCells].map(exemplars => exemplars.map(({ us }) => us));
  };
  expect(namedIn(ledger)).toEqual([[2_000_000], [2_000_000]]);
  expect(namedIn(null)).toEqual([[], []]);
});

it('names a job once, however many of its attempts were slow', () => {
  const { index, ledger, endAll, store } = stage();
  const id = idOf(7);
  store([id]);
  endAll(
    [2, 3, 1].map((seconds, n) => ({ atUs: start + n * minuteUs, ranUs: seconds * 1_000_000, attempt: n + 1, id })),
  );
  expect(historyOf(index, 1, ledger).slowest.map(({ us }) => us)).toEqual([3_000_000]);
});

it('reads pages of early versions, which have no exemplars, and continues them', () => {
  const { index, ledger, endAll, store } = stage();
  const times = new Histogram();
  times.add(1_000);
  const batch = index.batch();
  batch.put('stopwatch', pageKey(start / minuteUs, 'echo'), pack([['handle.run', times.encode(), []]]));
  index.commit(batch);
  expect(historyOf(index, 1, ledger)).toMatchObject({
    buckets: [{ count: 1, cells: [{ exemplars: [] }] }],
    slowest: [],
  });
  store([idOf(1)]);
  endAll([{ atUs: start + 1, ranUs: 4_000, id: idOf(1) }]);
  expect(historyOf(index, 1, ledger)).toMatchObject({ buckets: [{ count: 2 }], slowest: [{ us: 4_000 }] });
});

it('reads only the steps that are wanted', () => {
  const { index, end } = stage();
  end(start, 5, 10);
  expect([...read(index, start, start, { steps: new Set(['handle.queue']) }).keys()]).toEqual(['handle.queue']);
});

it('has an octave for each bucket: a power of two up to the next', () => {
  for (let us = 0; us < 2 ** 40; us = us < 200 ? us + 1 : Math.ceil(us * 1.003)) {
    expect(octaveOf(bucketOf(us))).toBe(us < 2 ? 0 : Math.floor(Math.log2(us)));
  }
});
