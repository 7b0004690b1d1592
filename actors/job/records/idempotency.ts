// The tables of idempotency keys: the job that each key created, and the keys in the order in which they expire.
import type { JobId } from '../../../runtime/ids.ts';
import { usKey } from './journal.ts';

/** How long a key is kept. */
export const idempotencyTtlUs = 24 * 3_600_000_000;
export const hashBytes = 16;

export type IdempotencyRecord = { readonly untilUs: number; readonly request: Uint8Array; readonly id: JobId };

/** When it ends (8, µs) | hash of the request (16) | job id (16) */
export function encodeIdempotency({ untilUs, request, id }: IdempotencyRecord): Buffer {
  return Buffer.concat([usKey(untilUs), request, id]);
}

export function decodeIdempotency(bytes: Uint8Array): IdempotencyRecord {
  const all = Buffer.from(bytes);
  const untilUs = Number(all.readBigUInt64BE());
  return { untilUs, request: all.subarray(8, 8 + hashBytes), id: all.subarray(8 + hashBytes) };
}

/** The key of a record in the order of expiry. */
export function endKey(untilUs: number, key: Uint8Array): Buffer {
  return Buffer.concat([usKey(untilUs), key]);
}
