// Merges two packed maps (MessagePack) in time linear in their length, however many entries they have.
import { copyBytes } from './bytes.ts';
import { KeySet } from './key-set.ts';
import { contentsOf, isText, mapCount, mapHead, skipValue, textSpan } from './splice.ts';

/** The maximum number of bytes before the entries of a packed map. */
const headBytesMax = 5;
/** If a map has more keys than this, `keysOf` puts them into a `KeySet`; otherwise it compares them one by one. */
const comparedMax = 8;

/** Returns `map` with the entries of `over` added. An entry of `over` replaces the entry of `map` that has the same key. */
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

/** Returns a function that says whether the packed text between two offsets is a key of the map. */
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
