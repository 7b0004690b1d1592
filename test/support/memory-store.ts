// The store of the simulation: sorted maps in memory, with the same answers as the real store and faults on demand.
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

/** An entry never changes: a write replaces it. */
type Entry = { readonly key: Buffer; readonly value: Uint8Array };
type Sheet = { readonly entries: Map<string, Entry> /** In order. */; readonly names: string[] };

/**
 * `beforeCommit` may throw StoreFull or StoreFault; the batch then leaves no trace. With `copies: false`, the store keeps the buffers of a batch
 * instead of copies, so the caller must not change them later.
 */
export function openMemoryStore(
  beforeCommit: (batch: Batch) => void = () => {},
  { copies = true }: { readonly copies?: boolean } = {},
): Store {
  return openMemory(tables, beforeCommit, copies);
}

export function openMemoryIndex(): Store<IndexTable> {
  return openMemory(indexTables, () => {}, true);
}

function openMemory<T extends string>(
  names: readonly T[],
  beforeCommit: (batch: Batch<T>) => void,
  copies: boolean,
): Store<T> {
  let fault: StoreFault | null = null;
  const lmdb = new Map<T, Sheet>(names.map(name => [name, { entries: new Map(), names: [] }]));

  function namesIn({ names }: Sheet, range: Range): string[] {
    const from = range.from ? placeOf(names, text(range.from)) : 0;
    const to = Math.max(from, range.to ? placeOf(names, text(range.to)) : names.length);
    const count = Math.min(to - from, range.limit ?? Number.POSITIVE_INFINITY);
    return range.reverse ? names.slice(to - count, to).reverse() : names.slice(from, from + count);
  }

  function entriesIn(table: T, range: Range): Entry[] {
    const sheet = lmdb.get(table)!;
    return namesIn(sheet, range).map(name => sheet.entries.get(name)!);
  }

  const get = (table: T, key: Key) => lmdb.get(table)!.entries.get(text(key))?.value;
  return {
    get,
    peek: get,
    scan: entriesIn,
    keys: (table, range) => entriesIn(table, range).map(({ key }) => key),
    count: table => lmdb.get(table)!.names.length,
    refresh() {},
    // The store can be used again after it is closed, as if it were reopened.
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
        const { entries, names } = lmdb.get(places[i]!)!;
        const [key, value] = [keys[i]!, values[i]];
        const name = text(key);
        const known = entries.get(name);
        if (known && value === undefined) names.splice(placeOf(names, name), 1);
        else if (!known && value !== undefined) names.splice(placeOf(names, name), 0, name);
        if (value === undefined) entries.delete(name);
        else
          entries.set(name, {
            key: known?.key ?? Buffer.from(name, 'latin1'),
            value: copies ? Buffer.from(value) : value,
          });
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
  return Buffer.prototype.latin1Slice.call(key, 0, key.length);
}
