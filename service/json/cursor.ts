// A cursor is the position at which a list continues, as base64url text. The encoded bytes begin with a letter that names the list, so a list
// refuses the cursors of other lists.

export function writeCursor(list: string, place: Uint8Array): string {
  return Buffer.concat([Buffer.from(list), place]).toString('base64url');
}

/** Returns the position in a cursor. `bytes`: the length of a position in this list. Undefined: the text is not a cursor of this list. */
export function readCursor(list: string, bytes: number, text: string): Buffer | undefined {
  const place = Buffer.from(text, 'base64url').subarray(Buffer.byteLength(list));
  return place.length === bytes && writeCursor(list, place) === text ? place : undefined;
}
