// The unusable records, by table and key. The actors skip these records, which stay in the store. The list is kept only in
// memory: after a start, each of these records is found again when it is used.
import { hexOf } from '../bytes.ts';
import type { Table } from './store.ts';

/** `key` is in hex, because keys are bytes. */
export type SetAsideRecord = { readonly table: Table; readonly key: string; readonly error: string };

/** The maximum number of listed records. Further unusable records are skipped, too, but not listed. */
export const setAsideListedMax = 100;

/**
 * Decodes a record for display. Returns undefined if the record is unusable. Does not set the record aside, because only the ledger thread
 * may do so.
 */
export function readable<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

export class SetAside {
  readonly #keys = new Set<string>();
  /** The records that `add` has added, which are skipped although they can be decoded. */
  readonly #blamed = new Set<string>();
  #listed: SetAsideRecord[] = [];
  readonly #onAdded: (record: SetAsideRecord) => void;

  /** `onAdded` is called when a record is set aside. */
  constructor(onAdded: (record: SetAsideRecord) => void = () => {}) {
    this.#onAdded = onAdded;
  }

  /** Adds a record that can be decoded, but whose use fails. */
  add(table: Table, key: Uint8Array, error: unknown): void {
    this.#blamed.add(nameOf(table, key));
    this.#list(table, key, error);
  }

  #list(table: Table, key: Uint8Array, error: unknown): void {
    const name = nameOf(table, key);
    if (this.#keys.has(name)) return;
    this.#keys.add(name);
    const record = { table, key: hexOf(key), error: (error as Error).message };
    if (this.#listed.length < setAsideListedMax) this.#listed.push(record);
    this.#onAdded(record);
  }

  has(table: Table, key: Uint8Array): boolean {
    return this.#keys.has(nameOf(table, key));
  }

  get size(): number {
    return this.#keys.size;
  }

  get listed(): readonly SetAsideRecord[] {
    return this.#listed;
  }

  /**
   * Decodes a record. If `decode` throws, sets the record aside and returns undefined. Also returns undefined for records that `add` has
   * added.
   */
  read<T>(table: Table, key: Uint8Array, decode: () => T): T | undefined {
    if (this.#blamed.size > 0 && this.#blamed.has(nameOf(table, key))) return undefined;
    try {
      const value = decode();
      if (this.#keys.size > 0) this.#forget(table, key);
      return value;
    } catch (error) {
      this.#list(table, key, error);
      return undefined;
    }
  }

  /**
   * Takes a record off the list, if it is listed. Called for each record that can be decoded: if it was listed, it has been written again
   * since.
   */
  #forget(table: Table, key: Uint8Array): void {
    if (!this.#keys.delete(nameOf(table, key))) return;
    const text = hexOf(key);
    this.#listed = this.#listed.filter(record => record.table !== table || record.key !== text);
  }
}

function nameOf(table: Table, key: Uint8Array): string {
  return `${table}\0${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')}`;
}
