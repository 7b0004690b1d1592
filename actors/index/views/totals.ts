// Reads the running totals.
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { readTotal, readTotalKey, type TotalKind, type TotalTimes } from '../records/totals.ts';

/** `names`: plugin and command, pipeline and status, or pipeline and step. `times`: the histograms of the record, by name. */
export type StoredTotal = {
  readonly kind: TotalKind;
  readonly names: readonly string[];
  readonly times: ReadonlyMap<string, TotalTimes>;
};

/**
 * All running totals, as of the last commit of the index that the reader shows. `withExamples` false: without the newest jobs of the buckets, which
 * takes less time.
 */
export function readTotals(index: Pick<Reader<IndexTable>, 'scan'>, withExamples = true): StoredTotal[] {
  const found: StoredTotal[] = [];
  for (const { key, value } of index.scan('totals', {})) {
    const named = readTotalKey(key);
    // The bytes of a scan are valid only until it goes on, and examples refer to them.
    if (named)
      found.push({ ...named, times: readTotal(named.kind, withExamples ? Buffer.from(value) : value, withExamples) });
  }
  return found;
}
