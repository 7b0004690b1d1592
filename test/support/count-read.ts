// Counts what is read of a store, so that tests can limit the work for an answer by a count instead of a time.
import type { Store, Table } from '../../runtime/store/store.ts';

/** From now on counts the records of these tables that are read. The function returns how many were read since its last call. */
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
