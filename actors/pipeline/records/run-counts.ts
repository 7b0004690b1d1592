// What is counted of the open runs of a definition, as it is stored.
import { pack, unpack } from '../../../runtime/packing.ts';

/** Of open runs: how many, their records, the settled jobs inside them, and the bytes of the records. */
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
