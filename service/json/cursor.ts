// A cursor is the position at which a list continues, as text. It begins with a letter for the list: no list accepts a cursor of
// another list.

export function writeCursor(list: string, place: Uint8Array): string {
  return Buffer.concat([Buffer.from(list), place]).toString('base64url');
}

/** The position in a cursor. `bytes`: the length of the position. Undefined: the text is not a cursor of this list. */
export function readCursor(list: string, bytes: number, text: string): Buffer | undefined {
  const place = Buffer.from(text, 'base64url').subarray(Buffer.byteLength(list));
  return place.length === bytes && writeCursor(list, place) === text ? place : undefined;
}
