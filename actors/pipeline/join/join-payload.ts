// The payload of a join, if it is a value in parts. Entries other than `results` are read and added without reading the results.
import { type Section, sectionsOf } from '../../../runtime/parted.ts';
import { contentsOf, entryAt, mapCount, mapHead, skipValue } from '../../../runtime/splice.ts';

/** Above this size, a value refers to stored bytes instead of copying them. */
export const partedBytesMin = 4 * 2 ** 20;
const resultsKey = Buffer.from('\xa7results', 'latin1');
const joinedHead = Buffer.concat([mapHead(3), resultsKey]);

/** The entries of a join's payload other than `results`, as a packed map. Null: the value is not the payload of a join. */
function besideResults(parted: Uint8Array): Uint8Array | null {
  const sections = sectionsOf(parted);
  const [first, last] = [sections[0], sections.at(-1)];
  if (!(first instanceof Uint8Array && last instanceof Uint8Array) || sections.length < 2) return null;
  return joinedHead.equals(first.subarray(0, joinedHead.length)) ? Buffer.concat([mapHead(2), last]) : null;
}

/** The value of one entry other than `results`. Null: `parted` is not the payload of a join, or has no such entry. */
export function besideAt(parted: Uint8Array, key: string): Uint8Array | null {
  const beside = besideResults(parted);
  const span = beside && entryAt(beside, 0, Buffer.from(key));
  return span && beside!.subarray(span.from, span.to);
}

/** The payload with entries added. Null: the value is not the payload of a join, or has one of these (packed) keys already. */
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
