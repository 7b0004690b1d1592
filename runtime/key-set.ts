// The keys of a packed map, found by their bytes: very many of them, without a text for each.
import { randomInt } from 'node:crypto';
import { contentsOf, mapCount, skipValue, textSpan } from './splice.ts';

/** Nobody outside knows them, so nobody can choose keys that fall on one another. */
const seed = randomInt(2 ** 32);
const factor = randomInt(2 ** 31) * 2 + 1;

export class KeySet {
  readonly #bytes: Uint8Array;
  /** Where keys begin and end, by turns. */
  readonly #spans: Uint32Array;
  /** By hash: the number of a key, from 1; 0: none. */
  readonly #slots: Uint32Array;

  constructor(map: Uint8Array) {
    const count = mapCount(map);
    this.#bytes = map;
    this.#spans = new Uint32Array(2 * count);
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * count + 1)));
    let at = contentsOf(map);
    for (let n = 0; n < count; n++) {
      const span = textSpan(map, at);
      if (span !== null) this.#add(n, span.from, span.to);
      at = skipValue(map, skipValue(map, at));
    }
  }

  /** Whether the text that stands at a place of other bytes is one of the keys. */
  has(bytes: Uint8Array, at: number): boolean {
    const span = textSpan(bytes, at);
    return span !== null && this.#slots[this.#slotOf(bytes, span.from, span.to)] !== 0;
  }

  #add(number: number, from: number, to: number): void {
    this.#spans[2 * number] = from;
    this.#spans[2 * number + 1] = to;
    this.#slots[this.#slotOf(this.#bytes, from, to)] = number + 1;
  }

  /** Where the key is, or would be. */
  #slotOf(bytes: Uint8Array, from: number, to: number): number {
    const mask = this.#slots.length - 1;
    let hash = seed;
    for (let i = from; i < to; i++) {
      hash = Math.imul(hash ^ bytes[i]!, factor);
      hash ^= hash >>> 15;
    }
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]!;
      if (number === 0 || this.#is(number - 1, bytes, from, to)) return slot;
    }
  }

  #is(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#spans[2 * number]!;
    if (this.#spans[2 * number + 1]! - start !== to - from) return false;
    for (let i = from; i < to; i++) if (this.#bytes[start + i - from] !== bytes[i]) return false;
    return true;
  }
}
