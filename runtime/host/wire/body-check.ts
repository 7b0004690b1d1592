// Checks the bodies of outcomes as they arrive from a host: plugin code shares the host's process and may have changed anything there.
// After this check the ledger can read every part of a body safely.

import { isParted } from '../../parted.ts';
import { endWithin, listCount, mapCount } from '../../splice.ts';
import { type Body, parts } from './outcome.ts';

/**
 * Packed values up to so many bytes are walked to their end, some 10 ns a byte; of larger and of deflated ones the length alone is
 * checked. Where such a value is wrong, who reads it finds out, and only the job or run that it is of fails.
 */
export const checkedBytesMax = 2 ** 20;

/** For each part, in the order of `parts`: whether it may be deflated, and its type. */
type Shape = { readonly mayDeflate: boolean; readonly is: 'text' | 'value' | 'list' | 'map' };
const shapes: readonly Shape[] = parts.map(part => {
  if (part === 'error' || part === 'stderr') return { mayDeflate: false, is: 'text' };
  if (part === 'state_updates') return { mayDeflate: false, is: 'map' };
  if (part === 'events' || part === 'logs') return { mayDeflate: true, is: 'list' };
  return { mayDeflate: part === 'result', is: 'value' };
});
const lengthBytes = 4;
const deflatedFlag = 0x80;

/** Throws a RangeError if the bytes are not a valid body. */
export function checkBody(body: Body): void {
  const mask = body[0];
  if (mask === undefined || mask >= 1 << shapes.length) throw new RangeError('an outcome has parts that there are not');
  let lengthAt = 1;
  let at = 1;
  for (let left = mask; left !== 0; left &= left - 1) at += lengthBytes;
  if (at > body.length) throw new RangeError('an outcome is cut');
  for (let place = 0; place < shapes.length; place++) {
    if ((mask & (1 << place)) === 0) continue;
    const top = body[lengthAt + 3]!;
    const bytes =
      body[lengthAt]! | (body[lengthAt + 1]! << 8) | (body[lengthAt + 2]! << 16) | ((top & ~deflatedFlag) << 24);
    lengthAt += lengthBytes;
    const end = at + bytes;
    if (end > body.length) throw new RangeError(`an outcome is cut in its ${parts[place]}`);
    checkPart(body, at, end, place, (top & deflatedFlag) !== 0);
    at = end;
  }
  if (at !== body.length) throw new RangeError('an outcome has bytes after its last part');
}

function checkPart(body: Body, at: number, end: number, place: number, isDeflated: boolean): void {
  const { mayDeflate, is } = shapes[place]!;
  if (isDeflated && !mayDeflate) throw new RangeError(`${parts[place]} may not be deflated`);
  if (isDeflated || is === 'text') return;
  // A value in parts begins with this byte, and could name any stored value.
  if (isParted(body.subarray(at, end))) throw new RangeError(`${parts[place]} is not one packed value`);
  if (end - at <= checkedBytesMax && !isOneValue(body, at, end))
    throw new RangeError(`${parts[place]} is not one packed value`);
  if ((is === 'list' && listCount(body, at) < 0) || (is === 'map' && mapCount(body, at) < 0))
    throw new RangeError(`${parts[place]} is no ${is}`);
}

function isOneValue(body: Body, at: number, end: number): boolean {
  try {
    return at < end && endWithin(body, at, end) === end;
  } catch {
    // No value begins like this, or it ends too early.
    return false;
  }
}
