// A set of logs of one chunk. A small set is encoded as a list of numbers, and a large one as a bitmap.

/** The number of logs in a chunk. The number of a log within its chunk takes two bytes. */
export const chunkLogs = 65_536;
const bitsBytes = chunkLogs / 8;
/** The maximum length of a list of numbers. A longer list would not be smaller than the bitmap. */
const numbersMax = bitsBytes / 2 - 1;

export class LogSet {
  readonly bits = new Uint32Array(chunkLogs / 32);

  /** `stored`: the encoded set with which this one begins. */
  constructor(stored?: Uint8Array) {
    if (stored) this.add(stored);
  }

  /** Adds an encoded set. */
  add(stored: Uint8Array): void {
    if (stored.length === bitsBytes) {
      // The value is copied, because it may begin at any offset of its memory, and a `Uint32Array` must be aligned.
      const others = new Uint32Array(Uint8Array.from(stored).buffer);
      for (let i = 0; i < others.length; i++) this.bits[i]! |= others[i]!;
      return;
    }
    for (let at = 0; at < stored.length; at += 2) this.put(stored[at]! | (stored[at + 1]! << 8));
  }

  put(number: number): void {
    this.bits[number >>> 5]! |= 1 << (number & 31);
  }

  remove(number: number): void {
    this.bits[number >>> 5]! &= ~(1 << (number & 31));
  }

  has(number: number): boolean {
    return (this.bits[number >>> 5]! & (1 << (number & 31))) !== 0;
  }

  /** Keeps the numbers that are also in the other set. */
  keep(other: LogSet): void {
    for (let i = 0; i < this.bits.length; i++) this.bits[i]! &= other.bits[i]!;
  }

  /** Removes the numbers that are in the other set. */
  drop(other: LogSet): void {
    for (let i = 0; i < this.bits.length; i++) this.bits[i]! &= ~other.bits[i]!;
  }

  get isEmpty(): boolean {
    return this.bits.every(word => word === 0);
  }

  get count(): number {
    let count = 0;
    for (const word of this.bits) count += ones(word);
    return count;
  }

  /** The numbers, largest first. */
  *down(): Iterable<number> {
    for (let i = this.bits.length - 1; i >= 0; i--) {
      for (let word = this.bits[i]!; word !== 0; ) {
        const bit = 31 - Math.clz32(word);
        yield i * 32 + bit;
        word &= ~(1 << bit);
      }
    }
  }

  encode(): Uint8Array {
    const { count } = this;
    if (count > numbersMax) return new Uint8Array(this.bits.buffer.slice(0));
    const bytes = new Uint8Array(2 * count);
    let at = bytes.length;
    for (const number of this.down()) {
      at -= 2;
      bytes[at] = number;
      bytes[at + 1] = number >> 8;
    }
    return bytes;
  }
}

function ones(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return (Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24) & 0xff;
}

/**
 * Returns the encoded set with the numbers of `more` added. `more` must be sorted, and its numbers must be larger than
 * all numbers of the set.
 */
export function extended(stored: Uint8Array | undefined, more: readonly number[]): Uint8Array {
  const length = stored?.length ?? 0;
  if (length === bitsBytes) {
    const bits = Uint8Array.from(stored!);
    for (const number of more) bits[number >> 3]! |= 1 << (number & 7);
    return bits;
  }
  if (length / 2 + more.length > numbersMax) {
    const set = new LogSet(stored);
    for (const number of more) set.put(number);
    return set.encode();
  }
  // `allocUnsafe` takes short buffers from Node's pool. A separate allocation would cost more than filling the buffer.
  const bytes = Buffer.allocUnsafe(length + 2 * more.length);
  if (stored) bytes.set(stored, 0);
  for (let i = 0, at = length; i < more.length; i++, at += 2) {
    bytes[at] = more[i]!;
    bytes[at + 1] = more[i]! >> 8;
  }
  return bytes;
}
