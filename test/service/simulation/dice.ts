// Dice of a world: each purpose has its own, so that leaving a fault out changes nothing else.

export class Dice {
  #state: number;

  constructor(seed: number, concern: string) {
    let state = seed >>> 0;
    for (let i = 0; i < concern.length; i++) state = Math.imul(state ^ concern.charCodeAt(i), 0x01000193) >>> 0;
    this.#state = state;
    this.next();
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(odds: number): boolean {
    return this.next() < odds;
  }

  /** From 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }
}
