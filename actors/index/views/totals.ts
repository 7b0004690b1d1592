// Reads the running totals.
import { KeptRecords } from '../../../runtime/store/kept-records.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { readTotal, readTotalKey, type TotalKind, type TotalTimes } from '../records/totals.ts';

/** `names`: plugin and command, pipeline and status, or pipeline and step. `times`: the histograms of the record, by name. */
export type StoredTotal = {
  readonly kind: TotalKind;
  readonly names: readonly string[];
  readonly times: ReadonlyMap<string, TotalTimes>;
};

/** If there are more records than this (0.8 or 2.3 KB each), no decoded record is kept, and each reading decodes all of them. */
const keptMax = 512;

/**
 * Returns a function that reads all running totals, as of the last commit of the index that the reader shows. If there
 * are at most `keptMax` records, with the same keys as at the last reading, a record that has not changed is the same object.
 */
export function makeTotalsReader(): (index: Reader<IndexTable>) => readonly StoredTotal[] {
  const records = new KeptRecords('totals', keptMax, (key, value): StoredTotal | null => {
    const named = readTotalKey(key);
    return named && { ...named, times: readTotal(named.kind, value) };
  });
  return index => records.read(index);
}
