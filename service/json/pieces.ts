// JSON with packed values in it, piece by piece: however large a value is, no piece takes long to make.
import { unpack } from '../../runtime/packing.ts';
import { contentsOf, endWithin, listCount, listHead, mapCount, mapHead, textSpan } from '../../runtime/splice.ts';

/** Of packed bytes that make a piece. What is no larger is written at once. */
export const pieceBytes = 16 * 1024;
/** Of a letter in UTF-8, behind its first byte. */
const letterBytesMore = 3;

/** Text as it is, or a packed value that stands between texts, read when its turn comes. */
export type JsonPart = string | (() => Uint8Array);

/** The pieces of the text, in their order. */
export function* jsonPieces(parts: Iterable<JsonPart>): Iterable<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* valueAt(part(), 0);
  }
}

/** Returns where the value ends. */
function* valueAt(packed: Uint8Array, at: number): Generator<string, number> {
  const end = endWithin(packed, at, at + pieceBytes);
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

/** What is in a map or list: as many entries together as make a piece, and in pieces those that are larger. */
function* entriesAt(packed: Uint8Array, first: number, count: number, isMap: boolean): Generator<string, number> {
  let at = first;
  let separator = isMap ? '{' : '[';
  for (let left = count; left > 0; separator = ',') {
    const from = at;
    const before = left;
    while (left > 0) {
      const end = entryEnd(packed, at, from + pieceBytes, isMap);
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

/** An entry of a map is a key and a value. -1: it goes on beyond the limit. */
function entryEnd(packed: Uint8Array, at: number, limit: number, isMap: boolean): number {
  const end = endWithin(packed, at, limit);
  return isMap && end >= 0 ? endWithin(packed, end, limit) : end;
}

function* textAt(packed: Uint8Array, at: number): Generator<string, number> {
  const { from, to } = textSpan(packed, at)!;
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  yield '"';
  for (let here = from; here < to; ) {
    let end = Math.min(here + pieceBytes, to);
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
