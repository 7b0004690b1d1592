// Remembers for a day which events have started which step: the second one with the same key starts nothing there.
import { createHash } from 'node:crypto';
import type { Batch, Reader } from '../../runtime/store/store.ts';

export const dedupeUs = 24 * 3600 * 1_000_000;
/** Entries that one turn looks at for expired ones. */
const pruneStep = 64;
const hashBytes = 16;

export class Dedupe {
  readonly #reader: Reader;
  /** Keys added in this turn: no read shows them before its commit. */
  readonly #fresh = new Set<string>();
  #pruned: Uint8Array | undefined;
  #pruneDue = false;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** What was written before is on disk. */
  committed(): void {
    this.#fresh.clear();
  }

  /** Whether the key is new to the target (pipeline and step); then it is remembered. */
  isNew(pipeline: string, stepId: string, key: string, nowUs: number, batch: Batch): boolean {
    this.pruneSoon();
    const hash = createHash('sha256')
      .update(JSON.stringify([pipeline, stepId, key]))
      .digest()
      .subarray(0, hashBytes);
    const name = hash.toString('latin1');
    if (this.#fresh.has(name)) return false;
    const known = this.#reader.get('dedupe', hash);
    if (known !== undefined && readUs(known) > nowUs) return false;
    this.#fresh.add(name);
    const until = Buffer.allocUnsafe(8);
    until.writeBigUInt64BE(BigInt(nowUs + dedupeUs));
    batch.put('dedupe', hash, until);
    return true;
  }

  /** Has the next turn look for expired entries. */
  pruneSoon(): void {
    this.#pruneDue = true;
  }

  /** Whether there may be more of them than the last turn found. */
  get isWaiting(): boolean {
    return this.#pruneDue;
  }

  /** Removes some expired entries; each call goes on where the one before stopped. Entries lie in no order of time. */
  prune(nowUs: number, batch: Batch): void {
    if (!this.#pruneDue) return;
    let seen = 0;
    let expired = 0;
    let last: Uint8Array | undefined;
    for (const { key, value } of this.#reader.scan('dedupe', { ...this.#from(), limit: pruneStep })) {
      seen++;
      last = Buffer.from(key);
      const name = Buffer.from(key).toString('latin1');
      if (readUs(value) > nowUs || this.#fresh.has(name)) continue;
      expired++;
      batch.remove('dedupe', last);
    }
    this.#pruneDue = expired > 0;
    this.#pruned = seen < pruneStep ? undefined : last;
  }

  #from(): { readonly from?: Uint8Array } {
    return this.#pruned ? { from: Buffer.concat([this.#pruned, Buffer.of(0)]) } : {};
  }
}

function readUs(value: Uint8Array): number {
  return Number(Buffer.from(value).readBigUInt64BE());
}
