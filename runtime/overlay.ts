// Merges two packed maps in time linear in their bytes, however many entries they have.
import { copyBytes } from './bytes.ts';
import { KeySet } from './key-set.ts';
import { contentsOf, isText, mapCount, mapHead, skipValue, textSpan } from './splice.ts';

/** The longest head of a packed map. */
const headBytesMax = 5;
/** Up to this number keys are compared one by one; more are looked up in a set. */
const comparedMax = 8;

/** The map with the entries of another added; the other's entries replace those with the same keys. */
export function overlayMap(map: Uint8Array, over: Uint8Array): Uint8Array {
  const isCovered = keysOf(over);
  const overAt = contentsOf(over);
  const laid = Buffer.allocUnsafe(headBytesMax + map.length + over.length);
  let count = mapCount(over);
  let end = headBytesMax;
  let at = contentsOf(map);
  let from = at;
  for (let left = mapCount(map); left > 0; left--) {
    const entry = at;
    const keyEnd = skipValue(map, entry);
    at = skipValue(map, keyEnd);
    if (!isCovered(map, entry, keyEnd)) {
      count++;
      continue;
    }
    end = copyBytes(laid, end, map, from, entry);
    from = at;
  }
  end = copyBytes(laid, end, map, from, at);
  end = copyBytes(laid, end, over, overAt, over.length);
  const head = mapHead(count);
  const start = headBytesMax - head.length;
  laid.set(head, start);
  return laid.subarray(start, end);
}

/** A function that says whether the text between two offsets is a key of the map. */
function keysOf(map: Uint8Array): (bytes: Uint8Array, at: number, to: number) => boolean {
  const count = mapCount(map);
  if (count > comparedMax) {
    const keys = new KeySet(map);
    return (bytes, place, to) => keys.has(bytes, place, to);
  }
  const texts: Uint8Array[] = [];
  let at = contentsOf(map);
  for (let left = count; left > 0; left--) {
    const span = textSpan(map, at);
    if (span !== null) texts.push(map.subarray(span.from, span.to));
    at = skipValue(map, skipValue(map, at));
  }
  return (bytes, place) => texts.some(text => isText(bytes, place, text));
}
