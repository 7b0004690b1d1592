// The exemplars of a step in one minute: for each octave (histogram.ts) with times, a job whose time is in the octave's highest non-empty
// bucket.
import { bufferOf } from '../../../runtime/bytes.ts';
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { bucketOf, countedUs, octaveOf } from './histogram.ts';

/** A job, and how long the step took for it. */
type Exemplar = { readonly us: number; readonly id: JobId };

const usBytes = 6;
const exemplarBytes = usBytes + jobIdBytes;

export class Exemplars {
  readonly #byOctave = new Map<number, Exemplar>();
  /** The encoded exemplars; null: not encoded since their last change. */
  #encoded: Uint8Array | null = null;

  constructor(bytes: Uint8Array = new Uint8Array()) {
    readExemplars(bytes, (us, id) => this.#byOctave.set(octaveOf(bucketOf(us)), { us, id: id() }));
  }

  /**
   * Called only with the first job of each bucket, so even a minute with many jobs needs few calls. The exemplar of an octave is the first
   * job of its highest bucket, so the same jobs in the same order give the same exemplars.
   */
  offer(us: number, id: JobId): void {
    const bucket = bucketOf(us);
    const octave = octaveOf(bucket);
    const before = this.#byOctave.get(octave);
    if (before !== undefined && bucketOf(before.us) >= bucket) return;
    this.#byOctave.set(octave, { us: countedUs(us), id: Buffer.from(id) });
    this.#encoded = null;
  }

  /** The exemplars as bytes: for each one its time in µs (6 bytes) and the id of its job (16 bytes). */
  encode(): Uint8Array {
    if (this.#encoded !== null) return this.#encoded;
    const bytes = Buffer.alloc(this.#byOctave.size * exemplarBytes);
    let at = 0;
    for (const { us, id } of this.#byOctave.values()) {
      bytes.writeUIntBE(us, at, usBytes);
      bytes.set(id, at + usBytes);
      at += exemplarBytes;
    }
    this.#encoded = bytes;
    return bytes;
  }
}

/**
 * Calls `take` with the time and the job of each exemplar. `id` returns the job's id as a view of the encoded bytes,
 * and may be called only until `take` returns.
 */
export function readExemplars(encoded: Uint8Array, take: (us: number, id: () => JobId) => void): void {
  const bytes = bufferOf(encoded);
  let at = 0;
  const id = (): JobId => bytes.subarray(at + usBytes, at + exemplarBytes);
  for (; at < bytes.length; at += exemplarBytes) take(bytes.readUIntBE(at, usBytes), id);
}
