// The table of occurrences that have fired; a backfill skips these occurrences. Consecutive occurrences that have all fired can share a
// record. A schedule has at most `rangesMax` records. When another is added, the oldest record after the schedule's `createdMs` is removed.
// From then on, all occurrences from `createdMs` to the end of the removed range count as fired. Earlier records, which backfills have added,
// are removed last, because that would let their occurrences fire again.
import { isDue, type Recurrence } from '../../../runtime/calendar/recurrence.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { ScheduleRecord } from './schedule.ts';

export const rangesMax = 1_000;

/** A range: all occurrences of the recurrence from `firstMs` to `lastMs` have fired. `count`: their number. */
export type FiredRange = {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** The recurrence that the schedule had when the occurrences fired. */
  readonly recurrence: Recurrence;
  readonly originMs: number;
};

const timeBytes = 8;

export function firedKey(id: string, firstMs: number): Uint8Array {
  const key = Buffer.alloc(Buffer.byteLength(id) + 1 + timeBytes);
  key.write(id);
  key.writeBigUInt64BE(BigInt(firstMs), key.length - timeBytes);
  return key;
}

export function readFiredKey(key: Uint8Array): { readonly id: string; readonly firstMs: number } {
  const bytes = Buffer.from(key);
  const end = bytes.length - timeBytes;
  return { id: bytes.toString('utf8', 0, end - 1), firstMs: Number(bytes.readBigUInt64BE(end)) };
}

export function putFired(batch: Batch, id: string, range: FiredRange): void {
  const { firstMs, lastMs, count, recurrence, originMs } = range;
  batch.put('fired', firedKey(id, firstMs), pack([lastMs, count, recurrence, originMs]));
}

export function decodeFired(firstMs: number, value: Uint8Array): FiredRange {
  const [lastMs, count, recurrence, originMs] = unpack<[number, number, Recurrence, number]>(value);
  return { firstMs, lastMs, count, recurrence, originMs };
}

/** The key range of a schedule's ranges that begin from `fromMs` up to, not including, `untilMs`. */
function keysOf(id: string, untilMs: number, fromMs = 0) {
  return { from: firedKey(id, fromMs), to: firedKey(id, untilMs) };
}

const endOfTime = 2 ** 52;

/** The ranges of a schedule that begin before `untilMs`, oldest first. Leaves out unusable ranges. */
export function* firedRanges(reader: Reader, id: string, untilMs = endOfTime): Iterable<FiredRange> {
  for (const { key, value } of reader.scan('fired', keysOf(id, untilMs))) {
    const range = readable(() => decodeFired(readFiredKey(key).firstMs, Buffer.from(value)));
    if (range) yield range;
  }
}

export function readFired(reader: Reader, id: string, firstMs: number): FiredRange | undefined {
  const value = reader.get('fired', firedKey(id, firstMs));
  return value && decodeFired(firstMs, value);
}

/** Whether the occurrence has fired, waits in the queue, or counts as fired because its record was dropped (`knownMs`). */
export function hasFired(record: FiringsRecord, ranges: Iterable<FiredRange>, dueMs: number): boolean {
  if (record.createdMs < dueMs && dueMs <= record.knownMs) return true;
  if (record.queue.some(waiting => waiting.dueMs === dueMs)) return true;
  for (const { firstMs, lastMs, recurrence, originMs } of ranges)
    if (firstMs <= dueMs && dueMs <= lastMs && isDue(recurrence, dueMs, originMs)) return true;
  return false;
}

type FiringsRecord = Pick<ScheduleRecord, 'createdMs' | 'knownMs' | 'queue'>;

/**
 * Removes ranges that `reader` shows, until the schedule has `rangesMax`: the oldest ones that begin after `createdMs` and, if there are no
 * more of these, the oldest ones before. `count`: how many ranges the schedule has, including those that this turn has added. `removed`: how
 * many ranges this turn has already removed; `reader` still shows them. Returns how many ranges this call has removed, and the end of the
 * newest of them (its beginning if its record is unusable). Null: no range was removed.
 */
export function dropOldest(
  reader: Reader,
  batch: Batch,
  id: string,
  { createdMs, count, removed }: { readonly createdMs: number; readonly count: number; readonly removed: number },
): { readonly count: number; readonly lastMs: number } | null {
  if (count <= rangesMax) return null;
  const max = removed + count - rangesMax;
  const found = [keysOf(id, endOfTime, createdMs + 1), keysOf(id, createdMs + 1)]
    .flatMap(keys => Array.from(reader.scan('fired', { ...keys, limit: max }), lastOf))
    .slice(removed, max);
  for (const { key } of found) batch.remove('fired', key);
  return found.length === 0 ? null : { count: found.length, lastMs: Math.max(...found.map(({ lastMs }) => lastMs)) };
}

/** The key of a range, and the end of the range (its beginning if its record is unusable). */
function lastOf({ key, value }: { readonly key: Uint8Array; readonly value: Uint8Array }) {
  const { firstMs } = readFiredKey(key);
  const lastMs = readable(() => decodeFired(firstMs, Buffer.from(value)).lastMs) ?? firstMs;
  return { key: Buffer.from(key), lastMs };
}

export function removeFired(reader: Reader, batch: Batch, id: string): void {
  for (const key of reader.keys('fired', keysOf(id, endOfTime))) batch.remove('fired', Buffer.from(key));
}
