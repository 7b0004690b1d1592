// Random numbers from a seed: the same seed gives the same numbers. The seed of a run is printed.

import { testSeed } from '../../support/seed.ts';

export type Random = {
  readonly seed: number;
  /** From low to high, both included. */
  between(low: number, high: number): number;
};

/** mulberry32. */
export function seededRandom(seed = testSeed): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return { seed, between: (low, high) => low + Math.floor(next() * (high - low + 1)) };
}
