// Copies of bytes.

/** From this length on a native copy is faster than a loop. */
const longBytes = 32;

/** Copies `bytes` between `from` and `to` to the offset `at`; returns the end of the copy. */
export function copyBytes(into: Uint8Array, at: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  const length = to - from;
  if (length > longBytes) into.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[from + i]!;
  return at + length;
}

/** The same bytes, copied if the view keeps a buffer of more than twice their size in memory. For values that are stored for long. */
export function unpinned(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= 2 * bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
