// The running totals are histograms of durations since the index began, with the newest job of each bucket. There is a
// record for each command, for each pipeline and status, and for each pipeline step.
//
//   per histogram: sum (8, µs) | per bucket: count (8) | newest duration (8, µs) | when it ended (8, µs) | its job (16)

import { bucketWith, secondsLimits } from '../../../runtime/buckets.ts';
import { copyBytes } from '../../../runtime/bytes.ts';
import { jobIdBytes } from '../../../runtime/ids.ts';

/** The histograms in a record, by its kind. The first byte of a key is the place of the kind in this list. */
const kinds = [
  ['command', ['queue', 'attempt', 'total']],
  ['run', ['run']],
  ['step', ['step']],
] as const;
export type TotalKind = (typeof kinds)[number][0];

const bucketCount = secondsLimits.length + 1;
const bucketBytes = 24 + jobIdBytes;
const histogramBytes = 8 + bucketCount * bucketBytes;

/** The newest job of a bucket. */
export type BucketExample = { readonly us: number; readonly atUs: number; readonly job: Uint8Array };

/** `limits` and `sum` are in seconds. `exampleOf`: the newest job of the bucket at this place; null: the bucket is empty. */
export type TotalTimes = {
  readonly limits: readonly number[];
  readonly sum: number;
  readonly counts: readonly number[];
  readonly exampleOf: (place: number) => BucketExample | null;
};

/** `names`: plugin and command, pipeline and status, or pipeline and step. */
export function totalKey(kind: TotalKind, names: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.of(kinds.findIndex(([name]) => name === kind)), Buffer.from(names.join('\0'))]);
}

/** The kind and the names in a key. Null: a later version wrote the key. */
export function readTotalKey(key: Uint8Array): { readonly kind: TotalKind; readonly names: readonly string[] } | null {
  const kind = kinds[key[0]!]?.[0];
  return kind === undefined ? null : { kind, names: Buffer.from(key.subarray(1)).toString().split('\0') };
}

/** A job, and when its attempt or run ended. `id` refers to memory of the store. */
type EndedJob = { readonly atUs: number; readonly id: Uint8Array };

/** A record while it is being written. */
export class TotalRecord {
  readonly key: Buffer;
  readonly #bytes: Buffer;
  /** The sum of the durations of each histogram. */
  readonly #sums: Float64Array;
  /** The counts by histogram and bucket. `#newestUs` and `#newest` have the same order. */
  readonly #counts: Float64Array;
  readonly #newestUs: Float64Array;
  /** The newest job of each bucket; undefined: the bucket has not changed since the last `encode`. */
  readonly #newest: (EndedJob | undefined)[];
  isDirty = false;

  /** `stored` is ignored if its length shows that another version wrote it. */
  constructor(kind: TotalKind, key: Buffer, stored: Uint8Array | undefined) {
    const histograms = histogramsOf(kind).length;
    this.key = key;
    this.#bytes = Buffer.alloc(histograms * histogramBytes);
    if (stored?.length === this.#bytes.length) this.#bytes.set(stored);
    this.#sums = Float64Array.from({ length: histograms }, (_, place) => this.#bytes.readDoubleLE(sumAt(place)));
    this.#counts = Float64Array.from({ length: histograms * bucketCount }, (_, n) =>
      this.#bytes.readDoubleLE(bucketAt(n)),
    );
    this.#newestUs = new Float64Array(this.#counts.length);
    this.#newest = Array<undefined>(this.#counts.length).fill(undefined);
  }

  /** Adds a duration to the histogram at this place. `job` must stay valid until `encode`. */
  add(place: number, us: number, job: EndedJob): void {
    const bucket = place * bucketCount + bucketWith(secondsLimits, us / 1e6);
    this.#sums[place]! += us;
    this.#counts[bucket]! += 1;
    this.#newestUs[bucket] = us;
    this.#newest[bucket] = job;
  }

  encode(): Uint8Array {
    const bytes = this.#bytes;
    for (const [place, sum] of this.#sums.entries()) bytes.writeDoubleLE(sum, sumAt(place));
    for (const [bucket, job] of this.#newest.entries()) {
      if (job === undefined) continue;
      const at = bucketAt(bucket);
      bytes.writeDoubleLE(this.#counts[bucket]!, at);
      bytes.writeDoubleLE(this.#newestUs[bucket]!, at + 8);
      bytes.writeDoubleLE(job.atUs, at + 16);
      copyBytes(bytes, at + 24, job.id);
      this.#newest[bucket] = undefined;
    }
    return Buffer.from(bytes);
  }
}

/** The offset of a histogram's sum. */
function sumAt(place: number): number {
  return place * histogramBytes;
}

/** The offset of a bucket. `bucket`: its number, counted across all histograms of the record. */
function bucketAt(bucket: number): number {
  return sumAt(Math.floor(bucket / bucketCount)) + 8 + (bucket % bucketCount) * bucketBytes;
}

/** The histograms of a stored record, by name; empty: another version wrote the record. The examples refer to `bytes`. */
export function readTotal(kind: TotalKind, bytes: Buffer): ReadonlyMap<string, TotalTimes> {
  const names = histogramsOf(kind);
  if (bytes.length !== names.length * histogramBytes) return new Map();
  return new Map(names.map((name, place) => [name, readTimes(bytes, place)]));
}

function readTimes(bytes: Buffer, place: number): TotalTimes {
  const first = place * bucketCount;
  const counts: number[] = [];
  for (let bucket = first; bucket < first + bucketCount; bucket++) counts.push(bytes.readDoubleLE(bucketAt(bucket)));
  return {
    limits: secondsLimits,
    sum: bytes.readDoubleLE(sumAt(place)) / 1e6,
    counts,
    exampleOf: bucket => (counts[bucket] === 0 ? null : readExample(bytes, bucketAt(first + bucket))),
  };
}

function readExample(bytes: Buffer, at: number): BucketExample {
  const job = bytes.subarray(at + 24, at + bucketBytes);
  return { us: bytes.readDoubleLE(at + 8), atUs: bytes.readDoubleLE(at + 16), job };
}

function histogramsOf(kind: TotalKind): readonly string[] {
  return kinds.find(([name]) => name === kind)![1];
}
