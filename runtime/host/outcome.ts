// What an attempt left behind: the parts of a plugin's response, packed once by whoever ran it and stored as they are.
//
//   mask (1 byte) | for each part that is there: length (4, little endian) | the parts, in order
import { copyBytes } from '../bytes.ts';
import { packedNull } from '../packing.ts';

/** Result, events, state_updates, logs and spans are packed values; error and stderr are UTF-8 text. */
export const parts = ['result', 'events', 'state_updates', 'logs', 'error', 'stderr', 'spans'] as const;
export type Part = (typeof parts)[number];
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
  }
}

/** In the order of their bits. */
function valuesOf({ result, events, state_updates, logs, error, stderr, spans }: Parts) {
  return [result, events, state_updates, logs, error, stderr, spans];
}

/** What the parts take together, without what encoding adds. */
export function partsBytes(given: Parts): number {
  let bytes = 0;
  for (const value of valuesOf(given)) if (value !== undefined) bytes += value.length;
  return bytes;
}

export function encodeBody(given: Parts): Body {
  const values = valuesOf(given);
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
  for (const value of values) if (value !== undefined) at = body.writeUInt32LE(value.length, at);
  for (const value of values) if (value !== undefined) at = copyBytes(body, at, value);
  return body;
}

/** Whether the part is there; costs one byte's look. */
export function hasPart(body: Body, part: Part): boolean {
  return (body[0]! & bitOf(part)) !== 0;
}

/** A view of one part, or undefined. */
export function bodyPart(body: Body, wanted: Part): Uint8Array | undefined {
  const mask = body[0]!;
  const bit = bitOf(wanted);
  if ((mask & bit) === 0) return undefined;
  let lengthAt = 1;
  let start = 1;
  for (let left = mask; left !== 0; left &= left - 1) start += 4;
  for (let before = mask & (bit - 1); before !== 0; before &= before - 1) {
    start += readLength(body, lengthAt);
    lengthAt += 4;
  }
  return body.subarray(start, start + readLength(body, lengthAt));
}

function readLength(body: Body, at: number): number {
  return (body[at]! | (body[at + 1]! << 8) | (body[at + 2]! << 16) | (body[at + 3]! << 24)) >>> 0;
}

/** Whether it says anything that can be shown or searched. Times of spans say nothing, nor does a result that is null. */
export function isTelling(body: Body): boolean {
  const mask = body[0]! & ~bitOf('spans');
  if (mask !== bitOf('result')) return mask !== 0;
  // The result is the first part: what follows the head of the body begins with it.
  const headBytes = body[0] === mask ? 5 : 9;
  return readLength(body, 1) !== packedNull.length || body[headBytes] !== packedNull[0];
}

/** All parts, as views. */
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
  return encodeBody({ ...decodeBody(body), state_updates: undefined, error: Buffer.from(reason) });
}
