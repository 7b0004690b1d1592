// Remembers the jobs, runs or action that each request with an idempotency key (protocol.ts) has created. The remembered value of a key is
// the hash of the request (16 bytes), followed by the id of the job (16). Several ids, which are mostly consecutive, are stored as ranges:
// for each range, the first id (16) and the number of ids (4).
import { blockOf, indexOf, isOfBlock, jobIdBytes, writeJobId } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { keyHashBytes, RememberedKeys } from '../remembered-keys.ts';
import type { IdempotencyKey, IdempotencyStore, SubmitJobsReply, SubmitReply } from './protocol.ts';

/** The maximum number of entries that one call of `dropEnds` removes. */
const endsPerTurnMax = 256;
const rangeBytes = jobIdBytes + 4;

export class IdempotencyTable implements IdempotencyStore {
  readonly keys: RememberedKeys;
  readonly #reader: Reader;

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.keys = new RememberedKeys(reader, 'idempotency', setAside);
  }

  answer(key: IdempotencyKey | undefined, turn: Turn): SubmitReply | null {
    const reply = key ? this.answerAll(key, turn) : null;
    return reply?.kind === 'accepted' ? { kind: 'accepted', id: reply.ids } : reply;
  }

  answerAll({ key, request }: IdempotencyKey, turn: Turn): SubmitJobsReply | null {
    const known = this.keys.find(key, turn);
    if (known === null) return null;
    const isSame = Buffer.compare(known.subarray(0, keyHashBytes), request) === 0;
    return isSame
      ? { kind: 'accepted', ids: decodeIds(known.subarray(keyHashBytes)) }
      : { kind: 'refused', refusal: 'idempotency_mismatch' };
  }

  remember({ key, request }: IdempotencyKey, ids: Uint8Array, turn: Turn): void {
    this.keys.remember(key, Buffer.concat([request, encodeIds(ids)]), turn);
  }

  /** Removes entries of the table `idempotency_ends`, in which earlier versions listed the keys by the time of their expiry. */
  dropEnds({ batch }: Turn): void {
    const keys = this.#reader.keys('idempotency_ends', { limit: endsPerTurnMax });
    for (const key of keys) batch.remove('idempotency_ends', Buffer.from(key));
  }
}

/** Encodes a single id as it is, and several ids as ranges. */
function encodeIds(ids: Uint8Array): Uint8Array {
  if (ids.length === jobIdBytes) return ids;
  const ranges: Buffer[] = [];
  for (let at = 0; at < ids.length; at += jobIdBytes) {
    const id = ids.subarray(at, at + jobIdBytes);
    const last = ranges.at(-1);
    const count = last?.readUInt32BE(jobIdBytes) ?? 0;
    if (last && isOfBlock(id, blockOf(last)) && indexOf(id) === indexOf(last) + count)
      last.writeUInt32BE(count + 1, jobIdBytes);
    else ranges.push(Buffer.concat([id, Buffer.of(0, 0, 0, 1)]));
  }
  return Buffer.concat(ranges);
}

function decodeIds(known: Uint8Array): Uint8Array {
  if (known.length === jobIdBytes) return known;
  const ids: Buffer[] = [];
  for (let at = 0; at < known.length; at += rangeBytes) {
    const range = Buffer.from(known.subarray(at, at + rangeBytes));
    const first = indexOf(range);
    const some = Buffer.allocUnsafe(range.readUInt32BE(jobIdBytes) * jobIdBytes);
    for (let k = 0; k * jobIdBytes < some.length; k++) writeJobId(some, k * jobIdBytes, blockOf(range), first + k);
    ids.push(some);
  }
  return Buffer.concat(ids);
}
