// Cursors: the position at which a list continues, as text. A letter names the list, so that no list accepts the cursor of another.

export function writeCursor(list: string, place: Uint8Array): string {
  return Buffer.concat([Buffer.from(list), place]).toString('base64url');
}

/** The position, in this many bytes; undefined: the text is not a cursor of this list. */
export function readCursor(list: string, bytes: number, text: string): Buffer | undefined {
  const place = Buffer.from(text, 'base64url').subarray(Buffer.byteLength(list));
  return place.length === bytes && writeCursor(list, place) === text ? place : undefined;
}
