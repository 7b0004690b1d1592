// A journal consumer processes each attempt in the journal once, in order, and stores derived data in the index.
import type { Batch, IndexTable, Reader, Store } from '../../runtime/store/store.ts';
import type { JournalEntry } from '../job/records/journal.ts';

export interface JournalConsumer {
  /**
   * The name under which the consumer's position in the journal is stored. A consumer with a new name begins at the start of the
   * journal.
   */
  readonly name: string;
  /**
   * Processes entries, oldest first, and adds the derived data to the batch, which is committed together with the position. Returns how
   * many entries it has processed, at least one; the next call passes the remaining entries again. The consumer must not keep the entries: they
   * refer to memory of the store.
   */
  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number;
  /**
   * Removes some derived data of pruned attempts. All pruned attempts ended at `upToUs` or earlier. True: there may be
   * more to remove.
   */
  prune?(upToUs: number, batch: Batch<IndexTable>): boolean;
}

export type IndexStores = { readonly ledger: Reader; readonly index: Store<IndexTable> };
