// The deadline of the async handler that a thread of the pool awaits. One timer serves all handlers.

import { Alarm } from '../../alarm.ts';
import type { HandlerKit } from './handler-kit.ts';

export class Deadline {
  #waiting: { readonly atMs: number; readonly kit: HandlerKit } | null = null;
  readonly #alarm = new Alarm(() => this.#ring());

  /**
   * Settles as `answer` does. At the deadline the kit's signal fires; if the handler ignores it, the host replaces the thread.
   */
  async race(answer: PromiseLike<unknown>, atMs: number, kit: HandlerKit): Promise<unknown> {
    this.#waiting = { atMs, kit };
    this.#alarm.set(atMs);
    try {
      return await answer;
    } finally {
      this.#waiting = null;
    }
  }

  #ring(): void {
    if (this.#waiting === null) return;
    if (performance.now() < this.#waiting.atMs) this.#alarm.set(this.#waiting.atMs);
    else this.#waiting.kit.expire();
  }
}
