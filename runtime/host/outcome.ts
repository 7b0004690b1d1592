// What an attempt left behind: the parts of a plugin's response, packed once by whoever ran it and stored as they are.
//
//   mask (1 byte) | for each part that is there: length (4, little endian) | the parts, in order

/** Result, events, state_updates, logs and spans are packed values; error and stderr are UTF-8 text. */
export const parts = ['result', 'events', 'state_updates', 'logs', 'error', 'stderr', 'spans'] as const;
export type Part = (typeof parts)[number];
export type Parts = { readonly [P in Part]?: Uint8Array };

/** The encoded parts of one attempt. */
export type Body = Uint8Array;

export const emptyBody: Body = Uint8Array.of(0);

const bit: Record<Part, number> = Object.fromEntries(parts.map((part, i) => [part, 1 << i])) as Record<Part, number>;

export function encodeBody(given: Parts): Body {
  let mask = 0;
  let bytes = 1;
  for (const part of parts) {
    const value = given[part];
    if (value === undefined) continue;
    mask |= bit[part];
    bytes += 4 + value.length;
  }
  if (mask === 0) return emptyBody;
  const body = Buffer.allocUnsafe(bytes);
  let at = 1;
  body[0] = mask;
  for (const part of parts) {
    const value = given[part];
    if (value !== undefined) at = body.writeUInt32LE(value.length, at);
  }
  for (const part of parts) {
    const value = given[part];
    if (value === undefined) continue;
    body.set(value, at);
    at += value.length;
  }
  return body;
}

/** Whether the part is there; costs one byte's look. */
export function hasPart(body: Body, part: Part): boolean {
  return (body[0]! & bit[part]) !== 0;
}

/** A view of one part, or undefined. */
export function bodyPart(body: Body, wanted: Part): Uint8Array | undefined {
  const mask = body[0]!;
  if ((mask & bit[wanted]) === 0) return undefined;
  let header = 1;
  let skipped = 0;
  let length = 0;
  let count = 0;
  for (const part of parts) {
    if ((mask & bit[part]) === 0) continue;
    const size =
      (body[header]! | (body[header + 1]! << 8) | (body[header + 2]! << 16) | (body[header + 3]! << 24)) >>> 0;
    if (bit[part] < bit[wanted]) skipped += size;
    else if (part === wanted) length = size;
    header += 4;
    count++;
  }
  const start = 1 + 4 * count + skipped;
  return body.subarray(start, start + length);
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
