// Histograms: percentiles within their bound, in memory, encoded, and put together.

import { expect, it } from 'vitest';
import { bucketOf, Histogram, middleOf } from '../../../actors/index/records/histogram.ts';
import { percentileErrorMax } from '../../support/percentile-error.ts';
import { fc } from '../../support/seed.ts';

const times = fc.array(
  fc.double({ min: 0, max: 40, noNaN: true }).map(power => Math.floor(2 ** power) - 1),
  {
    minLength: 1,
    maxLength: 300,
  },
);
const parts = [0.5, 0.95, 0.99, 1];

function exact(sorted: readonly number[], part: number): number {
  return sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]!;
}

function histogramOf(samples: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const sample of samples) histogram.add(sample);
  return histogram;
}

it('is never off by more than a 64th of the exact percentile, and not at all below 64 µs', () => {
  fc.assert(
    fc.property(times, samples => {
      const histogram = histogramOf(samples);
      const sorted = samples.toSorted((a, b) => a - b);
      for (const part of parts) {
        const wanted = exact(sorted, part);
        const error = Math.abs(histogram.percentile(part) - wanted);
        expect(error).toBeLessThanOrEqual(wanted < 64 ? 0 : wanted * percentileErrorMax + 0.5);
      }
      expect(histogram.count).toBe(samples.length);
      expect(histogram.maxUs).toBe(sorted.at(-1));
    }),
  );
});

it('is the same encoded and read again, and put together from pieces', () => {
  fc.assert(
    fc.property(times, times, (some, others) => {
      const together = new Histogram();
      together.merge(histogramOf(some).encode());
      together.merge(histogramOf(others).encode());
      expect(together.encode()).toEqual(histogramOf([...some, ...others]).encode());
    }),
  );
});

it('has buckets in order, each with its middle inside', () => {
  let last = -1;
  for (let us = 0; us < 2 ** 40; us = us < 200 ? us + 1 : Math.ceil(us * 1.003)) {
    const bucket = bucketOf(us);
    expect(bucket).toBeGreaterThanOrEqual(last);
    expect(bucketOf(middleOf(bucket))).toBe(bucket);
    last = bucket;
  }
});

it('takes few bytes: a hundred thousand samples around one time less than 200', () => {
  const samples = Array.from({ length: 100_000 }, (_, n) => 1000 + (n % 1000));
  expect(histogramOf(samples).encode().length).toBeLessThan(200);
  expect(new Histogram().percentile(0.5)).toBe(0);
});
