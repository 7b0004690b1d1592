// The set of the keys of a packed map (MessagePack). It compares keys without decoding them, and finds a key in a hash table, so a map may
// have very many keys.
import { randomInt } from 'node:crypto';
import { contentsOf, mapCount, skipValue, textFrom } from './splice.ts';

/** The start and the factor of the hash function. They are random, so that the author of a map cannot choose keys whose hashes collide. */
const seed = randomInt(2 ** 32);
const factor = randomInt(2 ** 31) * 2 + 1;

/** After this many wrong guesses about the next key, the set stops guessing and looks every key up in its hash table. */
const guessesMax = 1000;

export class KeySet {
  readonly #map: Uint8Array;
  /**
   * The guess about the next key that is looked up: the offset of the key after the one that was found last. Callers usually look up the
   * keys of another map, which has them in the same order.
   */
  #next: number;
  #guessesLeft = guessesMax;
  /**
   * The hash table; null until the first wrong guess (`#next`). A slot is 0, or has the offset of a key and the upper bits of the key's
   * hash.
   */
  #slots: Uint32Array | null = null;
  /** The bits of a slot that hold the offset. */
  readonly #placeMask: number;

  constructor(map: Uint8Array) {
    this.#map = map;
    this.#next = contentsOf(map);
    this.#placeMask = 2 ** (32 - Math.clz32(map.length)) - 1;
  }

  /** Whether the packed text in `bytes` from `at` to `end` is one of the keys. */
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

  /** The slot of the key, or the empty slot where it would be. */
  #slotOf(slots: Uint32Array, hash: number, bytes: Uint8Array, from: number, end: number): number {
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const known = slots[slot]!;
      if (known === 0) return slot;
      const place = known & this.#placeMask;
      if (((known ^ hash) & ~this.#placeMask) === 0 && this.#isAt(place, bytes, from, end)) return slot;
    }
  }

  /** Whether the text in `bytes` from `from` to `end` equals the key at the offset `place` of the map. */
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
