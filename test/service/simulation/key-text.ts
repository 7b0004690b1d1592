// Keys of records as names in maps.

/** The key, or a part of it. */
export function textOf(key: Uint8Array, from = 0, to = key.length): string {
  return Buffer.prototype.latin1Slice.call(key, from, to);
}

export function hexOf(name: string): string {
  return Buffer.from(name, 'latin1').toString('hex');
}
