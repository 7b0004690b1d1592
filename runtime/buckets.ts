// A histogram keeps the sum of all values and the number of values in each bucket. The limits of its buckets are fixed. Several threads can
// share its memory.

/** The upper limits of the buckets for durations, in seconds. A longer duration counts in a last bucket without a limit. */
export const secondsLimits: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

/** The upper limits of the buckets for numbers of jobs. */
export const jobsLimits: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/** The index of the bucket for this value. Values above all limits belong to the last bucket, which has no limit. */
export function bucketWith(limits: readonly number[], value: number): number {
  let place = 0;
  while (place < limits.length && value > limits[place]!) place++;
  return place;
}

/** One writer adds values; any thread reads them. The cells hold the sum, then the number of values in each bucket. */
export class Buckets {
  readonly limits: readonly number[];
  readonly #cells: Float64Array;

  constructor(limits: readonly number[], memory?: ArrayBufferLike, offset = 0) {
    this.limits = limits;
    this.#cells = memory
      ? new Float64Array(memory, offset, limits.length + 2)
      : new Float64Array(bucketBytes(limits) / Float64Array.BYTES_PER_ELEMENT);
  }

  add(value: number): void {
    this.#cells[0]! += value;
    this.#cells[1 + bucketWith(this.limits, value)]! += 1;
  }

  /** The values so far. `counts`: the number of values in each bucket; the last bucket has no limit. */
  read(): { readonly limits: readonly number[]; readonly sum: number; readonly counts: readonly number[] } {
    const [sum = 0, ...counts] = this.#cells;
    return { limits: this.limits, sum, counts };
  }
}

/** The number of bytes that a histogram with these limits needs. */
export function bucketBytes(limits: readonly number[]): number {
  return (limits.length + 2) * Float64Array.BYTES_PER_ELEMENT;
}
