// The deadline of the async handler that a thread awaits. One timer serves all handlers, and is set again only when it fires.

import { Alarm } from '../../alarm.ts';
import type { HandlerKit } from './handler-kit.ts';

export class Deadline {
  #waiting: { readonly atMs: number; readonly kit: HandlerKit } | null = null;
  readonly #alarm = new Alarm(() => this.#ring());

  /** The value of the promise. At the deadline the kit's signal fires. If the handler still does not settle, its thread is replaced. */
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
