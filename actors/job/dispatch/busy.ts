// Measures how busy the workers were during the last minute.

export const busyWindowUs = 60_000_000;
const bucketUs = 1_000_000;
const buckets = busyWindowUs / bucketUs;

/** Accumulates busy time in buckets of one second. */
export class BusyMeter {
  readonly #bucketUs = new Float64Array(buckets);
  #atUs = 0;
  #workers = 0;

  /** Records how many workers are busy from now on. */
  note(nowUs: number, workers: number): void {
    this.#advance(nowUs);
    this.#workers = workers;
  }

  /** The busy time of all workers in the last 59 to 60 s: the oldest bucket is dropped as a whole. */
  busyUs(nowUs: number): number {
    this.#advance(nowUs);
    return this.#bucketUs.reduce((sum, busy) => sum + busy, 0);
  }

  #advance(nowUs: number): void {
    if (nowUs - this.#atUs > busyWindowUs) {
      // The last call was before the window. The workers that were busy then count as busy for the whole window.
      this.#atUs = nowUs - busyWindowUs;
      this.#bucketUs.fill(0);
    }
    while (this.#atUs < nowUs) {
      const bucket = Math.floor(this.#atUs / bucketUs);
      const endUs = Math.min(nowUs, (bucket + 1) * bucketUs);
      const place = bucket % buckets;
      if (this.#atUs === bucket * bucketUs) this.#bucketUs[place] = 0;
      this.#bucketUs[place]! += (endUs - this.#atUs) * this.#workers;
      this.#atUs = endUs;
    }
  }
}
