// Checks the bodies of outcomes when they arrive from a host, and again when the ledger has inflated them. Plugin code runs in the host's
// process, where it may have manipulated anything. After this check, a wrong body can harm only its own job or run.

import { isParted } from '../../parted.ts';
import { endWithin, listCount, mapCount } from '../../splice.ts';
import { type Body, isDeflated, parts, readLength } from './outcome.ts';
import { areSpans } from './packed-spans.ts';

/**
 * Spans, and packed values up to this size, are checked completely. For larger values, only the length and the first bytes are checked,
 * and for deflated values only the length. Readers of many outcomes, such as the index, do without a value that they cannot decode.
 */
export const checkedBytesMax = 2 ** 20;

/** The required form of a part: whether it may be deflated, and its type. */
type Shape = { readonly mayDeflate: boolean; readonly is: 'text' | 'value' | 'list' | 'map' | 'spans' };
/** The shape of each part, in the order of `parts`. */
const shapes: readonly Shape[] = parts.map(part => {
  if (part === 'error' || part === 'stderr') return { mayDeflate: false, is: 'text' };
  if (part === 'state_updates') return { mayDeflate: false, is: 'map' };
  if (part === 'spans') return { mayDeflate: false, is: 'spans' };
  if (part === 'events' || part === 'logs') return { mayDeflate: true, is: 'list' };
  return { mayDeflate: true, is: 'value' };
});
const lengthBytes = 4;

/** Throws a RangeError if the bytes are not a valid body. */
export function checkBody(body: Body): void {
  const mask = body[0];
  if (mask === undefined || mask >= 1 << shapes.length) throw new RangeError('an outcome has unknown parts');
  let lengthAt = 1;
  let at = 1;
  for (let left = mask; left !== 0; left &= left - 1) at += lengthBytes;
  if (at > body.length) throw new RangeError('an outcome is truncated');
  for (let place = 0; place < shapes.length; place++) {
    if ((mask & (1 << place)) === 0) continue;
    const end = at + readLength(body, lengthAt);
    if (end > body.length) throw new RangeError(`an outcome is truncated in its ${parts[place]}`);
    checkPart(body, at, end, place, isDeflated(body, lengthAt));
    lengthAt += lengthBytes;
    at = end;
  }
  if (at !== body.length) throw new RangeError('an outcome has bytes after its last part');
}

function checkPart(body: Body, at: number, end: number, place: number, deflated: boolean): void {
  const { mayDeflate, is } = shapes[place]!;
  if (deflated && !mayDeflate) throw new RangeError(`${parts[place]} may not be deflated`);
  if (deflated || is === 'text') return;
  if (is === 'spans') {
    if (!areSpans(body.subarray(at, end))) throw new RangeError('spans is not a list of spans');
    return;
  }
  // A value in parts from a host is refused, because it could refer to any stored value.
  if (isParted(body.subarray(at, end))) throw new RangeError(`${parts[place]} is not one packed value`);
  if (end - at <= checkedBytesMax && !isOneValue(body, at, end))
    throw new RangeError(`${parts[place]} is not one packed value`);
  if ((is === 'list' && listCount(body, at) < 0) || (is === 'map' && mapCount(body, at) < 0))
    throw new RangeError(`${parts[place]} is not a ${is}`);
}

function isOneValue(body: Body, at: number, end: number): boolean {
  try {
    return at < end && endWithin(body, at, end) === end;
  } catch {
    // The bytes are not a packed value, or are cut off.
    return false;
  }
}
