// The newest observations, numbered, in a ring: groups as they came, taken apart only for who reads them.
import type { Observations } from './protocol.ts';

/** Observations that are held; older ones are gone. */
export const ringSize = 4096;

export type Held = { readonly first: number; readonly count: number; readonly group: Observations };

export class Ring {
  #held: Held[] = [];
  #head = 0;
  /** The number of the first observation there ever was, and the one that the next gets. */
  readonly first: number;
  next: number;

  constructor(first = 1) {
    this.first = first;
    this.next = first;
  }

  /** The oldest number that can still be read. */
  get oldest(): number {
    return Math.max(this.#held[this.#head]?.first ?? this.next, this.next - ringSize);
  }

  push(group: Observations): void {
    const count = group.kind === 'jobs' ? group.ids.length / 16 : 1;
    if (count === 0) return;
    this.#held.push({ first: this.next, count, group });
    this.next += count;
    // A group goes when every one of it is older than the ring is long.
    while (this.#held[this.#head]!.first + this.#held[this.#head]!.count <= this.next - ringSize) {
      this.#held[this.#head++] = undefined as never;
    }
    if (this.#head > 1024) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The groups that hold numbers from `from` on, oldest first, with the number of their first. */
  *since(from: number): Iterable<Held> {
    let low = this.#head;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { first, count } = this.#held[middle]!;
      if (first + count <= from) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < this.#held.length; at++) yield this.#held[at]!;
  }
}
