// How busy the workers were lately.

/** The window that is looked back on. */
export const busyWindowUs = 60_000_000;
const bucketUs = 1_000_000;
const buckets = busyWindowUs / bucketUs;

/** How long workers were busy in the last minute, second by second. */
export class BusyMeter {
  readonly #bucketUs = new Float64Array(buckets);
  #atUs = 0;
  #workers = 0;

  /** From now on so many workers are busy. */
  note(nowUs: number, workers: number): void {
    this.#advance(nowUs);
    this.#workers = workers;
  }

  /** Of all workers together, in the last minute. */
  busyUs(nowUs: number): number {
    this.#advance(nowUs);
    return this.#bucketUs.reduce((sum, busy) => sum + busy, 0);
  }

  #advance(nowUs: number): void {
    if (nowUs - this.#atUs > busyWindowUs) {
      // Nothing of before counts any more; whoever was busy has been so all along.
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
