// The store of the simulator: sorted maps in memory, with the same answers as the real one and faults on demand.
import { WriteBatch } from './batch.ts';
import { type Batch, type IndexTable, indexTables, type Key, type Range, type Store, tables } from './store.ts';

type Sheet = { values: Map<string, Uint8Array>; sorted: string[] | null };

/** `beforeCommit` may throw StoreFull or StoreFault; the batch then leaves no trace. */
export function openMemoryStore(beforeCommit: (batch: Batch) => void = () => {}): Store {
  return openMemory(tables, beforeCommit);
}

export function openMemoryIndex(): Store<IndexTable> {
  return openMemory(indexTables, () => {});
}

function openMemory<T extends string>(names: readonly T[], beforeCommit: (batch: Batch<T>) => void): Store<T> {
  const sheets = new Map<T, Sheet>(names.map(name => [name, { values: new Map(), sorted: null }]));

  function keysOf(sheet: Sheet): string[] {
    sheet.sorted ??= [...sheet.values.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return sheet.sorted;
  }

  return {
    get: (table, key) => sheets.get(table)!.values.get(text(key)),
    *scan(table, range: Range) {
      const sheet = sheets.get(table)!;
      const keys = keysOf(sheet);
      const from = range.from ? placeOf(keys, text(range.from)) : 0;
      const to = Math.max(from, range.to ? placeOf(keys, text(range.to)) : keys.length);
      const count = Math.min(to - from, range.limit ?? Number.POSITIVE_INFINITY);
      const wanted = range.reverse ? keys.slice(to - count, to).reverse() : keys.slice(from, from + count);
      for (const key of wanted) {
        const value = sheet.values.get(key);
        if (value) yield { key: Buffer.from(key, 'latin1'), value };
      }
    },
    count: table => sheets.get(table)!.values.size,
    refresh() {},
    close() {},
    batch: () => new WriteBatch<T>(),
    commit(batch) {
      beforeCommit(batch);
      const { tables: places, keys, values } = batch as WriteBatch<T>;
      for (let i = 0; i < places.length; i++) {
        const sheet = sheets.get(places[i]!)!;
        const key = text(keys[i]!);
        const value = values[i];
        if (value === undefined ? sheet.values.has(key) : !sheet.values.has(key)) sheet.sorted = null;
        if (value === undefined) sheet.values.delete(key);
        else sheet.values.set(key, Buffer.from(value));
      }
    },
  };
}

/** How many of the sorted keys are below this one. */
function placeOf(keys: readonly string[], key: string): number {
  let low = 0;
  for (let high = keys.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function text(key: Key): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
