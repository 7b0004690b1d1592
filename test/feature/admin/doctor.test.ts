// GET /system/doctor: each check passes on a sound service, and fails where it should.

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Gauges } from '../../../actors/job/gauges.ts';
import type { Pause } from '../../../actors/job/records/pause.ts';
import { isLoopback } from '../../../config/address.ts';
import type { Certificate } from '../../../config/certificate.ts';
import type { Config } from '../../../config/config.ts';
import { unsealed } from '../../../config/seal/seal.ts';
import type { Link } from '../../../runtime/link.ts';
import { limitsDefault } from '../../../runtime/processes/sandbox.ts';
import { type AdministrationOptions, openAdministration } from '../../../service/administration.ts';
import type { Served } from '../../../service/doctor/certificates.ts';
import { type DoctorOptions, examine } from '../../../service/doctor/doctor.ts';
import { trySandboxes } from '../../../service/doctor/sandboxes.ts';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken, writeConfiguration } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { openMemoryStore } from '../../support/memory-store.ts';
import { makeConfig } from '../../unit/http/gateway.ts';

const names = [
  'config',
  'seal',
  'state_writable',
  'disk_space',
  'search_index',
  'plugins',
  'held_jobs',
  'pauses',
  'schedules',
  'records',
  'pipelines',
  'webhooks',
  'backups',
];
const allNames = [...names, 'vault', 'tokens', 'listen_exposure', 'certificates', 'clock', 'node_version'];
type Checks = readonly { readonly name: string; readonly passed: boolean; readonly detail: string }[];

const tokens = [
  { name: 'test', token: everythingToken, scopes: ['*'] },
  { name: 'ci', token: canary('ci'), scopes: ['plugin:rw', 'jobs:rw'] },
  { token: canary('unnamed'), scopes: ['jobs:rw'] },
  { name: 'reader', token: canary('reader'), scopes: ['jobs:ro'] },
];
const settings = { plugins: { echo }, api: { auth: { tokens } } };
const gateway = shareGateway(settings);

async function failedOf(): Promise<readonly string[]> {
  const { body } = await gateway.call('GET', '/system/doctor');
  const failed = (body['checks'] as Checks).filter(({ passed }) => !passed).map(({ name }) => name);
  expect(body['status']).toBe(failed.length === 0 ? 'ok' : 'degraded');
  return failed;
}

async function detailOf(check: string): Promise<string> {
  const { body } = await gateway.call('GET', '/system/doctor');
  return (body['checks'] as Checks).find(({ name }) => name === check)!.detail;
}

test('a sound service passes every check', async () => {
  const { status, body } = await gateway.call('GET', '/system/doctor');
  expect(status).toBe(200);
  expect(body['status']).toBe('ok');
  expect((body['checks'] as Checks).map(({ name }) => name)).toEqual(allNames);
  expect(body['checks']).toContainEqual({ name: 'seal', passed: true, detail: 'not sealed' });
  expect(body['checks']).toContainEqual({ name: 'vault', passed: true, detail: 'not initialised' });
});

test('the tokens that may cancel jobs are named', async () => {
  const { body } = await gateway.call('GET', '/system/doctor');
  expect(body['checks']).toContainEqual({
    name: 'tokens',
    passed: true,
    detail: 'tokens that can cancel and rerun jobs (jobs:rw): ci, number 3; to read jobs, jobs:ro is enough',
  });
});

test('what has become wrong on disk shows, while the service goes on', async () => {
  const pipelines = [{ name: 'p', on: 'e', steps: [{ uses: 'ghost' }] }];
  writeConfiguration(gateway.directory, { plugins: { echo }, pipelines });
  expect(await failedOf()).toEqual(['config', 'pipelines']);
  writeConfiguration(gateway.directory, { plugins: { echo, broken: { code: '', runtime: 'unheard-of' } } });
  expect(await failedOf()).toEqual(['plugins']);
  const needy = [1, 2, 3, 4, 5, 6, 7].map(number => `need${number}`);
  const source = { code: 'export const handle = () => ({});', config_keys: { required: ['root_dir'] } };
  const sources = Object.fromEntries(needy.map(name => [name, source]));
  writeConfiguration(gateway.directory, { plugins: { echo, ...sources }, instances: { ghost: { enabled: true } } });
  const detail = await detailOf('plugins');
  for (const name of [...needy, 'ghost']) expect(detail).toContain(`"${name}"`);
  const used = { name: 'p', on: 'e', steps: needy.map(uses => ({ uses })) };
  writeConfiguration(gateway.directory, { plugins: { echo, ...sources }, pipelines: [used] });
  for (const name of needy) expect(await detailOf('plugins')).toContain(`"${name}"`);
  expect(await failedOf()).toEqual(['config', 'plugins', 'pipelines']);
  writeConfiguration(gateway.directory, { plugins: { echo } });
  expect(await failedOf()).toEqual([]);
  rmSync(join(gateway.directory, 'plugins/echo/index.mjs'));
  expect(await failedOf()).toContain('plugins');
  writeConfiguration(gateway.directory, { plugins: { echo } });
  expect(await failedOf()).toEqual([]);
});

test('schedules whose only time is past are named, and fail nothing', async () => {
  const at = '2020-01-01T00:00:00Z';
  const schedules = [
    { id: 'once', plugin: 'echo', at },
    { id: 'off', plugin: 'echo', at, enabled: false },
  ];
  const echoes = { schedules: [{ command: 'handle', at }] };
  writeConfiguration(gateway.directory, { plugins: { echo }, instances: { echo: echoes }, schedules });
  expect(await failedOf()).toEqual([]);
  const detail = await detailOf('schedules');
  expect(detail).toContain(': schedules[0].at: is in the past');
  expect(detail).toContain(': plugins.echo.schedules[0].at: is in the past');
  expect(detail).not.toContain('schedules[1]');
  writeConfiguration(gateway.directory, { plugins: { echo } });
});

test('a key file without a vault, and one that others may read', async () => {
  const found = async () => {
    const checks = (await gateway.call('GET', '/system/doctor')).body['checks'] as Checks;
    return checks.find(({ name }) => name === 'vault');
  };
  const file = join(gateway.directory, 'data/vault.key');
  writeFileSync(file, Buffer.alloc(32), { mode: 0o600 });
  const missing = `vault: the keyring is missing, but its unlock key exists: ${file}`;
  expect(await found()).toMatchObject({ passed: false, detail: expect.stringContaining(missing) });
  expect((await found())!.detail).not.toContain('mode');
  chmodSync(file, 0o640);
  expect(await found()).toMatchObject({ passed: false, detail: expect.stringContaining('(mode 0640)') });
  rmSync(file);
});

test('files that others may read fail the check of the state, and are named', async () => {
  const state = join(gateway.directory, 'data');
  const file = join(state, 'api-token');
  writeFileSync(file, 'made by hand');
  chmodSync(file, 0o644);
  expect(await failedOf()).toEqual([]);
  chmodSync(state, 0o755);
  expect(await failedOf()).toEqual(['state_writable']);
  const { body } = await gateway.call('GET', '/system/doctor');
  const detail = `users other than the owner can use ${file}: chmod -R go-rwx ${state}`;
  expect(body['checks']).toContainEqual({ name: 'state_writable', passed: false, detail });
  chmodSync(file, 0o600);
  expect(await failedOf()).toEqual([]);
});

const noVault = {
  condition: { kind: 'absent' },
  keys: { file: '/nowhere/vault.key', variable: undefined },
  looseMode: null,
} as const;
const openVault = { kind: 'open', principals: 1, secrets: 1, problems: [] } as const;

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
  ['search_index', () => ({ index: { kind: 'closed', reason: 'EMFILE: too many open files' } })],
  ['search_index', () => ({ index: { kind: 'failing', reason: 'the disk is full' } })],
  [
    'backups',
    ({ config, nowMs }) => ({
      config: { ...config, backups: { ...config.backups, everyMs: 60_000 } },
      backups: { newestMs: nowMs, failure: 'no room', archiveFailure: null, startedAtMs: nowMs },
    }),
  ],
  [
    'backups',
    ({ config, nowMs }) => ({
      config: { ...config, backups: { ...config.backups, everyMs: 60_000 } },
      backups: { newestMs: nowMs - 130_000, failure: null, archiveFailure: null, startedAtMs: 0 },
    }),
  ],
  [
    'backups',
    ({ config, nowMs }) => ({
      config: { ...config, backups: { ...config.backups, everyMs: 60_000, log: true } },
      backups: { newestMs: nowMs, failure: null, archiveFailure: 'EACCES', startedAtMs: nowMs },
    }),
  ],
  ['pauses', ({ nowMs }) => ({ pauses: [{ ...paused, sinceUs: (nowMs - 25 * 3_600_000) * 1000 }] })],
  ['schedules', () => ({ schedules: [{ id: 'a', pause: { by: 'schedule', reason: 'it fails', sinceMs: 0 } }] })],
  ['vault', () => ({ vault: () => ({ ...noVault, condition: { kind: 'sealed', problems: ['no key'] } }) })],
  [
    'vault',
    () => ({ vault: () => ({ ...noVault, condition: { ...openVault, problems: ['vault_secrets: s is missing'] } }) }),
  ],
  ['vault', () => ({ vault: () => ({ ...noVault, condition: openVault, looseMode: '0644' }) })],
  [
    'webhooks',
    () => ({
      inspect: async () => ({
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

const everywhere = { host: '0.0.0.0', port: 1 };
const here = { host: '127.0.0.1', port: 1 };
const tls = { cert: '/c', key: '/k' };
type Listening = Partial<Config['webhooks']>;

test.each<[passed: boolean, api: Listening, webhooks: Listening, detail: string]>([
  [true, { listen: here }, { listen: here, behindProxy: true }, 'loopback only'],
  [true, { listen: everywhere, tls }, { listen: here }, 'api.listen 0.0.0.0: TLS'],
  [
    true,
    { listen: everywhere, behindProxy: true },
    { listen: everywhere, tls, behindProxy: true },
    'api.listen 0.0.0.0: behind a proxy with TLS, as api.behind_proxy declares; webhooks.listen 0.0.0.0: TLS',
  ],
  [
    false,
    { listen: everywhere, tls },
    { listen: everywhere },
    'webhooks.listen 0.0.0.0: reachable from other machines without TLS; set webhooks.tls, or webhooks.behind_proxy: true if a proxy with TLS is in front; api.listen 0.0.0.0: TLS',
  ],
])('listen_exposure passes: %s, %j %j', async (passed, api, webhooks, detail) => {
  const options = soundOptions();
  const { config } = options;
  const changed = { ...config, api: { ...config.api, ...api }, webhooks: { ...config.webhooks, ...webhooks } };
  const checks = await examine({ ...options, config: changed });
  expect(checks).toContainEqual({ name: 'listen_exposure', passed, detail });
});

const day = 86_400_000;

test.each<[passed: boolean, days: number, more: Partial<Served>, detail: string]>([
  [true, 15, {}, 'api: localhost, a.example until 2027-01-30T08:00:00Z'],
  [false, 13.5, {}, 'api: localhost, a.example ends in 13 days, on 2027-01-28T20:00:00Z'],
  [false, -1, {}, 'api: localhost, a.example expired on 2027-01-14T08:00:00Z'],
  [
    false,
    90,
    { byAddress: certificateUntil(0), namesBehind: ['localhost'] },
    'api: localhost, a.example until 2027-04-15T08:00:00Z; callers that connect by IP address or as localhost get the old certificate until the next start',
  ],
])('certificates passes: %s, with %s days to go and %j', async (passed, days, more, detail) => {
  const options = soundOptions();
  const newest = certificateUntil(options.nowMs + days * day);
  const served = { newest, byAddress: newest, namesBehind: [], ...more };
  const checks = await examine({ ...options, certificates: [{ name: 'api', served }] });
  expect(checks).toContainEqual({ name: 'certificates', passed, detail });
});

function certificateUntil(endsAtMs: number): Certificate {
  return { chain: Buffer.from(String(endsAtMs)), key: Buffer.from('k'), names: ['localhost', 'a.example'], endsAtMs };
}

test('a warning about a certificate is none about a plugin', async () => {
  const warnings = ['/c.yaml:1:2: api.tls.cert: /c.pem expired on 2020-01-01T00:00:00Z'];
  const checks = await examine({
    ...soundOptions(),
    inspect: async () => ({ problems: [], warnings, seal: unsealed }),
  });
  expect(checks.filter(({ passed }) => !passed)).toEqual([]);
});

test('callers that ask while an examination is under way share its findings', async () => {
  const { config, inspect, index, trySandboxes: tried } = soundOptions();
  let examinations = 0;
  let finish = (): void => {};
  const finished = new Promise<void>(resolve => {
    finish = resolve;
  });
  const unused = (): never => {
    throw new Error('the doctor has no use for it');
  };
  const parts: AdministrationOptions = {
    link: { ask: async () => ({ kind: 'held', held: [] }) } as Partial<Link> as Link,
    gauges: {} as Gauges,
    reads: {
      selfcheck: unused,
      async inspect() {
        examinations++;
        await finished;
        return inspect();
      },
      trySandboxes: tried,
    },
    reload: { reload: unused, dryRun: unused },
    listeners: { detail: 'uws', served: () => [] },
    index: () => index,
    backups: { condition: { newestMs: null, failure: null, archiveFailure: null, startedAtMs: Date.now() } },
    reader: openMemoryStore(),
    config: () => config,
    source: { cwd: '/', processors: 1 },
    startedAtMs: 0,
    upMs: () => 0,
    vaultKey: undefined,
  };
  const { doctor } = openAdministration(parts);
  const asked = Array.from({ length: 200 }, () => doctor());
  finish();
  const found = await Promise.all(asked);
  expect([examinations, new Set(found).size, found[0]!.length]).toEqual([1, 1, allNames.length]);
  await doctor();
  expect(examinations).toBe(2);
});

test('a sandbox is tried once a minute, however often the doctor is asked', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
  const path = process.env['PATH'];
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
    process.env['PATH'] = path;
    rmSync(directory, { recursive: true });
  });
  const tries = join(directory, 'tries');
  writeFileSync(join(directory, 'prlimit'), `#!/bin/sh\necho "$@" >> '${tries}'\n`, { mode: 0o755 });
  process.env['PATH'] = `${directory}:${path}`;
  const sandbox = { kind: 'limits', limits: { ...limitsDefault, openFilesMax: 1023 } } as const;
  const triesAfterAsking = async () => {
    const asked = ['a', 'b'].map(name => ({ name, sandbox }));
    for (let round = 0; round < 3; round++) expect((await trySandboxes(asked)).refused).toEqual([]);
    const lines = readFileSync(tries, 'utf8').split('\n');
    return lines.filter(line => line.includes('--nofile=1023')).length;
  };
  expect(await triesAfterAsking()).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(await triesAfterAsking()).toBe(2);
});

const paused: Pause = {
  ...{ kind: 'plugin', name: 'echo', command: null, reason: 'provider down', by: 'api:ops' },
  ...{ sinceUs: 0, untilUs: null, rejects: false },
};

test('a pause is listed, and only one of more than a day fails', async () => {
  const options = soundOptions();
  const sinceUs = (options.nowMs - 3_600_000) * 1000;
  const found = await examine({ ...options, pauses: [{ ...paused, sinceUs }] });
  const detail = 'the plugin echo by api:ops since 2027-01-15T07:00:00.000000Z: provider down';
  expect(found).toContainEqual({ name: 'pauses', passed: true, detail });
  // A breaker that is half open and has no job to try is not a forgotten pause.
  const trying = { ...paused, by: 'breaker', sinceUs: sinceUs - 48 * 3_600_000_000, untilUs: sinceUs };
  expect(await examine({ ...options, pauses: [trying] })).toContainEqual({
    name: 'pauses',
    passed: true,
    detail: expect.stringMatching(/^the breaker of .* is half open: the next job tries$/),
  });
});

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
    inspect: async () => ({ problems: [], warnings: [], seal: unsealed }),
    trySandboxes,
    nowMs,
    upMs: 1_000,
    startedAtMs: nowMs - 1_000,
    committedUs: null,
    nodeVersion: '20.11.0',
    certificates: [],
    held: async () => [],
    pauses: [],
    schedules: [],
    setAside: async () => ({ kind: 'set_aside', all: 0, listed: [] }),
    server: 'uws',
    index: { kind: 'open', replaced: null },
    backups: { newestMs: null, failure: null, archiveFailure: null, startedAtMs: Date.now() },
    vault: () => noVault,
  };
}
