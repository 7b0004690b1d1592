// The results that reach a join or an end, stored as bytes and spliced together in the order of the tokens.
//
//   group: count of ordinals | the ordinals (7 bits a byte) | number of results (4) | their size (4) | the results, packed
//
// A group has the results of tokens whose paths differ only in the last ordinal, which counts up. Its head has the path of the
// first token. A result in parts is a group of its own.
import { bufferOf } from '../../../runtime/bytes.ts';
import { isParted } from '../../../runtime/parted.ts';
import { listHead } from '../../../runtime/splice.ts';

const bytesMin = 256;
/** The size of the fields of a group for the number of results and for their size. */
const lengthsBytes = 8;

export class ArrivalLog {
  #bytes: Buffer;
  #length: number;
  /**
   * `#open`: the offset of the length fields of the last group that this log has begun; -1: it has begun none. `#last`: the path of the
   * group's last token; null: the next token begins a new group.
   */
  #open = -1;
  #last: readonly number[] | null = null;
  #count = 0;

  constructor(bytes?: Uint8Array) {
    this.#bytes = bytes ? bufferOf(bytes) : Buffer.alloc(0);
    this.#length = this.#bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  add(path: readonly number[], result: Uint8Array): void {
    this.#reserve(5 * (path.length + 1) + lengthsBytes + result.length);
    const isAlone = isParted(result);
    if (isAlone || this.#last === null || !follows(this.#last, path)) this.#begin(path);
    this.#last = isAlone ? null : path;
    this.#count++;
    this.#bytes.set(result, this.#length);
    this.#length += result.length;
  }

  /** The contents, not copied. */
  bytes(): Uint8Array {
    this.#seal();
    return this.#bytes.subarray(0, this.#length);
  }

  /** Returns the contents and clears the log. */
  take(): Uint8Array {
    const taken = this.bytes();
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    this.#open = -1;
    this.#last = null;
    return taken;
  }

  #begin(path: readonly number[]): void {
    this.#seal();
    this.#number(path.length);
    for (const each of path) this.#number(each);
    this.#open = this.#length;
    this.#count = 0;
    this.#length += lengthsBytes;
  }

  /** Writes the number and the size of the results of the open group. */
  #seal(): void {
    if (this.#open < 0) return;
    this.#bytes.writeUInt32LE(this.#count, this.#open);
    this.#bytes.writeUInt32LE(this.#length - this.#open - lengthsBytes, this.#open + 4);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(bytesMin, needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  #number(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }
}

type ResultGroup = { readonly path: readonly number[]; readonly results: Uint8Array };

/**
 * The results as a packed list, in the order of their paths: the list's head, then its results in pieces. No path may be a prefix of
 * another. Throws if the number of results is not `count`.
 */
export function spliceArrivals(logs: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  const groups: ResultGroup[] = [];
  let found = 0;
  for (const log of logs) {
    found += readResultGroups(log, (path, from, to) => groups.push({ path, results: log.subarray(from, to) }));
  }
  if (found !== count) throw new Error(`${found} of ${count} arrivals are stored`);
  groups.sort((a, b) => comparePaths(a.path, b.path));
  return [listHead(count), ...groups.map(({ results }) => results)];
}

/** Calls a function with the first path of each group and the offsets of its results. Returns the total number of results. */
export function readResultGroups(
  bytes: Uint8Array,
  take: (path: readonly number[], from: number, to: number) => void,
): number {
  const log = bufferOf(bytes);
  let at = 0;
  let found = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = log[at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  };
  while (at < log.length) {
    const path: number[] = [];
    for (let steps = number(); steps > 0; steps--) path.push(number());
    found += log.readUInt32LE(at);
    const end = at + lengthsBytes + log.readUInt32LE(at + 4);
    take(path, at + lengthsBytes, end);
    at = end;
  }
  return found;
}

/** Whether path `b` immediately follows path `a`. */
function follows(a: readonly number[], b: readonly number[]): boolean {
  const last = a.length - 1;
  if (last < 0 || b.length !== a.length || b[last] !== a[last]! + 1) return false;
  for (let i = 0; i < last; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Compares two paths: negative, 0 or positive. Paths are in lexicographic order, and a prefix comes first. */
export function comparePaths(a: readonly number[], b: readonly number[]): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
