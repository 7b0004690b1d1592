// The host deflates large parts of a response: that costs less than sending and storing them whole.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Smaller values are kept as they are. */
export const deflatedBytesMin = 64 * 2 ** 10;
/** Larger ones too: inflating blocks the reading thread, some 3 ms for a MB. */
export const deflatedBytesMax = 4 * 2 ** 20;
/** A value whose beginning does not shrink to half is kept as it is: trying all of it would take some 20 ms for a MB. */
const sampleBytes = 16 * 2 ** 10;
const level = 1;
/** Of the pieces that zlib makes and joins. */
const chunkSize = 64 * 2 ** 10;

/** The deflated value, or null if that is not worth it. */
export function deflate(value: Uint8Array): Uint8Array | null {
  if (value.length < deflatedBytesMin || value.length > deflatedBytesMax) return null;
  if (deflateRawSync(value.subarray(0, sampleBytes), { level }).length > sampleBytes / 2) return null;
  const small = deflateRawSync(value, { level, chunkSize });
  return small.length < value.length ? small : null;
}

/** Throws if the bytes are not a deflated value. */
export function inflate(small: Uint8Array): Buffer {
  return inflateRawSync(small, { chunkSize, maxOutputLength: deflatedBytesMax });
}
