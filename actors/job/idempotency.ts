// Which request with an Idempotency-Key created which job. The value of a key is the hash of the request (16) and the id of the job
// (16).
import type { JobId } from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { keyHashBytes, RememberedKeys } from '../remembered-keys.ts';
import type { IdempotencyKey, IdempotencyStore, SubmitReply } from './protocol.ts';

/** Entries removed per turn. */
const endsPerTurnMax = 256;

export class IdempotencyTable implements IdempotencyStore {
  readonly keys: RememberedKeys;
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.keys = new RememberedKeys(reader, 'idempotency');
  }

  answer({ key, request }: IdempotencyKey, turn: Turn): SubmitReply | null {
    const known = this.keys.find(key, turn);
    if (known === null) return null;
    const isSame = Buffer.compare(known.subarray(0, keyHashBytes), request) === 0;
    return isSame
      ? { kind: 'accepted', id: known.subarray(keyHashBytes) }
      : { kind: 'refused', refusal: 'idempotency_mismatch' };
  }

  remember({ key, request }: IdempotencyKey, id: JobId, turn: Turn): void {
    this.keys.remember(key, Buffer.concat([request, id]), turn);
  }

  /** Removes the list of keys by expiry time that earlier versions wrote. */
  dropEnds({ batch }: Turn): void {
    const keys = this.#reader.keys('idempotency_ends', { limit: endsPerTurnMax });
    for (const key of keys) batch.remove('idempotency_ends', Buffer.from(key));
  }
}
