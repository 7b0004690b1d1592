// Section 4.5 of sentences.ts: administration.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shareGateway } from '../gateway/gateway.ts';
import { hookKeys, moment, read, scopesThatMay, settings, text, whole } from './service.ts';

const gateway = shareGateway(settings);

/** Writes these keys into the main file, and reloads the configuration. */
async function reloadWith(more: object): Promise<void> {
  const main = join(gateway.directory, 'config.yaml');
  writeFileSync(main, JSON.stringify({ ...JSON.parse(readFileSync(main, 'utf8')), ...more }));
  const { status, body } = await gateway.call('POST', '/system/reload');
  expect({ status, body }).toMatchObject({ status: 200 });
}

test('administrative routes need *', async () => {
  expect(await scopesThatMay(gateway, 'POST', '/system/reload')).toEqual(['*']);
  for (const path of ['/analytics/queue', '/analytics/summary', '/config/view'])
    expect(await scopesThatMay(gateway, 'GET', path)).toEqual(['*']);
});

test('POST /system/reload answers status, reloaded_at and message', async () => {
  const { status, body } = await gateway.call('POST', '/system/reload');
  expect({ status, body }).toEqual({ status: 200, body: { status: text, reloaded_at: moment, message: text } });
});

test('POST /system/reload reloads the configuration without restart', async () => {
  await reloadWith({ pipelines: [{ name: 'fresh', on: 'fresh.asked', steps: [{ uses: 'echo' }] }] });
  expect(await gateway.ran('fresh')).toMatchObject({ status: 'succeeded' });
  expect((await gateway.call('POST', '/pipeline/hear')).status).toBe(404);
  expect(gateway.log.filter(({ msg }) => msg === 'ready')).toHaveLength(1);
});

test('GET /analytics/queue has the queue depth and the utilization of workers', async () => {
  const { queue_depth: depth, utilization, max_workers: workers } = await read(gateway, '/analytics/queue');
  expect([depth, workers]).toEqual([whole, settings.service.max_workers]);
  expect(utilization).toBeGreaterThanOrEqual(0);
  expect(utilization).toBeLessThanOrEqual(1);
});

test('GET /analytics/summary has the window 24h and counts by status name', async () => {
  await gateway.finished('echo/handle');
  const { window, stats } = await read(gateway, '/analytics/summary');
  const counts = {
    queued: whole,
    running: whole,
    succeeded: whole,
    failed: whole,
    timed_out: whole,
    dead: whole,
    cancelled: whole,
  };
  expect([window, stats]).toEqual(['24h', counts]);
  expect((stats as { succeeded: number }).succeeded).toBeGreaterThan(0);
});

test('GET /config/view has service, api, plugins and pipelines', async () => {
  const { service, api, plugins, pipelines, ...more } = await read(gateway, '/config/view');
  expect(service).toEqual({ name: 'conformance', log_level: 'debug' });
  expect(api).toEqual({ enabled: true, listen: '127.0.0.1:0', tokens: expect.any(Array) });
  expect(plugins).toMatchObject({ echo: { enabled: true, config: { greeting: 'hello' } } });
  for (const pipeline of pipelines as object[]) expect(pipeline).toEqual({ name: text, on: text });
  expect(more).toEqual({});
});

test('plugin config values under keys with telling words are [REDACTED]', async () => {
  const body = await read(gateway, '/config/view');
  expect((body['plugins'] as { echo: object }).echo).toEqual({
    enabled: true,
    config: { greeting: 'hello', api_key: '[REDACTED]', deep: { clientSecret: '[REDACTED]', monkey: 'shown' } },
  });
  expect(JSON.stringify(body)).not.toMatch(/hidden-\d/);
});

test('token values and high-security token keys are omitted', async () => {
  const said = JSON.stringify(await read(gateway, '/config/view'));
  for (const key of Object.values(hookKeys)) expect(said).not.toContain(key);
  for (const { token } of settings.api.auth.tokens) expect(said).not.toContain(token);
});

test('GET /system/doctor and /system/selfcheck need system:ro, system:rw or *', async () => {
  for (const path of ['/system/doctor', '/system/selfcheck'])
    expect(await scopesThatMay(gateway, 'GET', path)).toEqual(['*', 'system:ro', 'system:rw']);
});

test('GET /system/doctor has status, and checks with name and passed', async () => {
  const { status, checks } = await read(gateway, '/system/doctor', 'system:ro');
  const all = checks as { name: string; passed: boolean }[];
  for (const check of all) expect(check).toMatchObject({ name: text, passed: expect.any(Boolean) });
  expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(['config', 'plugins', 'pipelines']));
  expect(status).toBe(all.every(({ passed }) => passed) ? 'ok' : 'degraded');
});

test('GET /system/selfcheck has status, invariants_checked and failures', async () => {
  const { status, failures, invariants_checked: checked } = await read(gateway, '/system/selfcheck', 'system:ro');
  expect([status, failures, checked]).toEqual(['ok', [], whole]);
  expect(checked).toBeGreaterThan(0);
});
