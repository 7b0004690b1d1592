// The deadline of the async handler that a thread awaits: one timer for all, set again only when it fires.

import { timerMsMax } from '../../clock.ts';
import type { HandlerKit } from './handler-kit.ts';

type Waiting = { readonly atMs: number; readonly kit: HandlerKit };

export class Deadline {
  #waiting: Waiting | null = null;
  #timer: NodeJS.Timeout | null = null;
  #ringsAtMs = 0;

  /** The promise's value. At the deadline the kit's signal fires; a handler that never settles costs its thread. */
  async race(answer: PromiseLike<unknown>, atMs: number, kit: HandlerKit): Promise<unknown> {
    this.#waiting = { atMs, kit };
    this.#wind();
    try {
      return await answer;
    } finally {
      this.#waiting = null;
    }
  }

  #wind(): void {
    const { atMs } = this.#waiting!;
    if (this.#timer !== null && this.#ringsAtMs <= atMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#ringsAtMs = atMs;
    const delayMs = Math.min(Math.max(1, Math.ceil(atMs - performance.now())), timerMsMax);
    this.#timer = setTimeout(() => this.#ring(), delayMs);
    this.#timer.unref();
  }

  #ring(): void {
    this.#timer = null;
    if (this.#waiting === null) return;
    if (performance.now() < this.#waiting.atMs) this.#wind();
    else this.#waiting.kit.expire();
  }
}
