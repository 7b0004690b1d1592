// Finds values in large packed values (MessagePack), and converts large packed values to JSON text, in steps of about `stepBytes` bytes.
// Also makes functions that compare packed values with given values.
import { bufferOf } from './bytes.ts';
import { unpack } from './packing.ts';
import type { Sliced } from './slices.ts';
import {
  contentsOf,
  endWithin,
  isText,
  listCount,
  listHead,
  mapCount,
  mapHead,
  place,
  type Span,
  skipInSteps,
  skipValue,
  textFrom,
  textSpan,
} from './splice.ts';

/** Like `spanAt` (splice.ts), but in steps: the span of the value to which these keys lead; null if they lead to no value. */
export function* spanInSteps(bytes: Uint8Array, keys: readonly string[], stepBytes: number): Sliced<Span | null> {
  let at = 0;
  for (const key of keys) {
    const count = listCount(bytes, at);
    if (count < 0) {
      const found: number = yield* entryInSteps(bytes, at, Buffer.from(key), stepBytes);
      if (found < 0) return null;
      at = found;
    } else if (!place.test(key) || Number(key) >= count) return null;
    else at = yield* skipInSteps(bytes, contentsOf(bytes, at), Number(key), stepBytes);
  }
  return { from: at, to: yield* skipInSteps(bytes, at, 1, stepBytes) };
}

/** The offset of the value under `key` in the map at `at`; -1 if there is no map at `at`, or if the map lacks the key. */
function* entryInSteps(bytes: Uint8Array, at: number, key: Uint8Array, stepBytes: number): Sliced<number> {
  let here = contentsOf(bytes, at);
  let stepEnd = here + stepBytes;
  for (let left = mapCount(bytes, at); left > 0; left--) {
    const value = skipValue(bytes, here);
    if (isText(bytes, here, key)) return value;
    here = endWithin(bytes, value, value + stepBytes);
    if (here < 0) here = yield* skipInSteps(bytes, value, 1, stepBytes);
    if (here < stepEnd) continue;
    yield;
    stepEnd = here + stepBytes;
  }
  return -1;
}

/** The entries of a packed map that remain when some are left out: the spans of their bytes, and their number. */
export type MapRest = { readonly spans: readonly Span[]; readonly count: number };

/** Finds the entries of the packed map in `bytes`, except those with these (packed) keys. */
export function* entriesWithout(bytes: Uint8Array, keys: readonly Uint8Array[], stepBytes: number): Sliced<MapRest> {
  const spans: Span[] = [];
  let here = contentsOf(bytes);
  let from = here;
  let count = 0;
  let stepEnd = here + stepBytes;
  for (let left = mapCount(bytes); left > 0; left--) {
    const entry = here;
    const value = skipValue(bytes, entry);
    here = endWithin(bytes, value, value + stepBytes);
    if (here < 0) here = yield* skipInSteps(bytes, value, 1, stepBytes);
    const isLeftOut = keys.some(
      key => key.length === value - entry && Buffer.compare(key, bytes.subarray(entry, value)) === 0,
    );
    if (isLeftOut) {
      if (entry > from) spans.push({ from, to: entry });
      from = here;
    } else count++;
    if (here < stepEnd) continue;
    yield;
    stepEnd = here + stepBytes;
  }
  if (here > from) spans.push({ from, to: here });
  return { spans, count };
}

/** Whether `test` holds for any element of the packed list, or any key of the packed map. `test` gets the offset of the element or key. */
export function* someElement(bytes: Uint8Array, test: (at: number) => boolean, stepBytes: number): Sliced<boolean> {
  let here = contentsOf(bytes);
  let stepEnd = here + stepBytes;
  const isMap = mapCount(bytes) >= 0;
  for (let left = isMap ? mapCount(bytes) : listCount(bytes); left > 0; left--) {
    if (test(here)) return true;
    const value = isMap ? skipValue(bytes, here) : here;
    here = endWithin(bytes, value, value + stepBytes);
    if (here < 0) here = yield* skipInSteps(bytes, value, 1, stepBytes);
    if (here < stepEnd) continue;
    yield;
    stepEnd = here + stepBytes;
  }
  return false;
}

/** Converts a packed value to JSON text, in UTF-8, in several pieces (`jsonPieces`). */
export function* jsonInSteps(bytes: Uint8Array, stepBytes: number): Sliced<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (const piece of jsonPieces(bytes, stepBytes)) {
    pieces.push(Buffer.from(piece));
    yield;
  }
  return pieces;
}

/** Yields the JSON text of the value at `at`. Each piece encodes at most about `stepBytes` bytes. Returns the end of the value. */
export function* jsonPieces(bytes: Uint8Array, stepBytes: number, at = 0): Generator<string, number, void> {
  let end = endWithin(bytes, at, at + stepBytes);
  if (end < 0) {
    const isMap = mapCount(bytes, at) >= 0;
    const count = isMap ? mapCount(bytes, at) : listCount(bytes, at);
    if (count > 0) return yield* entryPieces(bytes, stepBytes, contentsOf(bytes, at), count, isMap);
    if (textFrom(bytes, at) >= 0) return yield* textPieces(bytes, stepBytes, at);
    end = skipValue(bytes, at);
  }
  yield JSON.stringify(unpack(bytes.subarray(at, end)));
  return end;
}

/** Yields the entries of a map or list. Neighbouring small entries share a piece; a large entry takes several pieces. */
function* entryPieces(
  bytes: Uint8Array,
  stepBytes: number,
  first: number,
  count: number,
  isMap: boolean,
): Generator<string, number, void> {
  let at = first;
  let separator = isMap ? '{' : '[';
  for (let left = count; left > 0; separator = ',') {
    yield separator;
    const { end, taken } = neighbours(bytes, at, left, isMap, at + stepBytes);
    if (taken > 0) {
      const together = Buffer.concat([isMap ? mapHead(taken) : listHead(taken), bytes.subarray(at, end)]);
      yield JSON.stringify(unpack(together)).slice(1, -1);
      at = end;
      left -= taken;
      continue;
    }
    if (isMap) {
      at = yield* keyPieces(bytes, stepBytes, at);
      yield ':';
    }
    at = yield* jsonPieces(bytes, stepBytes, at);
    left--;
  }
  yield isMap ? '}' : ']';
  return at;
}

/** Yields the JSON text of the key at `at`. Plugin code can pack a key that is not a text. */
function* keyPieces(bytes: Uint8Array, stepBytes: number, at: number): Generator<string, number, void> {
  if (textFrom(bytes, at) >= 0) return yield* jsonPieces(bytes, stepBytes, at);
  const end = skipValue(bytes, at);
  yield JSON.stringify(String(unpack(bytes.subarray(at, end))));
  return end;
}

/** Counts the next elements or entries that end at or before `limit` (`taken`), and finds where the last of them ends. */
function neighbours(bytes: Uint8Array, from: number, left: number, isMap: boolean, limit: number) {
  let end = from;
  let taken = 0;
  while (taken < left) {
    const value = isMap ? endWithin(bytes, end, limit) : end;
    const next = value < 0 ? -1 : endWithin(bytes, value, limit);
    if (next < 0) break;
    end = next;
    taken++;
  }
  return { end, taken };
}

/** The maximum number of bytes of a character in UTF-8. */
const letterBytesMax = 4;

function* textPieces(bytes: Uint8Array, stepBytes: number, at: number): Generator<string, number, void> {
  const { from, to } = textSpan(bytes, at)!;
  const text = bufferOf(bytes);
  yield '"';
  for (let here = from; here < to; ) {
    let end = Math.min(here + Math.max(stepBytes, letterBytesMax), to);
    for (let k = 1; k < letterBytesMax && end < to && isInLetter(text[end]!); k++) end--;
    yield JSON.stringify(text.toString('utf8', here, end)).slice(1, -1);
    here = end;
  }
  yield '"';
  return to;
}

function isInLetter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Compares the packed value at `at` with a given value. Returns the end of the packed value if they are equal, otherwise -1. */
export type EndOfEqual = (bytes: Uint8Array, at: number) => number;

/**
 * Makes a function that compares packed values with `wanted`. The function stops at the first difference, even in a large value.
 */
export function equalTo(wanted: unknown): EndOfEqual {
  if (Array.isArray(wanted)) {
    const items = wanted.map(equalTo);
    return (bytes, at) => {
      if (listCount(bytes, at) !== items.length) return -1;
      let here = contentsOf(bytes, at);
      for (let i = 0; i < items.length && here >= 0; i++) here = items[i]!(bytes, here);
      return here;
    };
  }
  if (typeof wanted === 'object' && wanted !== null) return equalToMap(wanted as { readonly [key: string]: unknown });
  if (typeof wanted === 'string') {
    const text = Buffer.from(wanted);
    return (bytes, at) => (isText(bytes, at, text) ? skipValue(bytes, at) : -1);
  }
  return (bytes, at) => endOfScalar(bytes, at, wanted);
}

function endOfScalar(bytes: Uint8Array, at: number, wanted: unknown): number {
  const head = bytes[at]!;
  // Integers from 0 to 127 need no decoding.
  if (head < 0x80) return head === wanted ? at + 1 : -1;
  if (listCount(bytes, at) >= 0 || mapCount(bytes, at) >= 0 || textFrom(bytes, at) >= 0) return -1;
  const end = skipValue(bytes, at);
  const found = unpack(bytes.subarray(at, end));
  // Integers in the 64-bit form are decoded as bigint.
  const isSame =
    typeof found === 'bigint' && typeof wanted === 'number' ? !(found < wanted || found > wanted) : found === wanted;
  return isSame ? end : -1;
}

function equalToMap(wanted: { readonly [key: string]: unknown }): EndOfEqual {
  const entries = new Map(Object.entries(wanted).map(([key, value]) => [key, equalTo(value)]));
  return (bytes, at) => {
    if (mapCount(bytes, at) !== entries.size) return -1;
    let here = contentsOf(bytes, at);
    for (let left = entries.size; left > 0 && here >= 0; left--) {
      const value = skipValue(bytes, here);
      const isEqual = entries.get(String(unpack(bytes.subarray(here, value))));
      here = isEqual ? isEqual(bytes, value) : -1;
    }
    return here;
  };
}
