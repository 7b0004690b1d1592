// Writes JSON that contains packed values, in chunks. Each chunk takes little time, however large the values are.
import { unpack } from '../../runtime/packing.ts';
import { contentsOf, endWithin, listCount, listHead, mapCount, mapHead, textSpan } from '../../runtime/splice.ts';

/** A chunk encodes at most this many packed bytes. */
export const chunkBytes = 16 * 1024;
/** The maximum number of bytes of a character in UTF-8 after its first byte. */
const letterBytesMore = 3;

/** JSON text, or a function that reads a packed value. The function is called when the value is to be written. */
export type JsonPart = string | (() => Uint8Array);

export function* jsonChunks(parts: Iterable<JsonPart>): Iterable<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* valueAt(part(), 0);
  }
}

/** Writes the value at `at`. Returns the end of the value. */
function* valueAt(packed: Uint8Array, at: number): Generator<string, number> {
  const end = endWithin(packed, at, at + chunkBytes);
  if (end >= 0) {
    yield JSON.stringify(unpack(packed.subarray(at, end)));
    return end;
  }
  const entries = mapCount(packed, at);
  if (entries >= 0) return yield* entriesAt(packed, contentsOf(packed, at), entries, true);
  const elements = listCount(packed, at);
  if (elements >= 0) return yield* entriesAt(packed, contentsOf(packed, at), elements, false);
  return yield* textAt(packed, at);
}

/** Writes the entries of a map or list. Neighbouring small entries share a chunk; a large entry takes several chunks. */
function* entriesAt(packed: Uint8Array, first: number, count: number, isMap: boolean): Generator<string, number> {
  let at = first;
  let separator = isMap ? '{' : '[';
  for (let left = count; left > 0; separator = ',') {
    const from = at;
    const before = left;
    while (left > 0) {
      const end = entryEnd(packed, at, from + chunkBytes, isMap);
      if (end < 0) break;
      at = end;
      left--;
    }
    const taken = before - left;
    if (taken > 0) {
      const some = Buffer.concat([isMap ? mapHead(taken) : listHead(taken), packed.subarray(from, at)]);
      yield separator + JSON.stringify(unpack(some)).slice(1, -1);
      continue;
    }
    yield separator;
    if (isMap) {
      at = yield* valueAt(packed, at);
      yield ':';
    }
    at = yield* valueAt(packed, at);
    left--;
  }
  yield isMap ? '}' : ']';
  return at;
}

/** The end of the entry at `at`; -1 if the end lies beyond the limit. An entry is one value or, in a map, a key and a value. */
function entryEnd(packed: Uint8Array, at: number, limit: number, isMap: boolean): number {
  const end = endWithin(packed, at, limit);
  return isMap && end >= 0 ? endWithin(packed, end, limit) : end;
}

function* textAt(packed: Uint8Array, at: number): Generator<string, number> {
  const { from, to } = textSpan(packed, at)!;
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  yield '"';
  for (let here = from; here < to; ) {
    let end = Math.min(here + chunkBytes, to);
    for (let k = 0; k < letterBytesMore && end < to && isInLetter(bytes[end]!); k++) end--;
    yield JSON.stringify(bytes.toString('utf8', here, end)).slice(1, -1);
    here = end;
  }
  yield '"';
  return to;
}

function isInLetter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
