// A histogram of times with 32 buckets per power of two: percentiles are exact to 1/64 of their value.

const bitsPerOctave = 5;
const bucketsPerOctave = 2 ** bitsPerOctave;
/** Every integer below this number has a bucket of its own. */
const exactMax = 2 * bucketsPerOctave;
const shiftMax = 2 ** 31;
const lastBits = 2 ** 20;
/** The longest time that a histogram can hold, 12.7 days. Longer times count as this time. */
const usMax = 2 ** 40 - 1;

/** A time as a histogram counts it: in whole µs, from 0 to `usMax`. */
export function countedUs(us: number): number {
  return Math.min(usMax, Math.max(0, Math.round(us)));
}

export function bucketOf(us: number): number {
  const whole = countedUs(us);
  if (whole < exactMax) return whole;
  // From 2^31 µs on, a time is too large for 32-bit shifts. Divided by 2^20, it falls into the bucket that lies 20
  // octaves lower.
  if (whole >= shiftMax) return bucketOf(Math.floor(whole / lastBits)) + 20 * bucketsPerOctave;
  const octave = 31 - Math.clz32(whole) - bitsPerOctave;
  return exactMax + (octave - 1) * bucketsPerOctave + (whole >>> octave) - bucketsPerOctave;
}

/** The middle of a bucket, in µs. */
export function middleOf(bucket: number): number {
  if (bucket < exactMax) return bucket;
  const octave = Math.floor((bucket - exactMax) / bucketsPerOctave) + 1;
  const width = 2 ** octave;
  return (bucketsPerOctave + ((bucket - exactMax) % bucketsPerOctave)) * width + (width - 1) / 2;
}

/**
 * The octave of a bucket. Octave n has the times from 2^n µs up to, not including, 2^(n+1) µs: octave 10 has 1,024 to 2,047 µs. Octave 0
 * also has 0 µs.
 */
export function octaveOf(bucket: number): number {
  if (bucket >= exactMax) return bitsPerOctave + 1 + Math.floor((bucket - exactMax) / bucketsPerOctave);
  return bucket === 0 ? 0 : 31 - Math.clz32(bucket);
}

/** Estimated sizes in bytes: a histogram without its buckets, and a bucket that is not empty. */
const ownBytes = 250;
const bucketBytes = 64;

export class Histogram {
  readonly #counts = new Map<number, number>();
  count = 0;
  maxUs = 0;

  /** Adds a time. Returns whether it is the first one in its bucket. */
  add(us: number): boolean {
    const isFirst = this.#add(bucketOf(us), 1);
    if (us > this.maxUs) this.maxUs = countedUs(us);
    return isFirst;
  }

  #add(bucket: number, times: number): boolean {
    const before = this.#counts.get(bucket);
    this.#counts.set(bucket, (before ?? 0) + times);
    this.count += times;
    return before === undefined;
  }

  /** The percentile for this share of the samples (0 to 1), by nearest rank, in µs; 0 if there are no samples. */
  percentile(part: number): number {
    let left = Math.max(1, Math.ceil(part * this.count));
    for (const bucket of [...this.#counts.keys()].sort((a, b) => a - b)) {
      left -= this.#counts.get(bucket)!;
      if (left <= 0) return Math.min(Math.round(middleOf(bucket)), this.maxUs);
    }
    return 0;
  }

  /** The estimated size in memory. */
  get bytes(): number {
    return ownBytes + this.#counts.size * bucketBytes;
  }

  /** The number of times in each non-empty octave. */
  octaves(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const [bucket, count] of this.#counts) {
      const octave = octaveOf(bucket);
      counts.set(octave, (counts.get(octave) ?? 0) + count);
    }
    return counts;
  }

  /** The maximum, then for each non-empty bucket its distance from the previous one and its count; all as varints. */
  encode(): Uint8Array {
    const bytes: number[] = [];
    pushVarint(bytes, this.maxUs);
    let before = 0;
    for (const bucket of [...this.#counts.keys()].sort((a, b) => a - b)) {
      pushVarint(bytes, bucket - before);
      pushVarint(bytes, this.#counts.get(bucket)!);
      before = bucket;
    }
    return Uint8Array.from(bytes);
  }

  /** Adds an encoded histogram. */
  merge(bytes: Uint8Array): void {
    const cursor = { bytes, at: 0 };
    this.maxUs = Math.max(this.maxUs, readVarint(cursor));
    for (let bucket = 0; cursor.at < bytes.length; ) {
      bucket += readVarint(cursor);
      this.#add(bucket, readVarint(cursor));
    }
  }
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}

function readVarint(cursor: { readonly bytes: Uint8Array; at: number }): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = cursor.bytes[cursor.at++]!;
    value += (byte % 128) * scale;
    if (byte < 128) return value;
  }
}
