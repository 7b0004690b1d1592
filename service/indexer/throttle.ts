// When the indexer rests: while jobs run, most of the time and of the disk is theirs.

/** By the time that a step took. */
const restPerWork = 5;
/** So far behind it rests shortly, lest a search have too much to read that the index has not taken. */
export const behindMaxMs = 10_000;
export const behindRestMs = 250;

export class Rest {
  #untilMs = 0;
  #journaledUs = 0;

  /**
   * How long it still lasts; 0 when no job runs. Where the journal has grown since the last look jobs run, though none may at
   * this moment. `nowMs` is of the monotonic clock.
   */
  leftMs(nowMs: number, running: number, journaledUs: number): number {
    const isBusy = running > 0 || journaledUs > this.#journaledUs;
    this.#journaledUs = journaledUs;
    return isBusy ? Math.max(0, this.#untilMs - nowMs) : 0;
  }

  /** After a step, by when it began and ended; `behindUs`: of the journal, what is still to be taken. */
  begin(startMs: number, endMs: number, behindUs: number): void {
    const longestMs = behindUs > 1000 * behindMaxMs ? behindRestMs : Infinity;
    this.#untilMs = endMs + Math.min(longestMs, restPerWork * (endMs - startMs));
  }
}
