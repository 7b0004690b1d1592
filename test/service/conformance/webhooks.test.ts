// Section W of sentences.ts: the webhook listener.
import { expect, test } from 'vitest';
import { ask, send, sign } from '../../feature/webhooks/sender.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { hookKeys, settings, uuid } from './service.ts';

const gateway = shareGateway(settings);
const body = '{ "payload": { "a": 1 } }';
const digest = sign(hookKeys.push, body);

async function statusOf(text: string, signature: string): Promise<number> {
  return (await send(gateway, '/webhook/push', text, { 'X-Signature': signature })).status;
}

test('the signature is the hexadecimal HMAC-SHA256 digest of the raw request body', async () => {
  expect(await statusOf(body, digest)).toBe(202);
  expect(await statusOf(JSON.stringify(JSON.parse(body)), digest)).toBe(403);
});

test('the header value may carry a sha256= prefix before the digest', async () => {
  expect(await statusOf(body, `sha256=${digest}`)).toBe(202);
});

test('on acceptance the response contains job_id, and a job of the plugin is enqueued', async () => {
  const { body: said } = await send(gateway, '/webhook/push', body, { 'X-Signature': digest });
  expect(said['job_id']).toEqual(uuid);
  expect(await gateway.settled(String(said['job_id']))).toMatchObject({ plugin: 'echo', status: 'succeeded' });
});

test('GET /healthz on the webhook listener returns health', async () => {
  expect(await ask(gateway, 'GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
});

test('paths that are not configured return 404', async () => {
  for (const path of ['/webhook/pull', '/webhook', '/', '/jobs'])
    for (const method of ['GET', 'POST']) expect((await ask(gateway, method, path)).status).toBe(404);
});
