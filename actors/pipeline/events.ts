// Reads the events of a job's response from their packed form, without decoding the payloads.
import { contentsOf, entryAt, listCount, mapCount, skipValue, textAt } from '../../runtime/splice.ts';
import { asPayload } from './token.ts';

/** The keys of an event's fields. */
const typeKey = Buffer.from('type');
const payloadKey = Buffer.from('payload');
const dedupeKey = Buffer.from('dedupe_key');

export type Emitted = { readonly type: string; readonly payload: Uint8Array; readonly dedupeKey: string | null };

/** Reads the part `events` of a body, and skips values that are not events. */
export function readEvents(packed: Uint8Array): Emitted[] {
  const events: Emitted[] = [];
  let at = contentsOf(packed);
  for (let left = listCount(packed); left > 0; left--) {
    const event = readEvent(packed, at);
    if (event) events.push(event);
    at = skipValue(packed, at);
  }
  return events;
}

/** The event at a position of the packed list; null: the value there is not an event. */
export function readEvent(packed: Uint8Array, at: number): Emitted | null {
  if (mapCount(packed, at) < 0) return null;
  const type = textOf(packed, at, typeKey);
  if (type === null) return null;
  const payload = entryAt(packed, at, payloadKey);
  return {
    type,
    payload: asPayload(payload ? packed.subarray(payload.from, payload.to) : undefined),
    dedupeKey: textOf(packed, at, dedupeKey),
  };
}

function textOf(packed: Uint8Array, at: number, key: Uint8Array): string | null {
  const span = entryAt(packed, at, key);
  return span && textAt(packed, span.from);
}
