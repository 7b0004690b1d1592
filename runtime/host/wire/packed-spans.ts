// Checks packed spans without decoding them. The host packs each span as a map of `name`, a text, and `dur_ns`, a number, in this order.
import { bufferOf } from '../../bytes.ts';
import { contentsOf, isText, listCount, mapCount, skipValue, textSpan, wholeAt } from '../../splice.ts';

/** At most this many spans of an attempt are kept. */
export const spansMax = 32;

const nameKey = Buffer.from('name');
const durationKey = Buffer.from('dur_ns');
/** The first byte of a packed number that is not an integer from 0 to 2³² − 1. */
const doubleHead = 0xcb;

/** Whether the bytes are a packed list of spans. */
export function areSpans(packed: Uint8Array): boolean {
  const count = listCount(packed);
  if (count < 0 || count > spansMax) return false;
  try {
    let at = contentsOf(packed);
    for (let left = count; left > 0 && at > 0; left--) at = endOfSpan(packed, at);
    return at === packed.length;
  } catch {
    // The bytes are cut off.
    return false;
  }
}

/** The end of the span at `at`; -1 if there is none. */
function endOfSpan(packed: Uint8Array, at: number): number {
  const nameKeyAt = contentsOf(packed, at);
  if (mapCount(packed, at) !== 2 || !isText(packed, nameKeyAt, nameKey)) return -1;
  const nameAt = skipValue(packed, nameKeyAt);
  const durationKeyAt = skipValue(packed, nameAt);
  if (textSpan(packed, nameAt) === null || !isText(packed, durationKeyAt, durationKey)) return -1;
  const durationAt = skipValue(packed, durationKeyAt);
  const isDouble = packed[durationAt] === doubleHead;
  const ns = isDouble ? bufferOf(packed).readDoubleBE(durationAt + 1) : wholeAt(packed, durationAt);
  return ns >= 0 && ns < Infinity ? skipValue(packed, durationAt) : -1;
}
