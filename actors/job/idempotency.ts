// Which request with an Idempotency-Key created which job. Written in the commit that accepts the job, kept for a day.
import type { JobId } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { IdempotencyKey, IdempotencyStore, SubmitReply } from './protocol.ts';
import {
  decodeIdempotency,
  encodeIdempotency,
  endKey,
  hashBytes,
  type IdempotencyRecord,
  idempotencyTtlUs,
} from './records/idempotency.ts';
import { usKey } from './records/journal.ts';

/** Expired records that are removed in one turn, at most. */
export const expiredPerTurnMax = 256;
const present = Uint8Array.of(1);

export class IdempotencyTable implements IdempotencyStore {
  readonly #reader: Reader;
  /** Records of this turn: reads do not show them before its commit. */
  readonly #fresh = new Map<string, IdempotencyRecord>();
  #turn: Turn | null = null;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  answer({ key, request }: IdempotencyKey, turn: Turn): SubmitReply | null {
    this.#open(turn);
    const entry = this.#fresh.get(textOf(key)) ?? this.#stored(key);
    if (!entry || entry.untilUs <= turn.nowUs) return null;
    if (Buffer.compare(entry.request, request) !== 0) return { kind: 'refused', refusal: 'idempotency_mismatch' };
    return { kind: 'accepted', id: entry.id };
  }

  remember({ key, request }: IdempotencyKey, id: JobId, turn: Turn): void {
    this.#open(turn);
    const entry = { untilUs: turn.nowUs + idempotencyTtlUs, request, id };
    this.#fresh.set(textOf(key), entry);
    turn.batch.put('idempotency', key, encodeIdempotency(entry));
    turn.batch.put('idempotency_ends', endKey(entry.untilUs, key), present);
  }

  /** Removes some expired records. True: there may be more. */
  prune(turn: Turn): boolean {
    const to = usKey(turn.nowUs + 1);
    let seen = 0;
    for (const { key } of this.#reader.scan('idempotency_ends', { to, limit: expiredPerTurnMax })) {
      seen++;
      const own = Buffer.from(key);
      turn.batch.remove('idempotency_ends', own);
      const hash = own.subarray(own.length - hashBytes);
      // The key may have been used again since, with a later end.
      const entry = this.#fresh.get(textOf(hash)) ?? this.#stored(hash);
      if (entry && entry.untilUs <= turn.nowUs) turn.batch.remove('idempotency', hash);
    }
    return seen === expiredPerTurnMax;
  }

  #open(turn: Turn): void {
    if (this.#turn === turn) return;
    this.#turn = turn;
    this.#fresh.clear();
  }

  #stored(key: Uint8Array): IdempotencyRecord | undefined {
    const bytes = this.#reader.get('idempotency', key);
    return bytes && decodeIdempotency(bytes);
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
