// Functions on bytes.

/** If more bytes than this are copied, a native copy is faster than a loop. */
const longBytes = 32;

/**
 * Copies the bytes from offset `from` up to, not including, offset `to`. The copy begins at offset `at` of `into`. Returns the
 * offset in `into` at which the copy ends.
 */
export function copyBytes(into: Uint8Array, at: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  const length = to - from;
  if (length > longBytes) into.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[from + i]!;
  return at + length;
}

/**
 * Returns `bytes`, or a copy if `bytes` is a view of a buffer that is more than twice as long. For values that are kept for long, because a
 * view keeps its whole buffer in memory.
 */
export function unpinned(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= 2 * bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

/** The same bytes as a Buffer, not copied. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function hexOf(key: Uint8Array): string {
  return bufferOf(key).toString('hex');
}

/** The smallest key greater than this one. */
export function keyAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}
