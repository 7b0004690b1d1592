// A timer that several callers can set. It rings once, at the earliest time that was set since it last rang or was cleared.
import { timerMsMax } from './clock.ts';

export class Alarm {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | null = null;
  #atMs = 0;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /**
   * Makes the alarm ring at this time of `performance.now`, unless it is set to an earlier time already. If the time is more than
   * `timerMsMax` away, the alarm rings after `timerMsMax`.
   */
  set(atMs: number): void {
    if (this.#timer !== null) {
      if (this.#atMs <= atMs) return;
      clearTimeout(this.#timer);
    }
    this.#atMs = atMs;
    const delayMs = Math.min(Math.max(0, Math.ceil(atMs - performance.now())), timerMsMax);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#ring();
    }, delayMs);
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
