// The form of an invariant between the tables of the store.
import type { Table } from '../../../runtime/store/store.ts';

/** Checks one key of its table. Returns what is wrong, or null. A removed key is valid. */
export type Invariant = {
  readonly name: string;
  readonly table: Table;
  readonly wrong: (key: Uint8Array, value: Uint8Array) => string | null;
};
