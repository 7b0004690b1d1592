// Counts crashes, and opens for a while after too many within a window.

export const crashesMax = 5;
export const crashWindowMs = 60_000;
export const openMs = 30_000;

export type CircuitBreakerLimits = { readonly crashesMax: number; readonly windowMs: number; readonly openMs: number };

/** For the processes of one plugin: while it is open, none is started. */
export const processLimits: CircuitBreakerLimits = { crashesMax, windowMs: crashWindowMs, openMs };

/** All times are in ms of a steady clock. */
export class CircuitBreaker {
  readonly #limits: CircuitBreakerLimits;
  #crashesAtMs: number[] = [];
  #openUntilMs = 0;

  constructor(limits: CircuitBreakerLimits) {
    this.#limits = limits;
  }

  isOpen(nowMs: number): boolean {
    return nowMs < this.#openUntilMs;
  }

  /**
   * Counts a crash. Returns whether it opened the breaker. A crash while the breaker is open keeps it open for longer; a crash soon after
   * it has closed opens it again.
   */
  crashed(nowMs: number): boolean {
    const { crashesMax, windowMs, openMs } = this.#limits;
    this.#crashesAtMs = [...this.#crashesAtMs.filter(atMs => nowMs - atMs < windowMs), nowMs].slice(-crashesMax);
    if (this.#crashesAtMs.length < crashesMax) return false;
    const wasOpen = this.isOpen(nowMs);
    this.#openUntilMs = nowMs + openMs;
    return !wasOpen;
  }
}

export const openReason = `not started: the plugin's processes crashed ${crashesMax} times within ${crashWindowMs / 1000} s, and none is started for ${openMs / 1000} s`;
