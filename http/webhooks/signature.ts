// Verifies the signatures of webhook deliveries (docs/contract.md#webhooks).
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { WebhookEndpoint } from '../../config/config.ts';
import { standardKeyBytes } from '../../config/section/webhook-key.ts';

/** Returns the value of the header with this lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/**
 * Checks that a signature of these bytes was made with the endpoint's key and, if the endpoint has a signed time, that this time is close to now.
 * Returns null if so; otherwise what is wrong. Only the log has this text; the answer to the sender does not.
 */
type Verify = (header: HeaderOf, body: Uint8Array, nowMs: number) => string | null;

/**
 * Returns the function that verifies an endpoint's signatures. The signed text consists of the values of the signed headers, each followed by a dot, and
 * the body. Digests are compared in constant time. A signature header without a digest is refused before any comparison; this reveals no
 * secret.
 */
export function makeVerify(endpoint: WebhookEndpoint, key: string): Verify {
  const { scheme, timestamp } = endpoint;
  const isStandard = scheme === 'standard-webhooks';
  const secret = createSecretKey(isStandard ? standardKeyBytes(key) : Buffer.from(key));
  const digestsOf = isStandard ? base64Digests : hexDigests;
  const signatureHeader = endpoint.signatureHeader.toLowerCase();
  const signedHeaders: string[] = [];
  if (isStandard) signedHeaders.push(endpoint.idHeader!);
  if (timestamp) signedHeaders.push(timestamp.header.toLowerCase());
  return (header, body, nowMs) => {
    const signature = header(signatureHeader);
    if (signature === undefined) return `the header ${signatureHeader} is missing`;
    const claimed = digestsOf(signature);
    if (claimed.length === 0) return `the header ${signatureHeader} has no signature of the expected form`;
    const hmac = createHmac('sha256', secret);
    for (const name of signedHeaders) {
      const value = header(name);
      if (value === undefined) return `the header ${name} is missing`;
      hmac.update(`${value}.`);
    }
    const digest = hmac.update(body).digest();
    const isSigned = claimed.filter(other => timingSafeEqual(other, digest)).length > 0;
    if (!isSigned) return 'the signature is wrong';
    if (!timestamp || isFresh(header(timestamp.header.toLowerCase())!, timestamp.toleranceMs, nowMs)) return null;
    return 'the timestamp is too far from now';
  };
}

const hexShape = /^(?:sha256=)?([0-9A-Fa-f]{64})$/;

function hexDigests(header: string): Buffer[] {
  const digits = hexShape.exec(header)?.[1];
  return digits === undefined ? [] : [Buffer.from(digits, 'hex')];
}

const base64Shape = /^v1,([A-Za-z0-9+/]{43}=)$/;

/**
 * The digests in a header of Standard Webhooks. While keys are rotated, the header may have several signatures, separated by spaces.
 * Versions other than `v1` are ignored.
 */
function base64Digests(header: string): Buffer[] {
  return header.split(' ').flatMap(signature => {
    const digits = base64Shape.exec(signature)?.[1];
    return digits === undefined ? [] : [Buffer.from(digits, 'base64')];
  });
}

const secondsShape = /^\d{1,12}$/;

/** Whether a Unix time in seconds is at most `toleranceMs` from now, in either direction. */
function isFresh(seconds: string, toleranceMs: number, nowMs: number): boolean {
  return secondsShape.test(seconds) && Math.abs(nowMs - Number(seconds) * 1000) <= toleranceMs;
}
