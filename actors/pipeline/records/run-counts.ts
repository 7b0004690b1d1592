// The stored counts of a definition's open runs.
import { pack, unpack } from '../../../runtime/packing.ts';

/**
 * For the open runs of a definition: their number, the number of their records, the number of settled jobs inside them, and the size of the
 * records. Accepted runs of batches (accepted-runs.ts) are counted in `runs` before they begin.
 */
export type RunCounts = { runs: number; records: number; settled: number; bytes: number };
type PackedCounts = [runs: number, records: number, settled: number, bytes: number];

export const noRuns = (): RunCounts => ({ runs: 0, records: 0, settled: 0, bytes: 0 });

export function encodeRunCounts({ runs, records, settled, bytes }: RunCounts): Uint8Array {
  return pack([runs, records, settled, bytes] satisfies PackedCounts);
}

export function readRunCounts(value: Uint8Array): RunCounts {
  const [runs, records, settled, bytes] = unpack<PackedCounts>(value);
  return { runs, records, settled, bytes };
}
