// Records that cannot be used, by table and key: the actors pass over them, and everything else goes on. They stay in the store as they
// are. The list is of one life of the process: each start finds them again.
import type { Table } from './store.ts';

/** In hex, since keys are bytes. */
export type SetAsideRecord = { readonly table: Table; readonly key: string; readonly error: string };

/** Of these the list has so many; the others are passed over just the same. */
export const setAsideListedMax = 100;

export class SetAside {
  readonly #keys = new Set<string>();
  /** Those that are not even tried again. */
  readonly #blamed = new Set<string>();
  #listed: SetAsideRecord[] = [];
  readonly #onAdded: (record: SetAsideRecord) => void;

  /** `onAdded` is called once for each record. */
  constructor(onAdded: (record: SetAsideRecord) => void = () => {}) {
    this.#onAdded = onAdded;
  }

  /** What uses the record fails, though it can be decoded. */
  add(table: Table, key: Uint8Array, error: unknown): void {
    this.#blamed.add(nameOf(table, key));
    this.#list(table, key, error);
  }

  #list(table: Table, key: Uint8Array, error: unknown): void {
    const name = nameOf(table, key);
    if (this.#keys.has(name)) return;
    this.#keys.add(name);
    const record = { table, key: textOf(key), error: (error as Error).message };
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

  /** What `decode` makes of a record; undefined, and the record is set aside, where it throws or is to blame. */
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

  /** It has been written anew since. */
  #forget(table: Table, key: Uint8Array): void {
    if (!this.#keys.delete(nameOf(table, key))) return;
    const text = textOf(key);
    this.#listed = this.#listed.filter(record => record.table !== table || record.key !== text);
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('hex');
}

function nameOf(table: Table, key: Uint8Array): string {
  return `${table}\0${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')}`;
}
