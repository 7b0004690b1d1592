// The form of an invariant between the tables of the store.
import type { Table } from '../../../runtime/store/store.ts';

/** A check of one record of a table. `wrong` returns what is wrong with the record, or null. A record that was removed needs no check. */
export type Invariant = {
  readonly name: string;
  readonly table: Table;
  readonly wrong: (key: Uint8Array, value: Uint8Array) => string | null;
};
