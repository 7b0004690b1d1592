// Times as counts in buckets: 32 to each power of two, so that a percentile is off by at most 1/64 of its value. Of its own because it
// is this short: a library of sketches brings a serializer and floating logarithms for what is two shifts and a list of small numbers here.

const bitsPerOctave = 5;
const bucketsPerOctave = 2 ** bitsPerOctave;
/** Below it every whole number has a bucket of its own. */
const exactMax = 2 * bucketsPerOctave;
const shiftMax = 2 ** 31;
const lastBits = 2 ** 20;
/** About two weeks; longer times count as this. */
const usMax = 2 ** 40 - 1;
/** How far a percentile may be from the exact one, as a part of it. */
export const percentileErrorMax = 1 / exactMax;

/** The bucket of a time in µs. */
export function bucketOf(us: number): number {
  const whole = Math.min(usMax, Math.max(0, Math.round(us)));
  if (whole < exactMax) return whole;
  // Too long for shifts: without its last 20 bits it is in the same place, 20 octaves below.
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

export class Histogram {
  readonly #counts = new Map<number, number>();
  count = 0;
  maxUs = 0;

  add(us: number): void {
    this.#add(bucketOf(us), 1);
    if (us > this.maxUs) this.maxUs = Math.min(usMax, Math.round(us));
  }

  #add(bucket: number, times: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + times);
    this.count += times;
  }

  /** By nearest rank, in µs: the time that this part of all samples is not above. 0 without samples. */
  percentile(part: number): number {
    let left = Math.max(1, Math.ceil(part * this.count));
    for (const bucket of [...this.#counts.keys()].sort((a, b) => a - b)) {
      left -= this.#counts.get(bucket)!;
      if (left <= 0) return Math.min(Math.round(middleOf(bucket)), this.maxUs);
    }
    return 0;
  }

  /** max | for each bucket that has any, in order: how far from the one before, and how many; all as varints. */
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

  /** Takes in what was encoded. */
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
