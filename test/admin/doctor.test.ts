// GET /system/doctor: each check passes on a sound service, and is seen to fail.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type DoctorOptions, examine } from '../../cli/doctor.ts';
import { isLoopback } from '../../config/address.ts';
import type { Config } from '../../config/config.ts';
import { unsealed } from '../../config/seal/seal.ts';
import { writeConfiguration } from '../gateway/configuration.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';
import { makeConfig } from '../http/gateway.ts';

const names = ['config', 'seal', 'state_writable', 'disk_space', 'plugins', 'pipelines', 'webhooks', 'vault'];
const allNames = [...names, 'listen_exposure', 'clock', 'node_version'];
type Checks = readonly { readonly name: string; readonly passed: boolean; readonly detail: string }[];

async function failedOf(gateway: Gateway): Promise<readonly string[]> {
  const { body } = await gateway.call('GET', '/system/doctor');
  const failed = (body['checks'] as Checks).filter(({ passed }) => !passed).map(({ name }) => name);
  expect(body['status']).toBe(failed.length === 0 ? 'ok' : 'degraded');
  return failed;
}

test('a sound service passes every check', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const { status, body } = await gateway.call('GET', '/system/doctor');
  expect(status).toBe(200);
  expect(body['status']).toBe('ok');
  expect((body['checks'] as Checks).map(({ name }) => name)).toEqual(allNames);
  expect(body['checks']).toContainEqual({ name: 'seal', passed: true, detail: 'not sealed' });
  expect(body['checks']).toContainEqual({ name: 'vault', passed: true, detail: 'not initialised' });
});

test('what has become wrong on disk shows, while the service goes on', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const pipelines = [{ name: 'p', on: 'e', steps: [{ uses: 'ghost' }] }];
  writeConfiguration(gateway.directory, { plugins: { echo }, pipelines });
  expect(await failedOf(gateway)).toEqual(['config', 'pipelines']);
  writeConfiguration(gateway.directory, { plugins: { echo, broken: { code: '', runtime: 'unheard-of' } } });
  expect(await failedOf(gateway)).toEqual(['plugins']);
  writeConfiguration(gateway.directory, { plugins: { echo } });
  expect(await failedOf(gateway)).toEqual([]);
  rmSync(join(gateway.directory, 'plugins/echo/index.mjs'));
  expect(await failedOf(gateway)).toContain('plugins');
});

test('the key file of the vault is for its owner alone', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const file = join(gateway.directory, 'data/vault.key');
  writeFileSync(file, Buffer.alloc(32), { mode: 0o600 });
  expect(await failedOf(gateway)).toEqual([]);
  chmodSync(file, 0o640);
  expect(await failedOf(gateway)).toEqual(['vault']);
});

test.each<[check: string, change: (options: DoctorOptions) => Partial<DoctorOptions>]>([
  ['state_writable', ({ config }) => ({ config: { ...config, state: { ...config.state, path: '/nowhere/at/all' } } })],
  ['disk_space', ({ config }) => ({ config: { ...config, state: { ...config.state, path: '/nowhere/at/all' } } })],
  ['listen_exposure', ({ config }) => listening(config, '0.0.0.0')],
  [
    'listen_exposure',
    ({ config }) => ({ config: { ...config, webhooks: { endpoints: [], listen: { host: '::', port: 1 } } } }),
  ],
  ['clock', ({ nowMs }) => ({ nowMs: nowMs + 60_000 })],
  ['clock', ({ nowMs }) => ({ committedUs: (nowMs + 60_000) * 1000 })],
  ['node_version', () => ({ nodeVersion: '18.19.1' })],
  ['vault', () => ({ vault: () => ({ kind: 'sealed', problems: ['vault_secrets: s is missing'] }) })],
  [
    'webhooks',
    () => ({
      read: () => ({
        ok: false,
        problems: ['/c.yaml:1:2: webhooks.endpoints[0].path: x'],
        warnings: [],
        seal: unsealed,
      }),
    }),
  ],
])('%s fails when it should', async (check, change) => {
  const options = soundOptions();
  const failed = (await examine({ ...options, ...change(options) })).filter(({ passed }) => !passed);
  expect(failed.map(({ name }) => name)).toContain(check);
});

test.each([
  ...['127.0.0.1', '127.8.9.1', '::1', 'localhost', '::ffff:127.0.0.1'].map(host => [host, true] as const),
  ...['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', 'example.org', '127.0.0.1.example.org'].map(h => [h, false] as const),
])('%s is loopback: %s', (host, expected) => expect(isLoopback(host)).toBe(expected));

function listening(config: Config, host: string) {
  return { config: { ...config, api: { ...config.api, listen: { host, port: 1 } } } };
}

function soundOptions(): DoctorOptions {
  const path = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const base = makeConfig();
  const config: Config = { ...base, plugins: {}, state: { ...base.state, path } };
  const nowMs = 1_800_000_000_000;
  return {
    config,
    read: () => ({ ok: true, config, seal: unsealed }),
    nowMs,
    upMs: 1_000,
    startedAtMs: nowMs - 1_000,
    committedUs: null,
    nodeVersion: '20.11.0',
    vault: () => ({ kind: 'absent' }),
  };
}
