// Throttles the indexer while jobs run, so the jobs get most of the CPU and disk.

/** The pause after a step of the indexer, as a multiple of the duration of the step. */
const restPerWork = 5;
/** If the index is further behind than this, a pause lasts at most `behindRestMs`, because searches read unindexed logs one by one. */
export const behindMaxMs = 10_000;
export const behindRestMs = 250;

export class IndexerThrottle {
  #untilMs = 0;
  #journaledUs = 0;

  /**
   * How long the pause still lasts, in ms; 0 if no jobs run. Jobs also count as running if the journal has grown since the last
   * call. `nowMs`: a time of a monotonic clock.
   */
  leftMs(nowMs: number, running: number, journaledUs: number): number {
    const isBusy = running > 0 || journaledUs > this.#journaledUs;
    this.#journaledUs = journaledUs;
    return isBusy ? Math.max(0, this.#untilMs - nowMs) : 0;
  }

  /** Begins the pause after a step. `behindUs`: how far the index is behind the journal. */
  begin(startMs: number, endMs: number, behindUs: number): void {
    const longestMs = behindUs > 1000 * behindMaxMs ? behindRestMs : Infinity;
    this.#untilMs = endMs + Math.min(longestMs, restPerWork * (endMs - startMs));
  }
}
