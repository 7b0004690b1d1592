// The texts of a log: what a search finds it by.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import { unpack } from '../../../runtime/packing.ts';
import { contentsOf, listCount, mapCount, skipValue, textSpan, wholeAt } from '../../../runtime/splice.ts';
import { asBuffer } from '../../job/records/journal.ts';

/** So much of a log is searched: its first MiB of texts. The words of one MiB take the thread some 60 ms. */
export const searchedBytesMax = 2 ** 20;
/** What a text counts at least: very many short ones take their time too. */
const textBytesMin = 4;

type Gathered = { readonly texts: string[]; bytesLeft: number };

/** The texts that a log shows, as far as they are searched: the error, stderr, and whatever the response has in words. */
export function textsOf(body: Body): string[] {
  const gathered: Gathered = { texts: [], bytesLeft: searchedBytesMax };
  for (const part of ['error', 'stderr'] as const) {
    const bytes = bodyPart(body, part);
    if (bytes) take(gathered, asBuffer(bytes), 0, bytes.length);
  }
  for (const part of ['result', 'events', 'state_updates', 'logs'] as const) {
    if (gathered.bytesLeft <= 0) break;
    const bytes = bodyPart(body, part);
    if (bytes) gatherPacked(asBuffer(bytes), 0, gathered);
  }
  return gathered.texts;
}

function take(gathered: Gathered, bytes: Buffer, from: number, to: number): void {
  if (gathered.bytesLeft <= 0) return;
  gathered.texts.push(bytes.toString('utf8', from, Math.min(to, from + gathered.bytesLeft)));
  gathered.bytesLeft -= Math.max(textBytesMin, to - from);
}

/** Gathers from the packed value at `at`; returns where it ends, unless enough has been gathered. */
function gatherPacked(bytes: Buffer, at: number, gathered: Gathered): number {
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
  // An entry of a map is two values, its name and its own.
  const values = Math.max(listCount(bytes, at), 2 * mapCount(bytes, at));
  if (values >= 0) {
    let here = contentsOf(bytes, at);
    for (let i = 0; i < values && gathered.bytesLeft > 0; i++) here = gatherPacked(bytes, here, gathered);
    return here;
  }
  // What is left is nothing, true or false, or a number of another form.
  const end = skipValue(bytes, at);
  const value = unpack(bytes.subarray(at, end));
  if (value !== null) add(gathered, String(value));
  return end;
}

/** A number, true or false. */
function add(gathered: Gathered, text: string): void {
  gathered.texts.push(text);
  gathered.bytesLeft -= textBytesMin;
}
