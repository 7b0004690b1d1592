// Throttles the indexer while jobs run, so that they get most of the CPU and disk.

/** The pause after a step, as a multiple of its duration. */
const restPerWork = 5;
/** An indexer that is further behind pauses only briefly, because searches read unindexed logs one by one. */
export const behindMaxMs = 10_000;
export const behindRestMs = 250;

export class IndexerThrottle {
  #untilMs = 0;
  #journaledUs = 0;

  /**
   * How long the pause still lasts; 0 if no jobs run. A journal that has grown since the last call counts as running jobs. `nowMs` is
   * monotonic.
   */
  leftMs(nowMs: number, running: number, journaledUs: number): number {
    const isBusy = running > 0 || journaledUs > this.#journaledUs;
    this.#journaledUs = journaledUs;
    return isBusy ? Math.max(0, this.#untilMs - nowMs) : 0;
  }

  /** Begins a pause after a step. `behindUs`: how far the index is behind the journal. */
  begin(startMs: number, endMs: number, behindUs: number): void {
    const longestMs = behindUs > 1000 * behindMaxMs ? behindRestMs : Infinity;
    this.#untilMs = endMs + Math.min(longestMs, restPerWork * (endMs - startMs));
  }
}
