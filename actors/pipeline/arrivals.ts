// What comes to a join: entries with the ordinals of their chains, kept as bytes and spliced together in their order.
//
//   entry: count of ordinals | the ordinals | length of the result | the result, packed      (numbers: 7 bits a byte)
import { listHead } from '../../runtime/splice.ts';

const bytesMin = 256;

/** A log of arrivals that grows. */
export class ArrivalLog {
  #bytes: Uint8Array;
  #length: number;

  constructor(bytes?: Uint8Array) {
    this.#bytes = bytes ?? new Uint8Array(0);
    this.#length = this.#bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an entry; the path is `path`, and `ordinal` unless that is negative. */
  add(path: readonly number[], ordinal: number, result: Uint8Array): void {
    this.#reserve(5 * (path.length + 3) + result.length);
    this.#number(path.length + (ordinal < 0 ? 0 : 1));
    for (const each of path) this.#number(each);
    if (ordinal >= 0) this.#number(ordinal);
    this.#number(result.length);
    this.#bytes.set(result, this.#length);
    this.#length += result.length;
  }

  /** A view of what is there. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Hands the bytes over, and is empty. */
  take(): Uint8Array {
    const taken = this.bytes();
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(bytesMin, needed, 2 * this.#bytes.length));
    larger.set(this.bytes());
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

/** Where the results lie, in the order of reading: a column each. */
type Table = {
  readonly log: Uint32Array;
  readonly from: Uint32Array;
  readonly bytes: Uint32Array;
  /** The last ordinal of each; the whole path is its order only when `paths` is null. */
  readonly ordinal: Uint32Array;
  paths: number[][] | null;
};

/** The results of `count` entries as a packed list, in the order of their paths. */
export function spliceArrivals(logs: readonly Uint8Array[], count: number): Uint8Array {
  const table = readTable(logs, count);
  const head = listHead(count);
  const total = table.bytes.reduce((sum, bytes) => sum + bytes, head.length);
  const list = Buffer.allocUnsafeSlow(total);
  list.set(head);
  let at = head.length;
  for (const row of orderOf(table, count)) {
    const from = table.from[row]!;
    const bytes = table.bytes[row]!;
    list.set(logs[table.log[row]!]!.subarray(from, from + bytes), at);
    at += bytes;
  }
  return list;
}

function readTable(logs: readonly Uint8Array[], count: number): Table {
  const column = () => new Uint32Array(count);
  const table: Table = { log: column(), from: column(), bytes: column(), ordinal: column(), paths: null };
  let row = 0;
  for (let log = 0; log < logs.length; log++) {
    const bytes = logs[log]!;
    let at = 0;
    const number = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]!;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value >>> 0;
      }
    };
    while (at < bytes.length) {
      const steps = number();
      if (steps === 1 && table.paths === null) table.ordinal[row] = number();
      else {
        table.paths ??= Array.from(table.ordinal.subarray(0, row), ordinal => [ordinal]);
        const path: number[] = [];
        for (let step = 0; step < steps; step++) path.push(number());
        table.paths.push(path);
      }
      const length = number();
      table.log[row] = log;
      table.from[row] = at;
      table.bytes[row] = length;
      at += length;
      row++;
    }
  }
  if (row !== count) throw new Error(`${row} arrivals are there of ${count}`);
  return table;
}

function orderOf({ ordinal, paths }: Table, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  if (paths) return rows.sort((a, b) => comparePaths(paths[a]!, paths[b]!));
  const largest = ordinal.reduce((max, each) => Math.max(max, each), 0);
  // The elements of a fan-out, each once: every row has its place.
  if (largest < count) {
    for (let row = 0; row < count; row++) rows[ordinal[row]!] = row;
    return rows;
  }
  return rows.sort((a, b) => ordinal[a]! - ordinal[b]!);
}

/** Lexicographic, a prefix first. */
export function comparePaths(a: readonly number[], b: readonly number[]): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
