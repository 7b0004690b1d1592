// Percentiles of samples, by nearest rank.

/** A growing list of numbers in a typed array. */
export class Samples {
  #values = new Float64Array(1024);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  values(): number[] {
    return [...this.#values.subarray(0, this.#count)];
  }

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /** The smallest sample that at least `percent` percent of all samples do not exceed; NaN if there are no samples. */
  percentile(percent: number): number {
    const sorted = this.#values.slice(0, this.#count).sort();
    return sorted[Math.max(0, Math.ceil((percent / 100) * this.#count) - 1)] ?? Number.NaN;
  }
}

/** The middle value, or the mean of the two middle values; NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

export function percentile(values: readonly number[], percent: number): number {
  const samples = new Samples();
  for (const value of values) samples.add(value);
  return samples.percentile(percent);
}
