// A circuit breaker counts crashes. After too many crashes within a window of time, it is open for a while.

export const crashesMax = 5;
export const crashWindowMs = 60_000;
export const openMs = 30_000;

export type CircuitBreakerLimits = { readonly crashesMax: number; readonly windowMs: number; readonly openMs: number };

/** The limits for the persistent processes of one plugin in one host. While the breaker is open, no such process is started. */
export const processLimits: CircuitBreakerLimits = { crashesMax, windowMs: crashWindowMs, openMs };

/** All times are in ms, by one clock that the caller chooses. */
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
   * Counts a crash. After `crashesMax` crashes within `windowMs`, the breaker is open until `openMs` after the latest crash. True: this
   * crash has opened the breaker. False: the breaker stays closed, or was open already.
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
