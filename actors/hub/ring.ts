// The ring holds the newest observations. Each observation has a number, its id. Groups are stored whole, and divided only when they
// are read.
import type { GroupOrigins } from './origins.ts';
import type { Observations } from './protocol.ts';

/** Only this many of the newest observations can be read. A group with only older observations is dropped. */
export const ringSize = 4096;
/**
 * When the ring takes up more than about this many bytes, the oldest groups are dropped. `ringSize` observations with the longest error
 * messages would take up at least twice as much.
 */
export const ringBytesMax = 8 * 2 ** 20;
/** The approximate size of a group in bytes, excluding its ids and texts. */
const groupBytes = 256;

export type RingEntry = {
  readonly first: number;
  readonly count: number;
  readonly bytes: number;
  readonly group: Observations;
  /** The origins of the group's jobs. Null: no read has selected the type of the group yet, or the group is not about jobs. */
  origins: GroupOrigins | null;
};

export class Ring {
  readonly #held: RingEntry[] = [];
  #bytes = 0;
  /** The number of the first observation since the start of the service. */
  readonly first: number;
  /** The number of the next observation. */
  next: number;

  constructor(first = 1) {
    this.first = first;
    this.next = first;
  }

  /** The number of the oldest observation in the ring; if the ring is empty, `next`. */
  get oldest(): number {
    return Math.max(this.#held[0]?.first ?? this.next, this.next - ringSize);
  }

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
    while (this.#held.length > 0 && this.#isOver(this.#held[0]!)) this.#bytes -= this.#held.shift()!.bytes;
  }

  /** Whether the oldest group must be dropped: the ring has enough observations without it, or is too large. */
  #isOver({ first, count }: RingEntry): boolean {
    return first + count <= this.next - ringSize || this.#bytes > ringBytesMax;
  }

  /** The groups with observations numbered `from` or higher, oldest first. */
  *since(from: number): Iterable<RingEntry> {
    let low = 0;
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
