// Idempotency keys (docs/contract.md#idempotency): the `Idempotency-Key` of a call, scoped to the caller's API token, and the id of a webhook
// delivery, scoped to its endpoint.

import { createHash } from 'node:crypto';
import type { IdempotencyKey } from '../actors/job/protocol.ts';
import { canonicalText } from '../runtime/json-value.ts';
import { type HttpProblem, isProblem, problem } from './problem.ts';
import type { HttpCall } from './route.ts';

export const idempotencyKeyCharsMax = 255;
const header = 'idempotency-key';
const hashBytes = 16;

/** The idempotency key of a call, with the hash of its request; null if the call has no key, a problem if the key is invalid. */
export function idempotencyOf(call: HttpCall, path: string): IdempotencyKey | HttpProblem | null {
  const keyFor = idempotencyKeyOf(call);
  if (keyFor === null || isProblem(keyFor)) return keyFor;
  return keyFor(path, call.body === undefined ? [] : [call.body]);
}

/**
 * Returns a function that makes the key, because the content of a batch is known later than its head; null if the call has no `Idempotency-Key`; a
 * problem if the header is invalid.
 */
export function idempotencyKeyOf(
  call: HttpCall,
): ((path: string, content: unknown) => IdempotencyKey) | HttpProblem | null {
  const key = call.header(header);
  if (key === undefined) return null;
  if (!isKeyText(key, idempotencyKeyCharsMax)) {
    const detail = `an Idempotency-Key has 1 to ${idempotencyKeyCharsMax} characters, in UTF-8`;
    return problem('invalid_idempotency_key', detail);
  }
  const { caller, params } = call;
  // `wait` is left out of the hash: a repeated call may have a different `wait`.
  const { wait: _, ...query } = call.query as { readonly wait?: number };
  return (path, content) => ({
    key: hash([caller?.tokenDigest ?? '', key]),
    request: hash(['POST', path, params, query, content]),
  });
}

/** Whether a header can be a key. Bytes that are not UTF-8 were replaced by U+FFFD when the header was read, which makes different keys equal. */
export function isKeyText(text: string, charsMax: number): boolean {
  return text !== '' && text.length <= charsMax && !text.includes('\ufffd');
}

const anyDelivery = hash(['delivery']);

/** The key of a delivery. Two deliveries to one endpoint count as the same if their ids are equal, whatever their bodies are. */
export function deliveryKeyOf(endpoint: string, id: string): IdempotencyKey {
  return { key: hash(['delivery', endpoint, id]), request: anyDelivery };
}

function hash(value: unknown): Uint8Array {
  return createHash('sha256').update(canonicalText(value)).digest().subarray(0, hashBytes);
}
