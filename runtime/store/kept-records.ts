// The decoded records of a small table that is read again and again. While the table keeps the same keys, a record is decoded again only if
// its bytes have changed.
import type { Reader } from './store.ts';

type Kept<T> = { readonly key: Buffer; value: Buffer; record: T | null };

export class KeptRecords<N extends string, T extends object> {
  readonly #table: N;
  readonly #max: number;
  readonly #decode: (key: Buffer, value: Buffer) => T | null;
  /** The kept records, in the order of their keys; empty if none are kept. */
  #kept: Kept<T>[] = [];

  /** Keeps no records if the table has more than `max`. `decode` gets bytes that stay valid; it returns null to leave a record out. */
  constructor(table: N, max: number, decode: (key: Buffer, value: Buffer) => T | null) {
    this.#table = table;
    this.#max = max;
    this.#decode = decode;
  }

  /**
   * All records in the order of their keys. If the last reading kept its records and found the same keys, a record whose bytes have not
   * changed is the same object.
   */
  read(reader: Reader<N>): T[] {
    if (!this.#readKnown(reader)) {
      const all = Array.from(reader.scan(this.#table, {}), ({ key, value }) => this.#keep(Buffer.from(key), value));
      this.#kept = all.length <= this.#max ? all : [];
      return recordsOf(all);
    }
    return recordsOf(this.#kept);
  }

  /** Reads the known keys, which is faster than a scan. False: a scan is needed. */
  #readKnown(reader: Reader<N>): boolean {
    if (this.#kept.length === 0 || reader.count(this.#table) !== this.#kept.length) return false;
    for (const kept of this.#kept) {
      const value = reader.peek(this.#table, kept.key);
      if (value === undefined) return false;
      if (kept.value.equals(value)) continue;
      const { value: own, record } = this.#keep(kept.key, value);
      kept.value = own;
      kept.record = record;
    }
    return true;
  }

  #keep(key: Buffer, value: Uint8Array): Kept<T> {
    const own = Buffer.allocUnsafeSlow(value.length);
    own.set(value);
    return { key, value: own, record: this.#decode(key, own) };
  }
}

function recordsOf<T>(all: readonly Kept<T>[]): T[] {
  const records: T[] = [];
  for (const { record } of all) if (record !== null) records.push(record);
  return records;
}
