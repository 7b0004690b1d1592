// Copying stretches of bytes.

/** From here on the call of a native copy is faster than a loop. */
const longBytes = 32;

/** Copies `bytes` from `from` up to `to` to the place `at`; returns where they end there. */
export function copyBytes(into: Uint8Array, at: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  const length = to - from;
  if (length > longBytes) into.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[from + i]!;
  return at + length;
}

/** The same bytes, in memory of their own where a view of them would keep more than twice as much alive. For what is to stay. */
export function unpinned(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= 2 * bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
