// Functions that copy bytes.

/** Above this length, a native copy is faster than a loop. */
const longBytes = 32;

/**
 * Copies the bytes from offset `from` up to, not including, `to`. The copy begins at offset `at` of `into`. Returns the offset of its end.
 */
export function copyBytes(into: Uint8Array, at: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  const length = to - from;
  if (length > longBytes) into.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[from + i]!;
  return at + length;
}

/** Returns the bytes, or a copy if their view keeps a buffer of more than twice their size in memory. For values that are kept for long. */
export function unpinned(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= 2 * bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
