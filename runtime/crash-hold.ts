// A crash hold counts crashes. Too many crashes within a window of time put the hold in force for a while. The caller decides what the hold
// blocks.

export const crashesMax = 5;
export const crashWindowMs = 60_000;
export const holdMs = 30_000;

export type CrashHoldLimits = { readonly crashesMax: number; readonly windowMs: number; readonly holdMs: number };

/**
 * The limits of the crash hold for the persistent processes of one plugin in one host. During a crash hold, no persistent process of the
 * plugin is started.
 */
export const processLimits: CrashHoldLimits = { crashesMax, windowMs: crashWindowMs, holdMs };

/** All times are in ms, by one clock that the caller chooses. */
export class CrashHold {
  readonly #limits: CrashHoldLimits;
  #crashesAtMs: number[] = [];
  #untilMs = 0;

  constructor(limits: CrashHoldLimits) {
    this.#limits = limits;
  }

  holds(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }

  /**
   * Counts a crash. After `crashesMax` crashes within `windowMs`, the hold is in force until `holdMs` after the latest crash. Returns true if
   * the hold begins with this crash; false if it has not begun, or was in force already.
   */
  crashed(nowMs: number): boolean {
    const { crashesMax, windowMs, holdMs } = this.#limits;
    this.#crashesAtMs = [...this.#crashesAtMs.filter(atMs => nowMs - atMs < windowMs), nowMs].slice(-crashesMax);
    if (this.#crashesAtMs.length < crashesMax) return false;
    const didHold = this.holds(nowMs);
    this.#untilMs = nowMs + holdMs;
    return !didHold;
  }
}

export const holdReason = `not started: the plugin's processes crashed ${crashesMax} times within ${crashWindowMs / 1000} s, and none is started for ${holdMs / 1000} s`;
