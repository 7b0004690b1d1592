// The table of hold ends: the times at which holds, including those by pauses, ended. From these times the stopwatch finds when a held job
// was free to run.
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { readUs, usKey } from './journal.ts';

/** When more hold ends than this are stored, the oldest are removed. */
export const holdEndsMax = 10_000;
/** The maximum number of hold ends that one call of `pruneHoldEnds` removes. */
const prunedPerTurnMax = 1_000;
const timeBytes = 8;

/** The end of a hold. `plugin` is empty for a pause of the whole service; `command` is empty if all commands of the plugin were held. */
export type HoldEnd = { readonly atUs: number; readonly plugin: string; readonly command: string };

/** Stores the end of a hold. Removes the oldest ends that exceed `holdEndsMax`. */
export function writeHoldEnd(reader: Reader, batch: Batch, { atUs, plugin, command }: HoldEnd): void {
  batch.put('hold_ends', Buffer.concat([usKey(atUs), Buffer.from(`${plugin}\0${command}`)]), new Uint8Array(0));
  const excess = reader.count('hold_ends') + 1 - holdEndsMax;
  if (excess > 0)
    for (const key of reader.keys('hold_ends', { limit: excess })) batch.remove('hold_ends', Buffer.from(key));
}

/** Removes the hold ends before this time, at most `prunedPerTurnMax`. */
export function pruneHoldEnds(reader: Reader, batch: Batch, beforeUs: number): void {
  const range = { to: usKey(Math.max(0, beforeUs)), limit: prunedPerTurnMax };
  for (const key of reader.keys('hold_ends', range)) batch.remove('hold_ends', Buffer.from(key));
}

/** All stored hold ends, oldest first. Unusable records are skipped. */
export function* readHoldEnds(reader: Reader): Iterable<HoldEnd> {
  for (const key of reader.keys('hold_ends', {})) {
    const end = decodeHoldEnd(key);
    if (end) yield end;
  }
}

/** The `HoldEnd` that a key describes. Null: the record is unusable. */
export function decodeHoldEnd(key: Uint8Array): HoldEnd | null {
  const [plugin, command, ...more] = Buffer.from(key.subarray(timeBytes)).toString().split('\0');
  if (key.length <= timeBytes || plugin === undefined || command === undefined || more.length > 0) return null;
  return { atUs: readUs(key), plugin, command };
}
