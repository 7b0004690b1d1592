// The body of an outcome: the parts of a plugin's response. The host packs them once, and they are usually stored as they are. The
// ledger makes other bodies itself, such as those of runs.
//
//   mask (1 byte) | for each part that is present: length (4, little endian) | the parts, in order
//
// The highest bit of a length says that the part is deflated.
import { copyBytes } from '../../bytes.ts';
import { packedNull } from '../../packing.ts';
import { partedMark } from '../../parted.ts';
import { deflate, deflatedBytesMin, inflate } from './deflate.ts';

/** The parts that a host may send. Result, events, state_updates, logs and spans are packed values; error and stderr are UTF-8 text. */
export const parts = ['result', 'events', 'state_updates', 'logs', 'error', 'stderr', 'spans'] as const;
export type HostBodyPart = (typeof parts)[number];
/** Only the body of a run has `counts`, a packed value that says how the jobs of the run ended. */
export type BodyPart = HostBodyPart | 'counts';
export type BodyParts = { readonly [P in BodyPart]?: Uint8Array | undefined };

/** The encoded parts of one attempt. */
export type Body = Uint8Array;

export const emptyBody: Body = Uint8Array.of(0);

/** The part's bit in the mask. A `switch`, because this function runs several times for each job and a lookup by name would be slower. */
function bitOf(part: BodyPart): number {
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

/** The parts that are deflated if they are large. */
const deflatedParts: readonly BodyPart[] = ['result', 'events', 'logs'];
/** In the last byte of a length, this bit says that the part is deflated. */
const deflatedFlag = 0x80;

/** The values of all parts, in the order of the parts' bits. */
function valuesOf({ result, events, state_updates, logs, error, stderr, spans, counts }: BodyParts) {
  return [result, events, state_updates, logs, error, stderr, spans, counts];
}

/** The total length of the parts, excluding the head of the body. */
export function partsBytes(given: BodyParts): number {
  let bytes = 0;
  for (const value of valuesOf(given)) if (value !== undefined) bytes += value.length;
  return bytes;
}

export function encodeBody(given: BodyParts): Body {
  return encodeValues(valuesOf(given), 0);
}

/** Like `encodeBody`, but deflates those of `deflatedParts` that `deflate` makes smaller. `bytes`: the total length of the parts. */
export function encodeDeflated(given: BodyParts, bytes: number): Body {
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

/** `values`: in the order of the parts' bits. `deflated`: the bits of the parts that are deflated. */
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

export function hasPart(body: Body, part: BodyPart): boolean {
  return (body[0]! & bitOf(part)) !== 0;
}

/**
 * A part, inflated if it is deflated; undefined if the body does not have it. Throws if it cannot be inflated. Parts that the host never
 * deflates are returned as they are, even if a damaged body says that they are deflated.
 */
export function bodyPart(body: Body, wanted: BodyPart): Uint8Array | undefined {
  if (!hasPart(body, wanted)) return undefined;
  const value = storedPart(body, wanted);
  return isDeflated(body, lengthAt(body, wanted)) && deflatedParts.includes(wanted) ? inflate(value) : value;
}

/** The result if it is a value in parts (runtime/parted.ts); otherwise null. Only the result of a run can be a value in parts. */
export function partedResult(body: Body): Uint8Array | null {
  // The result is the first part, so its length is at offset 1.
  if (!hasPart(body, 'result') || isDeflated(body, 1)) return null;
  let start = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1) start += 4;
  return body[start] === partedMark ? storedPart(body, 'result') : null;
}

/** A part in its stored form, which may be deflated. The body must have the part. */
function storedPart(body: Body, part: BodyPart): Uint8Array {
  let start = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1) start += 4;
  const at = lengthAt(body, part);
  for (let before = 1; before < at; before += 4) start += readLength(body, before);
  return body.subarray(start, start + readLength(body, at));
}

/** The offset of the part's length. The body must have the part. */
function lengthAt(body: Body, part: BodyPart): number {
  let at = 1;
  for (let before = body[0]! & (bitOf(part) - 1); before !== 0; before &= before - 1) at += 4;
  return at;
}

/** The length of a part, from its four bytes at `at`. */
export function readLength(body: Body, at: number): number {
  return body[at]! | (body[at + 1]! << 8) | (body[at + 2]! << 16) | ((body[at + 3]! & ~deflatedFlag) << 24);
}

/** Whether a part is deflated, from the bytes of its length at `at`. */
export function isDeflated(body: Body, at: number): boolean {
  return (body[at + 3]! & deflatedFlag) !== 0;
}

/** Whether any part of the body is deflated. Such a part is inflated each time it is read. */
export function hasDeflated(body: Body): boolean {
  let at = 1;
  for (let left = body[0]!; left !== 0; left &= left - 1, at += 4) if (isDeflated(body, at)) return true;
  return false;
}

/** The body of an attempt with all parts inflated, for callers that read a part more than once. */
export function inflateBody(body: Body): Body {
  return hasDeflated(body) ? encodeBody(decodeBody(body)) : body;
}

/** Whether the body has anything to show or to search. Spans do not count, and neither does a result of null. */
export function hasText(body: Body): boolean {
  const mask = body[0]! & ~bitOf('spans');
  if (mask !== bitOf('result')) return mask !== 0;
  // The result is the first part. It follows the head, which has the mask and one length or, with spans, two lengths.
  const headBytes = body[0] === mask ? 5 : 9;
  return readLength(body, 1) !== packedNull.length || body[headBytes] !== packedNull[0];
}

/** All parts that a host may send, inflated. */
export function decodeBody(body: Body): BodyParts {
  const found: { [P in BodyPart]?: Uint8Array } = {};
  for (const part of parts) {
    const value = bodyPart(body, part);
    if (value !== undefined) found[part] = value;
  }
  return found;
}

/** The body of a successful attempt that must count as failed: `body` without its state updates, and with `reason` as the error. */
export function failedBody(body: Body, reason: string): Body {
  const kept: { [P in BodyPart]?: Uint8Array } = {};
  let deflated = 0;
  for (const part of parts) {
    if (!hasPart(body, part)) continue;
    kept[part] = storedPart(body, part);
    if (isDeflated(body, lengthAt(body, part))) deflated |= bitOf(part);
  }
  return encodeValues(valuesOf({ ...kept, state_updates: undefined, error: Buffer.from(reason) }), deflated);
}
