// The check of signatures as a function: the bounds of the tolerance, and unusual headers.
import { expect, test } from 'vitest';
import type { WebhookEndpoint } from '../../../config/config.ts';
import { makeVerify } from '../../../http/webhooks/signature.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';
import { keys, sign } from './sender.ts';

const plain: WebhookEndpoint = {
  name: 'e',
  path: '/webhook/e',
  plugin: 'echo',
  secretRef: 'k',
  signatureHeader: 'X-Signature',
  bodyBytesMax: 1024,
};
const timed = { ...plain, timestamp: { header: 'X-Time', toleranceMs: 300_000 } };
const standard: WebhookEndpoint = {
  ...plain,
  scheme: 'standard-webhooks',
  signatureHeader: 'webhook-signature',
  timestamp: { header: 'webhook-timestamp', toleranceMs: 300_000 },
  idHeader: 'webhook-id',
};
const body = Buffer.from('{"a":1}');
const nowMs = 1_800_000_000_000;

function verify(endpoint: WebhookEndpoint, key: string, headers: { readonly [name: string]: string }): boolean {
  return faultOf(endpoint, key, headers) === null;
}

function faultOf(endpoint: WebhookEndpoint, key: string, headers: { readonly [name: string]: string }): string | null {
  return makeVerify(endpoint, key)(name => (Object.hasOwn(headers, name) ? headers[name] : undefined), body, nowMs);
}

test.each([
  [-300, true],
  [-301, false],
  [0, true],
  [300, true],
  [301, false],
])('with a tolerance of five minutes a timestamp that is off by %i s is taken: %s', (offset, expected) => {
  const time = String(nowMs / 1000 + offset);
  const signature = sign(keys.plain, `${time}.`, body);
  expect(verify(timed, keys.plain, { 'x-time': time, 'x-signature': signature })).toBe(expected);
});

test('what is wrong with a delivery is said for the log', () => {
  const time = String(nowMs / 1000);
  const old = String(nowMs / 1000 - 301);
  const signed = (at: string, key = keys.plain) => ({ 'x-time': at, 'x-signature': sign(key, `${at}.`, body) });
  const all = [
    {},
    { 'x-signature': 'abc' },
    { 'x-signature': sign(keys.plain, body) },
    signed(time, keys.other),
    signed(old),
  ];
  expect(all.map(headers => faultOf(timed, keys.plain, headers))).toEqual([
    'the header x-signature is missing',
    'the header x-signature has no signature of the expected form',
    'the header x-time is missing',
    'the signature is wrong',
    'the timestamp is too far from now',
  ]);
});

test('a key that looks like one of Standard Webhooks is a text like any other in the plain scheme', () => {
  const signature = sign(keys.standard, body);
  expect(verify(plain, keys.standard, { 'x-signature': signature })).toBe(true);
});

test('whatever stands in the headers, it is not signed, and nothing is thrown', () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(array => Buffer.from(array));
  const value = fc.oneof(
    fc.string(),
    bytes.map(digest => `sha256=${digest.toString('hex')}`),
    fc.array(bytes).map(digests => digests.map(digest => `v1,${digest.toString('base64')}`).join(' ')),
    fc.constantFrom(String(nowMs / 1000), 'v1,', '', ' ', '\xff', '\ud800'),
  );
  const names = ['x-signature', 'x-time', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
  const headers = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(
    fc.property(
      headers,
      given =>
        !verify(plain, keys.plain, given) &&
        !verify(timed, keys.plain, given) &&
        !verify(standard, keys.standard, given),
    ),
    { numRuns: cyclesOf({ deep: 500, quick: 150 }) },
  );
});
