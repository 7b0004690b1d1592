// POST /system/reload: a new configuration without a restart, or every error of it and the old one.
import { beforeEach, expect, test } from 'vitest';
import { writeConfiguration } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

const message = 'configuration reloaded';
const gateway = shareGateway({ plugins: { echo } });

beforeEach(() => gateway.reload({ plugins: { echo } }));

test('a right configuration is swapped in: status, reloaded_at, message', async () => {
  const startedMs = Date.now();
  writeConfiguration(gateway.directory, { plugins: { echo, other: echo } });
  const { status, body } = await gateway.call('POST', '/system/reload');
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok', reloaded_at: expect.any(String), message } });
  expect(Date.parse(String(body['reloaded_at']))).toBeGreaterThan(startedMs - 1_000);
  // The new configuration is in force everywhere when the response arrives.
  expect(await gateway.finished('other/handle')).toMatchObject({ status: 'succeeded' });
});

test('a wrong configuration is 409 with every error, and the old one stays in force', async () => {
  writeConfiguration(gateway.directory, { plugins: {}, service: { max_workers: -1 }, instances: { ghost: {} } });
  const { status, headers, body } = await gateway.call('POST', '/system/reload');
  expect(status).toBe(409);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({ code: 'reload_refused', status: 409 });
  const errors = body['errors'] as readonly { pointer: string; message: string }[];
  expect(errors.map(({ pointer }) => pointer)).toEqual(
    expect.arrayContaining(['/service/max_workers', '/plugins/ghost']),
  );
  for (const error of errors) expect(error.message).toMatch(/config\.yaml:\d+:\d+: /);
  expect((await gateway.call('GET', '/config/view')).body['plugins']).toHaveProperty('echo');
});

test('a single error stands in errors too', async () => {
  writeConfiguration(gateway.directory, { plugins: { echo }, service: { max_wrkers: 2 } });
  const { body } = await gateway.call('POST', '/system/reload');
  expect(body['errors']).toEqual([{ pointer: '/service/max_wrkers', message: expect.stringContaining('max_workers') }]);
});

test('the message names what needs a restart, and it stays as it was', async () => {
  const service = { max_workers: 3, plugin_env_passthrough: ['EDITOR'] };
  writeConfiguration(gateway.directory, { plugins: { echo }, service, state: { path: './elsewhere' } });
  const { body } = await gateway.call('POST', '/system/reload');
  const names = 'service.max_workers, service.plugin_env_passthrough, state.path';
  expect(body['message']).toBe(`${message}; a restart is needed for ${names}`);
  expect((await gateway.call('GET', '/analytics/queue')).body['max_workers']).toBe(2);
});

test('tokens of the new configuration count from then on, those of the old one no more', async () => {
  const token = 'another-token-for-everything';
  writeConfiguration(gateway.directory, { plugins: { echo }, api: { auth: { tokens: [{ token, scopes: ['*'] }] } } });
  expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
  expect((await gateway.call('GET', '/config/view')).status).toBe(401);
  expect((await gateway.call('GET', '/config/view', undefined, { token })).status).toBe(200);
});

test('reloads at the same time, by call and by signal, each end whole', async () => {
  const reloads = () => gateway.log.filter(({ msg }) => msg === message).length;
  const before = reloads();
  const calls = Array.from({ length: 8 }, () => gateway.call('POST', '/system/reload'));
  gateway.signal('SIGHUP');
  for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
  await until('all have ended, also the one by signal', () => reloads() === before + 9);
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('a reload under load loses nothing and runs nothing twice', async () => {
  const settings = { plugins: { worker, echo } };
  await gateway.reload(settings);
  const ids: string[] = [];
  for (let round = 0; round < 6; round++) {
    const some = Array.from({ length: 40 }, () => gateway.submit('worker/handle'));
    writeConfiguration(gateway.directory, { ...settings, service: { name: `round-${round}` } });
    expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
    ids.push(...(await Promise.all(some)));
  }
  for (const id of ids) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const started = gateway.journal().flatMap(({ what, job }) => (what === 'start' ? [job] : []));
  expect(started.toSorted(), gateway.stderr).toEqual(ids.toSorted());
  expect((await gateway.call('GET', '/config/view')).body['service']).toMatchObject({ name: 'round-5' });
});
