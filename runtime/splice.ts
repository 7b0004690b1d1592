// Skips, finds and combines packed values (MessagePack) without decoding them.
import type { Sliced } from './slices.ts';

/** A range of bytes: `from` is inclusive, `to` exclusive. */
export type Span = { readonly from: number; readonly to: number };

function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

function u32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** The sizes in bytes of values whose first byte is 0xc0 to 0xdf, head included. 0: the size is not fixed, or the byte begins no value. */
const sizes: readonly number[] = [
  1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18, 0, 0, 0, 0, 0, 0, 0,
];

/** The end of the value that begins at `at`. Throws a RangeError if the value is malformed, or if it ends beyond the end of the bytes. */
export function skipValue(bytes: Uint8Array, at: number): number {
  return skip(bytes, at, bytes.length);
}

/** Like `skipValue`, but returns -1 if the value ends beyond `limit`. Reads no value that begins beyond `limit`. */
export function endWithin(bytes: Uint8Array, at: number, limit: number): number {
  const end = skip(bytes, at, Math.min(limit, bytes.length));
  return end > limit ? -1 : end;
}

/** The number of values that were left when the last call of `skip` stopped at its limit. */
let unskipped = 0;

function skip(bytes: Uint8Array, at: number, limit: number, count = 1): number {
  let here = at;
  let left = count;
  while (left > 0 && here <= limit) {
    left--;
    const head = bytes[here]!;
    if (head === undefined) throw new RangeError('packed bytes end too early');
    if (head < 0x80 || head >= 0xe0) here += 1;
    else if (head < 0x90) {
      left += 2 * (head & 0x0f);
      here += 1;
    } else if (head < 0xa0) {
      left += head & 0x0f;
      here += 1;
    } else if (head < 0xc0) here += 1 + (head & 0x1f);
    else if (sizes[head - 0xc0]! > 0) here += sizes[head - 0xc0]!;
    else if (head === 0xc4 || head === 0xd9) here += 2 + bytes[here + 1]!;
    else if (head === 0xc5 || head === 0xda) here += 3 + u16(bytes, here + 1);
    else if (head === 0xc6 || head === 0xdb) here += 5 + u32(bytes, here + 1);
    else if (head === 0xc7) here += 3 + bytes[here + 1]!;
    else if (head === 0xc8) here += 4 + u16(bytes, here + 1);
    else if (head === 0xc9) here += 6 + u32(bytes, here + 1);
    else if (head === 0xdc) {
      left += u16(bytes, here + 1);
      here += 3;
    } else if (head === 0xdd) {
      left += u32(bytes, here + 1);
      here += 5;
    } else if (head === 0xde) {
      left += 2 * u16(bytes, here + 1);
      here += 3;
    } else if (head === 0xdf) {
      left += 2 * u32(bytes, here + 1);
      here += 5;
    } else throw new RangeError(`no packed value begins with ${head}`);
  }
  if (here > bytes.length) throw new RangeError('packed bytes end too early');
  unskipped = left;
  return here;
}

/** Skips `count` values, in steps of about `stepBytes`. Returns the end of the last value. */
export function* skipInSteps(bytes: Uint8Array, at: number, count: number, stepBytes: number): Sliced<number> {
  let here = at;
  for (let left = count; left > 0; ) {
    here = skip(bytes, here, Math.min(here + stepBytes, bytes.length), left);
    left = unskipped;
    if (left > 0) yield;
  }
  return here;
}

/** The number of elements of the list at `at`; -1: the value is not a list. */
export function listCount(bytes: Uint8Array, at = 0): number {
  const head = bytes[at]!;
  if (head >= 0x90 && head < 0xa0) return head & 0x0f;
  if (head === 0xdc) return u16(bytes, at + 1);
  return head === 0xdd ? u32(bytes, at + 1) : -1;
}

/** The number of entries of the map at `at`; -1: the value is not a map. */
export function mapCount(bytes: Uint8Array, at = 0): number {
  const head = bytes[at]!;
  if (head >= 0x80 && head < 0x90) return head & 0x0f;
  if (head === 0xde) return u16(bytes, at + 1);
  return head === 0xdf ? u32(bytes, at + 1) : -1;
}

export function isNil(bytes: Uint8Array): boolean {
  return bytes[0] === 0xc0;
}

/** The offset of the first element of the list, or of the first key of the map, at `at`. */
export function contentsOf(bytes: Uint8Array, at = 0): number {
  const head = bytes[at]!;
  if (head < 0xa0) return at + 1;
  return head === 0xdc || head === 0xde ? at + 3 : at + 5;
}

/** The integer from 0 to 2³² − 1 at `at`; -1 if the value is anything else, or an integer in the 64-bit form. */
export function wholeAt(bytes: Uint8Array, at: number): number {
  const head = bytes[at]!;
  if (head < 0x80) return head;
  if (head === 0xcc) return bytes[at + 1]!;
  if (head === 0xcd) return u16(bytes, at + 1);
  return head === 0xce ? u32(bytes, at + 1) : -1;
}

/** The span of the content of the text at `at`; null if the value is not a text. */
export function textSpan(bytes: Uint8Array, at: number): Span | null {
  const head = bytes[at]!;
  if (head >= 0xa0 && head < 0xc0) return { from: at + 1, to: at + 1 + (head & 0x1f) };
  if (head === 0xd9) return { from: at + 2, to: at + 2 + bytes[at + 1]! };
  if (head === 0xda) return { from: at + 3, to: at + 3 + u16(bytes, at + 1) };
  return head === 0xdb ? { from: at + 5, to: at + 5 + u32(bytes, at + 1) } : null;
}

/** The offset at which the content of the text at `at` begins; the content ends where the value ends. -1 if the value is not a text. */
export function textFrom(bytes: Uint8Array, at: number): number {
  const head = bytes[at]!;
  if (head >= 0xa0 && head < 0xc0) return at + 1;
  return head >= 0xd9 && head <= 0xdb ? at + 1 + 2 ** (head - 0xd9) : -1;
}

/** The text at `at`; null if the value is not a text. */
export function textAt(bytes: Uint8Array, at: number): string | null {
  const span = textSpan(bytes, at);
  return span && Buffer.from(bytes.buffer, bytes.byteOffset + span.from, span.to - span.from).toString();
}

export function isText(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  const span = textSpan(bytes, at);
  if (span === null || span.to - span.from !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[span.from + i] !== wanted[i]) return false;
  return true;
}

/** The span of the value under `key` (in UTF-8) in the map at `at`; null if there is no map at `at`, or if the map lacks the key. */
export function entryAt(bytes: Uint8Array, at: number, key: Uint8Array): Span | null {
  let here = contentsOf(bytes, at);
  for (let left = mapCount(bytes, at); left > 0; left--) {
    const value = skipValue(bytes, here);
    const end = skipValue(bytes, value);
    if (isText(bytes, here, key)) return { from: value, to: end };
    here = end;
  }
  return null;
}

/** Matches a key that can be the index of an element of a list. */
export const place = /^(0|[1-9]\d{0,8})$/;

/**
 * The span of the value to which these keys lead. In a map, a key is a name; in a list, it is an index. Null if the keys lead to no value.
 */
export function spanAt(bytes: Uint8Array, keys: readonly string[]): Span | null {
  let span: Span | null = { from: 0, to: bytes.length };
  for (const key of keys) {
    const at: number = span.from;
    const count = listCount(bytes, at);
    if (count < 0) span = entryAt(bytes, at, Buffer.from(key));
    else if (!place.test(key) || Number(key) >= count) return null;
    else {
      let from = contentsOf(bytes, at);
      for (let skipped = Number(key); skipped > 0; skipped--) from = skipValue(bytes, from);
      span = { from, to: skipValue(bytes, from) };
    }
    if (span === null) return null;
  }
  return span;
}

/** The head of binary data with this many bytes. */
export function bytesHead(length: number): Uint8Array {
  if (length < 0x100) return Uint8Array.of(0xc4, length);
  if (length < 0x10000) return Uint8Array.of(0xc5, length >> 8, length & 0xff);
  return Uint8Array.of(0xc6, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff);
}

/** The head of a text with this many bytes. */
export function textHead(length: number): Uint8Array {
  return Uint8Array.of(0xdb, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff);
}

export function listHead(count: number): Uint8Array {
  return head(count, 0x90, 0xdc);
}

export function mapHead(count: number): Uint8Array {
  return head(count, 0x80, 0xde);
}

function head(count: number, small: number, large: number): Uint8Array {
  if (count < 16) return Uint8Array.of(small | count);
  if (count < 0x10000) return Uint8Array.of(large, count >> 8, count & 0xff);
  return Uint8Array.of(large + 1, count >>> 24, (count >> 16) & 0xff, (count >> 8) & 0xff, count & 0xff);
}

/** Writes a packed integer from 0 to 2^32 − 1 at `at`. Returns the offset at which it ends. */
export function writeUint(into: Uint8Array, at: number, value: number): number {
  if (value < 0x80) {
    into[at] = value;
    return at + 1;
  }
  if (value < 0x100) {
    into[at] = 0xcc;
    into[at + 1] = value;
    return at + 2;
  }
  if (value < 0x10000) {
    into[at] = 0xcd;
    into[at + 1] = value >> 8;
    into[at + 2] = value & 0xff;
    return at + 3;
  }
  into[at] = 0xce;
  into[at + 1] = value >>> 24;
  into[at + 2] = (value >> 16) & 0xff;
  into[at + 3] = (value >> 8) & 0xff;
  into[at + 4] = value & 0xff;
  return at + 5;
}
