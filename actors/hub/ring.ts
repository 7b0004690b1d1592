// The newest observations, numbered, in a ring: groups as they came, taken apart only for who reads them.
import type { GroupOrigins } from './origins.ts';
import type { Observations } from './protocol.ts';

/** Observations that are held; older ones are gone. */
export const ringSize = 4096;
/** What all groups that are held take, about: the oldest go when it is more. Half of a full ring of the longest error texts. */
export const ringBytesMax = 8 * 2 ** 20;
/** What a group takes besides its ids and texts, about. */
const groupBytes = 256;

export type Held = {
  readonly first: number;
  readonly count: number;
  readonly bytes: number;
  readonly group: Observations;
  /** Where its jobs belong; null: nobody has asked yet. */
  origins: GroupOrigins | null;
};

export class Ring {
  #held: Held[] = [];
  #head = 0;
  #bytes = 0;
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

  /** What is held takes so much, about. */
  get bytes(): number {
    return this.#bytes;
  }

  push(group: Observations): void {
    const count = group.kind === 'jobs' ? group.ids.length / 16 : 1;
    if (count === 0) return;
    const bytes = bytesOf(group);
    this.#held.push({ first: this.next, count, bytes, group, origins: null });
    this.next += count;
    this.#bytes += bytes;
    while (this.#head < this.#held.length && this.#isOver(this.#held[this.#head]!)) {
      this.#bytes -= this.#held[this.#head]!.bytes;
      this.#held[this.#head++] = undefined as never;
    }
    if (this.#head > 1024) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Whether the oldest group must go: every one of it is older than the ring is long, or the ring takes too much. */
  #isOver({ first, count }: Held): boolean {
    return first + count <= this.next - ringSize || this.#bytes > ringBytesMax;
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

function bytesOf(group: Observations): number {
  const texts = group.kind === 'jobs' ? (group.errors ?? []) : Object.values(group.fields);
  let bytes = groupBytes + (group.kind === 'jobs' ? group.ids.length : 0);
  for (const text of texts) if (typeof text === 'string') bytes += 2 * text.length;
  return bytes;
}
