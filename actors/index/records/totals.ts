// The running totals: histograms of durations since the index began, with the newest job of each bucket. One record each for a command, for
// a pipeline and status, and for a step of a pipeline.
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

export type TotalTimes = {
  readonly sumUs: number;
  readonly counts: readonly number[];
  /** By bucket; null: the bucket is empty. */
  readonly examples: readonly (BucketExample | null)[];
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

/** A record while it is being written. */
export class TotalRecord {
  readonly key: Buffer;
  readonly #bytes: Buffer;
  isDirty = false;

  /** `stored` is not used if it has other histograms than this version writes. */
  constructor(kind: TotalKind, key: Buffer, stored: Uint8Array | undefined) {
    this.key = key;
    this.#bytes = Buffer.alloc(histogramsOf(kind).length * histogramBytes);
    if (stored?.length === this.#bytes.length) this.#bytes.set(stored);
  }

  /** Adds a duration to the histogram at this place. */
  add(place: number, us: number, { atUs, id }: { readonly atUs: number; readonly id: Uint8Array }): void {
    const bytes = this.#bytes;
    const start = place * histogramBytes;
    const at = start + 8 + bucketWith(secondsLimits, us / 1e6) * bucketBytes;
    bytes.writeDoubleLE(bytes.readDoubleLE(start) + us, start);
    bytes.writeDoubleLE(bytes.readDoubleLE(at) + 1, at);
    bytes.writeDoubleLE(us, at + 8);
    bytes.writeDoubleLE(atUs, at + 16);
    copyBytes(bytes, at + 24, id);
  }

  encode(): Uint8Array {
    return Buffer.from(this.#bytes);
  }
}

/** The histograms of a stored record by name; empty: another version wrote the record. */
export function readTotal(kind: TotalKind, value: Uint8Array): ReadonlyMap<string, TotalTimes> {
  const names = histogramsOf(kind);
  if (value.length !== names.length * histogramBytes) return new Map();
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return new Map(names.map((name, place) => [name, readTimes(bytes, place * histogramBytes)]));
}

function readTimes(bytes: Buffer, start: number): TotalTimes {
  const counts: number[] = [];
  const examples: (BucketExample | null)[] = [];
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const at = start + 8 + bucket * bucketBytes;
    const count = bytes.readDoubleLE(at);
    counts.push(count);
    const job = bytes.subarray(at + 24, at + bucketBytes);
    examples.push(count === 0 ? null : { us: bytes.readDoubleLE(at + 8), atUs: bytes.readDoubleLE(at + 16), job });
  }
  return { sumUs: bytes.readDoubleLE(start), counts, examples };
}

function histogramsOf(kind: TotalKind): readonly string[] {
  return kinds.find(([name]) => name === kind)![1];
}
