// Copying short stretches of bytes.

/** From here on the call of a native copy is faster than a loop. */
const longBytes = 32;

/** Copies `bytes` from `from` up to `to` to the place `at`; returns where they end there. */
export function copyBytes(into: Uint8Array, at: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  const length = to - from;
  if (length > longBytes) into.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[from + i]!;
  return at + length;
}
