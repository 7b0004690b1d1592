// Selects jobs by the time of their acceptance. The ids of jobs are in the order of these times.
import { type BlockKey, blockKeyBytes, blockKeyMs } from '../../../runtime/ids.ts';
import type { Block } from './block.ts';

/** A range of acceptance times, both ends inclusive, in µs since the epoch. */
export type AcceptedRange = { readonly fromUs: number; readonly toUs: number };

const msMax = 2 ** 48 - 1;

/** The range between two times. A null time sets no limit. Undefined if both are null. */
export function acceptedRange(fromUs: number | null, toUs: number | null): AcceptedRange | undefined {
  if (fromUs === null && toUs === null) return undefined;
  return { fromUs: fromUs ?? 0, toUs: toUs ?? Number.MAX_SAFE_INTEGER };
}

/**
 * Whether the jobs of a block were accepted in this range. The time in the key can be later than the acceptance, for instance after the
 * clock was set back. The time in the key then counts, so that jobs have the same order by time and by key.
 */
export function isAcceptedIn(
  { fromUs, toUs }: AcceptedRange,
  key: BlockKey,
  { createdUs }: Pick<Block, 'createdUs'>,
): boolean {
  const us = Math.max(createdUs, 1000 * blockKeyMs(key));
  return us >= fromUs && us <= toUs;
}

/** A range of keys that contains the keys of all blocks whose jobs were accepted in this range of times. `to` is not included. */
export function keysOf({ fromUs, toUs }: AcceptedRange): { readonly from: BlockKey; readonly to: BlockKey } {
  return { from: keyAt(Math.floor(fromUs / 1000)), to: keyAt(Math.floor(toUs / 1000) + 1) };
}

/** A key that is less than the keys of all blocks from this time on, and greater than the keys of earlier blocks. */
function keyAt(ms: number): BlockKey {
  const key = Buffer.alloc(blockKeyBytes);
  key.writeUIntBE(Math.min(msMax, Math.max(0, ms)), 0, 6);
  return key;
}
