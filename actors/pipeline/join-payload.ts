// The payload of a join where it is in parts: what stands beside its results is found, and added to, without reading these.
import { type Section, sectionsOf } from '../../runtime/parted.ts';
import { contentsOf, entryAt, mapCount, mapHead, skipValue } from '../../runtime/splice.ts';

/** Results that take more are named where they lie: to copy and write them takes 2 ms of the ledger for each MiB. */
export const partedBytesMin = 4 * 2 ** 20;
const resultsKey = Buffer.from('\xa7results', 'latin1');
const joinedHead = Buffer.concat([mapHead(3), resultsKey]);

/** The packed entries beside the results in a join's payload in parts. Null: the value is no such payload. */
function besideResults(parted: Uint8Array): Uint8Array | null {
  const sections = sectionsOf(parted);
  const [first, last] = [sections[0], sections.at(-1)];
  if (!(first instanceof Uint8Array && last instanceof Uint8Array) || sections.length < 2) return null;
  return joinedHead.equals(first.subarray(0, joinedHead.length)) ? Buffer.concat([mapHead(2), last]) : null;
}

/** What lies under a key beside the results of a join in parts; null: it is not there, or this is another value. */
export function besideAt(parted: Uint8Array, key: string): Uint8Array | null {
  const beside = besideResults(parted);
  const span = beside && entryAt(beside, 0, Buffer.from(key));
  return span && beside!.subarray(span.from, span.to);
}

/** The payload of a join in parts with entries added; null: it is another value, or has one of these keys (packed). */
export function withEntries(
  parted: Uint8Array,
  keys: readonly Uint8Array[],
  added: readonly Section[],
): readonly Section[] | null {
  const beside = besideResults(parted);
  if (beside === null || keys.some(key => resultsKey.equals(key) || hasKey(beside, key))) return null;
  const [first, ...more] = sectionsOf(parted) as [Uint8Array, ...Section[]];
  return [mapHead(3 + keys.length), first.subarray(contentsOf(first)), ...more, ...added];
}

function hasKey(map: Uint8Array, packedKey: Uint8Array): boolean {
  let at = contentsOf(map);
  for (let left = mapCount(map); left > 0; left--) {
    const value = skipValue(map, at);
    if (Buffer.compare(map.subarray(at, value), packedKey) === 0) return true;
    at = skipValue(map, value);
  }
  return false;
}
