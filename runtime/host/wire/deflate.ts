// Deflates large parts of a response, in the host, and inflates them when they are read. This costs less than sending and storing them in full.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** The minimum length of a value that is deflated. */
export const deflatedBytesMin = 64 * 2 ** 10;
/** The maximum length of a value that is deflated. Inflating a value blocks the thread that reads it for about 3 ms per MB. */
export const deflatedBytesMax = 4 * 2 ** 20;
/**
 * The number of bytes at the beginning of a value that are deflated as a trial. If they do not shrink to half, the value is left as
 * it is, because deflating the whole value would take about 20 ms per MB.
 */
const sampleBytes = 16 * 2 ** 10;
const level = 1;
/** The size of the pieces in which zlib makes its output. */
const chunkSize = 64 * 2 ** 10;

/** Returns the deflated value; null if the value is too short or too long, or shrinks too little. */
export function deflate(value: Uint8Array): Uint8Array | null {
  if (value.length < deflatedBytesMin || value.length > deflatedBytesMax) return null;
  if (deflateRawSync(value.subarray(0, sampleBytes), { level }).length > sampleBytes / 2) return null;
  const small = deflateRawSync(value, { level, chunkSize });
  return small.length < value.length ? small : null;
}

/** Inflates a value. Throws if the bytes are not a deflated value, or if the value is longer than `deflatedBytesMax`. */
export function inflate(small: Uint8Array): Buffer {
  return inflateRawSync(small, { chunkSize, maxOutputLength: deflatedBytesMax });
}
