// The store of the simulator: sorted maps in memory, with the same answers as the real one and faults on demand.
import { WriteBatch } from '../../runtime/store/batch.ts';
import {
  type Batch,
  type IndexTable,
  indexTables,
  type Key,
  type Range,
  type Store,
  StoreFault,
  tables,
} from '../../runtime/store/store.ts';

type Sheet = { readonly values: Map<string, Uint8Array> /** In order. */; readonly keys: string[] };

/** `beforeCommit` may throw StoreFull or StoreFault; the batch then leaves no trace. */
export function openMemoryStore(beforeCommit: (batch: Batch) => void = () => {}): Store {
  return openMemory(tables, beforeCommit);
}

export function openMemoryIndex(): Store<IndexTable> {
  return openMemory(indexTables, () => {});
}

function openMemory<T extends string>(names: readonly T[], beforeCommit: (batch: Batch<T>) => void): Store<T> {
  let fault: StoreFault | null = null;
  const sheets = new Map<T, Sheet>(names.map(name => [name, { values: new Map(), keys: [] }]));

  function keysIn({ keys }: Sheet, range: Range): string[] {
    const from = range.from ? placeOf(keys, text(range.from)) : 0;
    const to = Math.max(from, range.to ? placeOf(keys, text(range.to)) : keys.length);
    const count = Math.min(to - from, range.limit ?? Number.POSITIVE_INFINITY);
    return range.reverse ? keys.slice(to - count, to).reverse() : keys.slice(from, from + count);
  }

  return {
    get: (table, key) => sheets.get(table)!.values.get(text(key)),
    peek: (table, key) => sheets.get(table)!.values.get(text(key)),
    *scan(table, range: Range) {
      const sheet = sheets.get(table)!;
      for (const key of keysIn(sheet, range)) {
        const value = sheet.values.get(key);
        if (value) yield { key: Buffer.from(key, 'latin1'), value };
      }
    },
    keys: (table, range) => keysIn(sheets.get(table)!, range).map(key => Buffer.from(key, 'latin1')),
    count: table => sheets.get(table)!.values.size,
    refresh() {},
    // Further use counts as opening it again.
    close() {
      fault = null;
    },
    batch: () => new WriteBatch<T>(),
    commit(batch) {
      if (fault !== null) throw fault;
      try {
        beforeCommit(batch);
      } catch (error) {
        if (error instanceof StoreFault) fault = error;
        throw error;
      }
      const { tables: places, keys, values } = batch as WriteBatch<T>;
      for (let i = 0; i < places.length; i++) {
        const sheet = sheets.get(places[i]!)!;
        const key = text(keys[i]!);
        const value = values[i];
        const isThere = sheet.values.has(key);
        if (isThere && value === undefined) sheet.keys.splice(placeOf(sheet.keys, key), 1);
        else if (!isThere && value !== undefined) sheet.keys.splice(placeOf(sheet.keys, key), 0, key);
        if (value === undefined) sheet.values.delete(key);
        else sheet.values.set(key, Buffer.from(value));
      }
    },
  };
}

/** How many of the sorted keys are below this one. */
function placeOf(keys: readonly string[], key: string): number {
  // Most new keys come behind all others.
  if (keys.length > 0 && keys[keys.length - 1]! < key) return keys.length;
  let low = 0;
  for (let high = keys.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function text(key: Key): string {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return bytes.toString('latin1');
}
