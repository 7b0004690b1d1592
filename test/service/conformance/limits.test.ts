// Section 8 of sentences.ts: limits.
import { beforeAll, expect, test } from 'vitest';
import { send, sign } from '../../feature/webhooks/sender.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { hookKeys, read, settings } from './service.ts';

const gateway = shareGateway(settings);
const count = 210;

beforeAll(async () => {
  await Promise.all(Array.from({ length: count }, () => gateway.submit('echo/look')));
  await until('all have ended', async () => (await read(gateway, '/job-logs'))['total'] === count);
});

test('limit is 50 by default on /jobs and /job-logs', async () => {
  const { jobs, total } = await read(gateway, '/jobs');
  expect(jobs).toHaveLength(50);
  expect(total).toBe(count);
  expect((await read(gateway, '/job-logs'))['logs']).toHaveLength(50);
});

test('limit is at most 200 on /job-logs', async () => {
  expect((await read(gateway, '/job-logs?limit=200'))['logs']).toHaveLength(200);
  for (const limit of [201, 1000]) {
    const { status, body } = await gateway.call('GET', `/job-logs?limit=${limit}`);
    expect([status, body['code']]).toEqual([400, 'invalid_query']);
  }
});

test('the window of the analytics summary is 24h', async () => {
  expect(await read(gateway, '/analytics/summary')).toMatchObject({ window: '24h', stats: { succeeded: count } });
});

test('the synchronous timeout is timeout_secs of the pipeline', async () => {
  const startMs = performance.now();
  const { status, body } = await gateway.call('POST', '/pipeline/slow', { payload: { gate: 'limit' } });
  const tookMs = performance.now() - startMs;
  expect([status, body['timeout_exceeded']]).toEqual([202, true]);
  expect(tookMs).toBeGreaterThan(950);
  gateway.open('limit');
});

test('max_body_size of a webhook endpoint is 1MB by default', async () => {
  for (const [bytes, status] of [
    [2 ** 20, 202],
    [2 ** 20 + 1, 413],
  ] as const) {
    const body = `{"text":"${'x'.repeat(bytes - 11)}"}`;
    const signed = { 'X-Signature': sign(hookKeys.other, body) };
    expect((await send(gateway, '/webhook/other', body, signed)).status).toBe(status);
  }
});
