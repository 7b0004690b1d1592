// The writes of one turn, kept as three parallel lists until they are committed together.
import type { Batch, Key, Table, Value } from './store.ts';

export class WriteBatch<T extends string = Table> implements Batch<T> {
  readonly tables: T[] = [];
  readonly keys: Key[] = [];
  /** The value to write under the key; undefined if the key is to be removed. */
  readonly values: (Value | undefined)[] = [];

  get size(): number {
    return this.tables.length;
  }

  put(table: T, key: Key, value: Value): void {
    this.tables.push(table);
    this.keys.push(key);
    this.values.push(value);
  }

  remove(table: T, key: Key): void {
    this.tables.push(table);
    this.keys.push(key);
    this.values.push(undefined);
  }
}
