// Deflates large parts of a response, in the host. This costs less than sending and storing them in full.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** The minimum length of a value that is deflated. */
export const deflatedBytesMin = 64 * 2 ** 10;
/** The maximum length of a value that is deflated: inflating it blocks the thread that reads it, for about 3 ms per MB. */
export const deflatedBytesMax = 4 * 2 ** 20;
/** If this many first bytes of a value do not shrink to half, it is not deflated. Trying the whole value would take about 20 ms per MB. */
const sampleBytes = 16 * 2 ** 10;
const level = 1;
/** The size of the pieces in which zlib makes its output, which it then joins. */
const chunkSize = 64 * 2 ** 10;

/** The deflated value; null if the value is too short or too long, or shrinks too little. */
export function deflate(value: Uint8Array): Uint8Array | null {
  if (value.length < deflatedBytesMin || value.length > deflatedBytesMax) return null;
  if (deflateRawSync(value.subarray(0, sampleBytes), { level }).length > sampleBytes / 2) return null;
  const small = deflateRawSync(value, { level, chunkSize });
  return small.length < value.length ? small : null;
}

/** Inflates a value. Throws if the bytes are not a deflated value. */
export function inflate(small: Uint8Array): Buffer {
  return inflateRawSync(small, { chunkSize, maxOutputLength: deflatedBytesMax });
}
