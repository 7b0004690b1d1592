// What an attempt left behind: the parts of a plugin's response, packed once by whoever ran it and stored as they are.
//
//   mask (1 byte) | for each part that is there: length (4, little endian) | the parts, in order
//
// The highest bit of a length tells that the part is deflated.
import { copyBytes } from '../../bytes.ts';
import { packedNull } from '../../packing.ts';
import { partedMark } from '../../parted.ts';
import { deflate, deflatedBytesMin, inflate } from './deflate.ts';

/** What a host may say. Result, events, state_updates, logs and spans are packed values; error and stderr are UTF-8 text. */
export const parts = ['result', 'events', 'state_updates', 'logs', 'error', 'stderr', 'spans'] as const;
export type HostPart = (typeof parts)[number];
/** `counts`, a packed value, is of runs alone: how the jobs inside ended. */
export type Part = HostPart | 'counts';
export type Parts = { readonly [P in Part]?: Uint8Array | undefined };

/** The encoded parts of one attempt. */
export type Body = Uint8Array;

export const emptyBody: Body = Uint8Array.of(0);

/** The part in the mask. Spelled out, for it is asked some times for every job: a look into an object by a name that varies is slow. */
function bitOf(part: Part): number {
  switch (part) {
    case 'result':
      return 1;
    case 'events':
      return 2;
    case 'state_updates':
      return 4;
    case 'logs':
      return 8;
    case 'error':
      return 16;
    case 'stderr':
      return 32;
    case 'spans':
      return 64;
    case 'counts':
      return 128;
  }
}

/** The others are small, or the ledger reads them. */
const deflatedParts: readonly Part[] = ['result', 'events', 'logs'];
/** In the last byte of a length. */
const deflatedFlag = 0x80;

/** In the order of their bits. */
function valuesOf({ result, events, state_updates, logs, error, stderr, spans, counts }: Parts) {
  return [result, events, state_updates, logs, error, stderr, spans, counts];
}

/** What the parts take together, without what encoding adds. */
export function partsBytes(given: Parts): number {
  let bytes = 0;
  for (const value of valuesOf(given)) if (value !== undefined) bytes += value.length;
  return bytes;
}

export function encodeBody(given: Parts): Body {
  return encodeValues(valuesOf(given), 0);
}

/** The same with its large parts deflated, where they shrink: for hosts. `bytes` are those of all parts. */
export function encodeDeflated(given: Parts, bytes: number): Body {
  if (bytes < deflatedBytesMin) return encodeBody(given);
  const fitting = { ...given };
  let deflated = 0;
  for (const part of deflatedParts) {
    const small = given[part] && deflate(given[part]);
    if (!small) continue;
    fitting[part] = small;
    deflated |= bitOf(part);
  }
  return encodeValues(valuesOf(fitting), deflated);
}

/** Values in the order of their bits; `deflated` is the mask of those that are. */
function encodeValues(values: readonly (Uint8Array | undefined)[], deflated: number): Body {
  let mask = 0;
  let bytes = 1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === undefined) continue;
    mask |= 1 << i;
    bytes += 4 + value.length;
  }
  if (mask === 0) return emptyBody;
  const body = Buffer.allocUnsafe(bytes);
  let at = 1;
  body[0] = mask;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === undefined) continue;
    at = body.writeUInt32LE(value.length, at);
    if ((deflated & (1 << i)) !== 0) body[at - 1]! |= deflatedFlag;
  }
  for (const value of values) if (value !== undefined) at = copyBytes(body, at, value);
  return body;
}

/** Whether the part is there; costs one byte's look. */
export function hasPart(body: Body, part: Part): boolean {
  return (body[0]! & bitOf(part)) !== 0;
}

/** One part, or undefined: a view, but for what is deflated. Throws where that cannot be inflated. */
export function bodyPart(body: Body, wanted: Part): Uint8Array | undefined {
  if (!hasPart(body, wanted)) return undefined;
  const value = storedPart(body, wanted);
  return isDeflated(body, lengthAt(body, wanted)) ? inflate(value) : value;
}

/** The result, where it is in parts: that of a run may be. */
export function partedResult(body: Body): Uint8Array | null {
  // It is the first part.
  if (!hasPart(body, 'result') || isDeflated(body, 1)) return null;
  let start = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1) start += 4;
  return body[start] === partedMark ? storedPart(body, 'result') : null;
}

/** As it lies in the body, which has it. */
function storedPart(body: Body, part: Part): Uint8Array {
  let start = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1) start += 4;
  const at = lengthAt(body, part);
  for (let before = 1; before < at; before += 4) start += readLength(body, before);
  return body.subarray(start, start + readLength(body, at));
}

/** Where the length of a part is that the body has. */
function lengthAt(body: Body, part: Part): number {
  let at = 1;
  for (let before = body[0]! & (bitOf(part) - 1); before !== 0; before &= before - 1) at += 4;
  return at;
}

function readLength(body: Body, at: number): number {
  return body[at]! | (body[at + 1]! << 8) | (body[at + 2]! << 16) | ((body[at + 3]! & ~deflatedFlag) << 24);
}

function isDeflated(body: Body, at: number): boolean {
  return (body[at + 3]! & deflatedFlag) !== 0;
}

/** Whether one of its parts is deflated: larger than the body shows, and made again whenever it is asked for. */
export function hasDeflated(body: Body): boolean {
  let at = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1, at += 4) if (isDeflated(body, at)) return true;
  return false;
}

/** With nothing deflated: for who asks for a part more than once. */
export function inflateBody(body: Body): Body {
  return hasDeflated(body) ? encodeBody(decodeBody(body)) : body;
}

/** Whether it says anything that can be shown or searched. Times of spans say nothing, nor does a result that is null. */
export function hasText(body: Body): boolean {
  const mask = body[0]! & ~bitOf('spans');
  if (mask !== bitOf('result')) return mask !== 0;
  // The result is the first part: what follows the head of the body begins with it.
  const headBytes = body[0] === mask ? 5 : 9;
  return readLength(body, 1) !== packedNull.length || body[headBytes] !== packedNull[0];
}

/** All parts, as `bodyPart` gives them. */
export function decodeBody(body: Body): Parts {
  const found: { [P in Part]?: Uint8Array } = {};
  for (const part of parts) {
    const value = bodyPart(body, part);
    if (value !== undefined) found[part] = value;
  }
  return found;
}

/** Of an attempt that had ended well and fails all the same: it keeps what it said, but for its state updates. */
export function failedBody(body: Body, reason: string): Body {
  const kept: { [P in Part]?: Uint8Array } = {};
  let deflated = 0;
  for (const part of parts) {
    if (!hasPart(body, part)) continue;
    kept[part] = storedPart(body, part);
    if (isDeflated(body, lengthAt(body, part))) deflated |= bitOf(part);
  }
  return encodeValues(valuesOf({ ...kept, state_updates: undefined, error: Buffer.from(reason) }), deflated);
}
