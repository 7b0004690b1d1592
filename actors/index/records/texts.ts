// The searchable texts of a log.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import { unpack } from '../../../runtime/packing.ts';
import { contentsOf, listCount, mapCount, skipValue, textSpan, wholeAt } from '../../../runtime/splice.ts';
import { asBuffer } from '../../job/records/journal.ts';

/** The maximum total size, in bytes, of a log's searchable texts. Indexing this much takes about 60 ms. */
export const searchedBytesMax = 2 ** 20;
/** Each text counts as at least this many bytes, because many short texts take time, too. */
const textBytesMin = 4;

type CollectedTexts = { readonly texts: string[]; bytesLeft: number };

/**
 * The searchable texts of an attempt, up to `searchedBytesMax`: its error, its stderr, and the texts, numbers, booleans and keys in its
 * result, events, state updates and logs. A part that cannot be decoded has only the texts before the error.
 */
export function textsOf(body: Body): string[] {
  const gathered: CollectedTexts = { texts: [], bytesLeft: searchedBytesMax };
  for (const part of ['error', 'stderr'] as const) {
    const bytes = bodyPart(body, part);
    if (bytes) take(gathered, asBuffer(bytes), 0, bytes.length);
  }
  for (const part of ['result', 'events', 'state_updates', 'logs'] as const) {
    if (gathered.bytesLeft <= 0) break;
    try {
      const bytes = bodyPart(body, part);
      if (bytes) gatherPacked(asBuffer(bytes), 0, gathered);
    } catch {
      // The plugin has forged the part (wire/body-check.ts), or the disk has damaged it.
    }
  }
  return gathered.texts;
}

function take(gathered: CollectedTexts, bytes: Buffer, from: number, to: number): void {
  if (gathered.bytesLeft <= 0) return;
  gathered.texts.push(bytes.toString('utf8', from, Math.min(to, from + gathered.bytesLeft)));
  gathered.bytesLeft -= Math.max(textBytesMin, to - from);
}

/**
 * Collects the texts of the packed value at the offset `at`. Returns the end of the value; once `searchedBytesMax` is reached, the
 * returned offset has no meaning.
 */
function gatherPacked(bytes: Buffer, at: number, gathered: CollectedTexts): number {
  const span = textSpan(bytes, at);
  if (span !== null) {
    take(gathered, bytes, span.from, span.to);
    return span.to;
  }
  const whole = wholeAt(bytes, at);
  if (whole >= 0) {
    add(gathered, String(whole));
    return skipValue(bytes, at);
  }
  // An entry of a map is two values, key and value.
  const values = Math.max(listCount(bytes, at), 2 * mapCount(bytes, at));
  if (values >= 0) {
    let here = contentsOf(bytes, at);
    for (let i = 0; i < values && gathered.bytesLeft > 0; i++) here = gatherPacked(bytes, here, gathered);
    return here;
  }
  // The value is null, true, false, or a number that `wholeAt` does not read.
  const end = skipValue(bytes, at);
  const value = unpack(bytes.subarray(at, end));
  if (value !== null) add(gathered, String(value));
  return end;
}

/** Adds the text of a number or boolean. */
function add(gathered: CollectedTexts, text: string): void {
  gathered.texts.push(text);
  gathered.bytesLeft -= textBytesMin;
}
