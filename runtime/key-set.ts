// The keys of a packed map, found by their bytes: very many of them, without a text for each.
import { randomInt } from 'node:crypto';
import { contentsOf, mapCount, skipValue, textFrom } from './splice.ts';

/** Nobody outside knows them, so nobody can choose keys that fall on one another. */
const seed = randomInt(2 ** 32);
const factor = randomInt(2 ** 31) * 2 + 1;

/** Guesses at the next key that may be wrong: after this many the keys are treated as unordered. */
const guessesMax = 1000;

export class KeySet {
  readonly #map: Uint8Array;
  /** Maps that are laid over each other mostly have their keys in one order: where the key is that should come next. */
  #next: number;
  #guessesLeft = guessesMax;
  /** By hash: where a key is, and the upper bits of its hash; 0: none. Null until a key is not the one that should come. */
  #slots: Uint32Array | null = null;
  /** The bits of a slot that tell where a key is. */
  readonly #placeMask: number;

  constructor(map: Uint8Array) {
    this.#map = map;
    this.#next = contentsOf(map);
    this.#placeMask = 2 ** (32 - Math.clz32(map.length)) - 1;
  }

  /** Whether the text that stands at a place of other bytes, and ends at `end`, is one of the keys. */
  has(bytes: Uint8Array, at: number, end: number): boolean {
    const from = textFrom(bytes, at);
    if (from < 0) return false;
    let place = this.#next;
    if (this.#guessesLeft === 0 || !this.#isAt(place, bytes, from, end)) {
      if (this.#guessesLeft > 0) this.#guessesLeft--;
      this.#slots ??= this.#hashed();
      const slots = this.#slots;
      place = slots[this.#slotOf(slots, hashOf(bytes, from, end), bytes, from, end)]! & this.#placeMask;
      if (place === 0) return false;
    }
    if (this.#guessesLeft > 0) this.#next = skipValue(this.#map, skipValue(this.#map, place));
    return true;
  }

  #hashed(): Uint32Array {
    const map = this.#map;
    const count = mapCount(map);
    const slots = new Uint32Array(2 ** Math.ceil(Math.log2(1.5 * count + 1)));
    let at = contentsOf(map);
    for (let left = count; left > 0; left--) {
      const from = textFrom(map, at);
      const end = skipValue(map, at);
      if (from >= 0) {
        const hash = hashOf(map, from, end);
        slots[this.#slotOf(slots, hash, map, from, end)] = (hash & ~this.#placeMask) | at;
      }
      at = skipValue(map, end);
    }
    return slots;
  }

  /** Where the key is, or would be. */
  #slotOf(slots: Uint32Array, hash: number, bytes: Uint8Array, from: number, end: number): number {
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const known = slots[slot]!;
      if (known === 0) return slot;
      const place = known & this.#placeMask;
      if (((known ^ hash) & ~this.#placeMask) === 0 && this.#isAt(place, bytes, from, end)) return slot;
    }
  }

  /** Whether the text is the one that stands at this place of the map. */
  #isAt(place: number, bytes: Uint8Array, from: number, end: number): boolean {
    const map = this.#map;
    if (place >= map.length) return false;
    const start = textFrom(map, place);
    if (start < 0 || skipValue(map, place) - start !== end - from) return false;
    for (let i = from; i < end; i++) if (map[start + i - from] !== bytes[i]) return false;
    return true;
  }
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = seed;
  for (let i = from; i < to; i++) {
    hash = Math.imul(hash ^ bytes[i]!, factor);
    hash ^= hash >>> 15;
  }
  return hash;
}
