// Cursors: the place where a list goes on, as text for callers. A letter names the list, so that no list takes the cursor of another.

export function writeCursor(list: string, place: Uint8Array): string {
  return Buffer.concat([Buffer.from(list), place]).toString('base64url');
}

/** The place, of so many bytes; undefined: the text is no cursor of this list. */
export function readCursor(list: string, bytes: number, text: string): Buffer | undefined {
  const place = Buffer.from(text, 'base64url').subarray(Buffer.byteLength(list));
  return place.length === bytes && writeCursor(list, place) === text ? place : undefined;
}
