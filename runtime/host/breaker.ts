// Counts crashes of one plugin's processes: where there are too many, none is started for a while.

export const crashesMax = 5;
export const crashWindowMs = 60_000;
export const openMs = 30_000;

/** Times are of a steady clock, in ms. */
export class Breaker {
  #crashesAtMs: number[] = [];
  #openUntilMs = 0;

  isOpen(nowMs: number): boolean {
    return nowMs < this.#openUntilMs;
  }

  /** Returns whether this one has opened it. After a pause one more within the same minute opens it again. */
  crashed(nowMs: number): boolean {
    this.#crashesAtMs = [...this.#crashesAtMs.filter(atMs => nowMs - atMs < crashWindowMs), nowMs].slice(-crashesMax);
    const opens = this.#crashesAtMs.length === crashesMax && !this.isOpen(nowMs);
    if (opens) this.#openUntilMs = nowMs + openMs;
    return opens;
  }
}

export const openReason = `not started: the plugin's processes crashed ${crashesMax} times within ${crashWindowMs / 1000} s, and none is started for ${openMs / 1000} s`;
