// What hangs on the journal: something that takes each ended attempt once, in order, and keeps what follows from it in the index.
import type { Batch, IndexTable, Reader, Store } from '../../runtime/store/store.ts';
import type { JournalEntry } from '../job/records/journal.ts';

export interface JournalConsumer {
  /** Under it the position is kept: another name takes the whole journal again. */
  readonly name: string;
  /**
   * Takes entries, oldest first, and puts what follows from them into the batch: its position goes into the same commit.
   * Returns how many it took, at least one; the others come again. The entries are views: nothing of them may be kept.
   */
  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number;
  /**
   * Attempts were pruned, none of them later than `upToUs`: forgets some of what follows from those that are gone.
   * True while there is more to forget.
   */
  prune?(upToUs: number, batch: Batch<IndexTable>): boolean;
}

/** What a consumer is made of. */
export type Shelf = { readonly ledger: Reader; readonly index: Store<IndexTable> };
