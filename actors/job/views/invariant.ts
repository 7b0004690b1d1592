// The form of an invariant between the tables of the store.
import type { Table } from '../../../runtime/store/store.ts';

/** A check of one record of a table. `wrong` describes the fault of the record. Null: the record has no fault. */
export type Invariant = {
  readonly name: string;
  readonly table: Table;
  readonly wrong: (key: Uint8Array, value: Uint8Array) => string | null;
};
