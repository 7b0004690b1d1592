// The texts of a log: what a search finds it by.
import { type Body, bodyPart } from '../../runtime/host/outcome.ts';
import { unpack } from '../../runtime/packing.ts';
import { contentsOf, listCount, mapCount, skipValue, textSpan, wholeAt } from '../../runtime/splice.ts';
import { asBuffer } from '../job/journal.ts';

/** Every text that a log shows: the error, stderr, and whatever the response has in words. */
export function textsOf(body: Body): string[] {
  const texts: string[] = [];
  for (const part of ['error', 'stderr'] as const) {
    const bytes = bodyPart(body, part);
    if (bytes) texts.push(asBuffer(bytes).toString());
  }
  for (const part of ['result', 'events', 'state_updates', 'logs'] as const) {
    const bytes = bodyPart(body, part);
    if (bytes) gatherPacked(asBuffer(bytes), 0, texts);
  }
  return texts;
}

/** Gathers from the packed value at `at`; returns where it ends. */
function gatherPacked(bytes: Buffer, at: number, texts: string[]): number {
  const span = textSpan(bytes, at);
  if (span !== null) {
    texts.push(bytes.toString('utf8', span.from, span.to));
    return span.to;
  }
  const whole = wholeAt(bytes, at);
  if (whole >= 0) {
    texts.push(String(whole));
    return skipValue(bytes, at);
  }
  // An entry of a map is two values, its name and its own.
  const values = Math.max(listCount(bytes, at), 2 * mapCount(bytes, at));
  if (values >= 0) {
    let here = contentsOf(bytes, at);
    for (let i = 0; i < values; i++) here = gatherPacked(bytes, here, texts);
    return here;
  }
  // What is left is nothing, true or false, or a number of another form.
  const end = skipValue(bytes, at);
  const value = unpack(bytes.subarray(at, end));
  if (value !== null) texts.push(String(value));
  return end;
}
