// Counts the records that are read from a store, so that tests can limit the work for an answer by a count instead of a time.
import type { Store, Table } from '../../runtime/store/store.ts';

/** Counts the records that are read from these tables from now on. The returned function returns the count since its last call. */
export function countRead(store: Store, ...tables: readonly Table[]): () => number {
  let read = 0;
  const note = (table: Table): void => {
    if (tables.includes(table)) read++;
  };
  const { get, peek, scan } = store;
  store.get = (table, key) => {
    note(table);
    return get(table, key);
  };
  store.peek = (table, key) => {
    note(table);
    return peek(table, key);
  };
  store.scan = function* (table, range) {
    for (const entry of scan(table, range)) {
      note(table);
      yield entry;
    }
  };
  return () => {
    const since = read;
    read = 0;
    return since;
  };
}
