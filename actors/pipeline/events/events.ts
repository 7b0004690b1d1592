// Reads the events of a job's response from their packed form, without decoding the payloads.
import { contentsOf, isText, listCount, mapCount, type Span, skipValue, textAt } from '../../../runtime/splice.ts';
import { asPayload } from '../tokens/token.ts';

const typeKey = Buffer.from('type');
const payloadKey = Buffer.from('payload');
const dedupeKey = Buffer.from('dedupe_key');

/** `at`: the position of the payload in the packed events; null: the event has no payload. */
export type Emitted = {
  readonly type: string;
  readonly payload: Uint8Array;
  readonly at: Span | null;
  readonly dedupeKey: string | null;
};

/** Reads the part `events` of a body, and skips values that are not events. */
export function readEvents(packed: Uint8Array): Emitted[] {
  const events: Emitted[] = [];
  let at = contentsOf(packed);
  for (let left = listCount(packed); left > 0; left--) {
    const { event, end } = readEvent(packed, at);
    if (event) events.push(event);
    at = end;
  }
  return events;
}

/** The event at an offset of the packed list, and the offset where it ends. Null: the value there is not an event. */
export function readEvent(packed: Uint8Array, from: number): { readonly event: Emitted | null; readonly end: number } {
  const count = mapCount(packed, from);
  if (count < 0) return { event: null, end: skipValue(packed, from) };
  let type: string | null = null;
  let dedupe: string | null = null;
  let at: Span | null = null;
  let end = contentsOf(packed, from);
  for (let left = count; left > 0; left--) {
    const key = end;
    const value = skipValue(packed, key);
    end = skipValue(packed, value);
    if (isText(packed, key, typeKey)) type = textAt(packed, value);
    else if (isText(packed, key, payloadKey)) at = { from: value, to: end };
    else if (isText(packed, key, dedupeKey)) dedupe = textAt(packed, value);
  }
  return { event: type === null ? null : { type, payload: payloadAt(packed, at), at, dedupeKey: dedupe }, end };
}

/** The payload at this position of the packed events, as a map (`asPayload`). Without a position, an empty map. */
export function payloadAt(packed: Uint8Array, at: Span | null): Uint8Array {
  return asPayload(at ? packed.subarray(at.from, at.to) : undefined);
}
