// A service with every kind of secret, called in every way: its secrets appear only on the stdin of its plugins.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { initVault } from '../../../cli/vault/init.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { openRaw } from '../../feature/events/reader.ts';
import { ask } from '../../feature/webhooks/sender.ts';
import { everythingToken } from '../gateway/configuration.ts';
import { Gateway } from '../gateway/gateway.ts';
import { opened } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';
import { canary, watch } from './canary.ts';

const hookKey = canary('webhook key');
const narrowToken = canary('narrow token');
const value = `"\\/+ü\n%${canary('vault value').slice(0, 30)}`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Puts its secret into every part of an outcome; `how` in the payload selects an unusual outcome. */
const teller = `
import { createHash } from 'node:crypto';
export const handle = ({ secrets, event }, { log, span, emit }) => {
  const [one] = Object.values(secrets);
  const all = [one, Buffer.from(one).toString('base64'), encodeURIComponent(one), JSON.stringify(secrets)];
  for (const text of all) { log('info', text); console.log(text); process.stderr.write(text); span(text)(); }
  const said = all.join();
  switch (event.payload.how) {
    case 'throws': throw Object.assign(new Error(said, { cause: one }), { name: one });
    case 'throws a text': throw said;
    case 'rejects': Promise.reject(new Error(said)); return new Promise(() => {});
    case 'crashes': setImmediate(() => { throw new Error(said); }); return new Promise(() => {});
    case 'has a wrong status': return { status: one };
    case 'has wrong events': return { events: [{ type: 1, [one]: one }] };
    case 'has an odd level': return { logs: [{ level: one, message: one }] };
    case 'has a field more': return { status: 'ok', [one]: one };
  }
  emit({ type: 'told', payload: { [one]: all }, dedupe_key: one });
  return { result: { all, [one]: secrets, proof: createHash('sha256').update(one).digest('hex') }, state_updates: { all } };
};`;
const oddWays = [...teller.matchAll(/case '(.*?)'/g)].map(([, how]) => how);

/** Reads the secret from stdin, writes it to stderr, waits at a gate, and writes it to stdout. */
const program = `#!/usr/bin/env node
const { appendFileSync, existsSync, watch } = require('node:fs');
${opened}
require('node:readline').createInterface(process.stdin).on('line', line => {
  const { id, job_id: job, secrets } = JSON.parse(line);
  const [one] = Object.values(secrets);
  console.error(line, one, Buffer.from(line).toString('base64'), Buffer.from(one).toString('hex'));
  appendFileSync('../../journal', JSON.stringify({ job, what: 'runs' }) + '\\n');
  const proof = require('node:crypto').createHash('sha256').update(one).digest('hex');
  const answer = JSON.stringify({ id, status: 'ok', result: { line, one, proof } });
  opened('../..', 'gate-go').then(() => console.log(answer));
});`;
const process = { code: program, runtime: 'process', entrypoint: 'main', commands: { handle: {} } };
const programs = { once: process, steady: { ...process, mode: 'persistent' } };
const principals = ['teller', ...Object.keys(programs)];

const home = mkdtempSync(join(tmpdir(), 'headgate-canary-'));
const environment = {
  HEADGATE_VAULT_KEY: randomBytes(32).toString('hex'),
  HEADGATE_SEAL_KEY_FILE: join(home, 'seal.key'),
  HOME: home,
};
const gateway = new Gateway(
  {
    service: { strict_mode: true },
    plugins: { teller, ...programs },
    instances: { teller: { config: { api_key: canary('configured key') }, retry: { max_attempts: 1 } } },
    pipelines: [{ name: 'hear', on: 'told', steps: [{ uses: 'teller' }] }],
    webhooks: {
      endpoints: [{ name: 'e', path: '/webhook/e', plugin: 'teller', secret_ref: 'k', signature_header: 'X-Sig' }],
    },
    tokens: [{ name: 'k', key: hookKey }],
    api: {
      auth: {
        tokens: [
          { name: 'test', token: everythingToken, scopes: ['*'] },
          { name: 'narrow', token: narrowToken, scopes: ['events:ro'] },
        ],
      },
    },
  },
  { environment },
);
let adminToken: string;

const vault = (path: string, body: unknown) => gateway.call('POST', `/vault/${path}`, body, { token: adminToken });
const command = (...words: string[]) => headgate(words, { env: environment });

beforeAll(async () => {
  const statePath = join(gateway.directory, 'data');
  const keys = { file: join(statePath, 'vault.key'), variable: environment.HEADGATE_VAULT_KEY };
  adminToken = initVault({ statePath, keys }).adminToken;
  watch('the admin token', adminToken);
  watch('the value', value);
  expect((await command('config', 'lock', '--config', gateway.directory)).status).toBe(0);
  await gateway.start();
  for (const name of principals) await vault('principal', { name, kind: 'plugin' });
  const { status } = await vault('secret', { name: 'one', value, authorized_principals: principals });
  expect(status).toBe(200);
  return async () => {
    await gateway.discard();
    rmSync(home, { recursive: true });
  };
});

// What each test left is swept when the gateway is discarded.

test('plugins that give their secrets back in every way', async () => {
  const stream = openRaw(gateway);
  const told = await gateway.finished('teller/handle');
  expect(told.result?.result).toMatchObject({ proof: sha256(value) });
  const odd = await Promise.all(oddWays.map(how => gateway.finished('teller/handle', { how })));
  expect(odd.filter(({ status }) => status === 'failed').length).toBeGreaterThan(5);
  for (const name of Object.keys(programs)) {
    const id = await gateway.submit(`${name}/handle`);
    // The program has read its secret and still runs, so the sweep can look at its process.
    await gateway.noted('runs', id);
    gateway.open('go');
    expect((await gateway.settled(id)).result?.result).toMatchObject({ proof: sha256(value) });
    await until('the stream tells of it', () => stream.text.includes(id));
  }
  for (const path of [`/job/${told.job_id}`, `/job/${told.job_id}/tree`, '/jobs', '/job-logs', '/topology'])
    expect((await gateway.call('GET', path)).status).toBe(200);
});

/** A response may repeat a valid name that its caller has sent; the secrets in these requests are not valid names. */
test('callers that give secrets where they do not belong', async () => {
  const bodies = [
    { name: value, value },
    { name: `${adminToken}!`, value },
    { name: [hookKey], kind: hookKey },
    `{"name":"${adminToken}`,
    `{"name":"one","value":${adminToken}}`,
    `"${adminToken}"`,
  ];
  for (const path of ['secret', 'secret/roll', 'secret/revoke', 'principal', 'principal/purge'])
    for (const body of bodies) expect((await vault(path, body)).status).toBe(400);
  for (const token of [adminToken, hookKey, narrowToken, `${everythingToken}x`])
    for (const path of ['/jobs', '/config/view', '/plugin/teller'])
      expect([401, 403, 405]).toContain((await gateway.call('GET', path, undefined, { token })).status);
  for (const Authorization of [`Basic ${everythingToken}`, everythingToken, `Bearer ${everythingToken} ${adminToken}`])
    expect((await gateway.call('GET', '/jobs', undefined, { token: null, headers: { Authorization } })).status).toBe(
      401,
    );
  for (const query of ['status', 'plugin', 'cursor', 'limit'])
    await gateway.call('GET', `/jobs?${query}=${narrowToken}`);
  expect((await gateway.call('GET', `/nothing/${narrowToken}`)).status).toBe(404);
  const said = await ask(gateway, 'POST', '/webhook/e', { body: '{}', headers: { 'X-Sig': hookKey } });
  expect(said.status).toBe(403);
});

test('what tells of the service', async () => {
  for (const path of ['/', '/config/view', '/system/doctor', '/system/selfcheck', '/openapi.json', '/analytics/queue'])
    expect((await gateway.call('GET', path)).status, path).toBe(200);
  const at = ['--config', gateway.directory];
  for (const words of [
    ['config', 'show'],
    ['config', 'check'],
    ['vault', 'audit'],
  ])
    expect(await command(...words, ...at)).toMatchObject({ status: 0 });
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken };
  for (const words of ['status', 'doctor', 'plugin list', 'job list', 'job logs'])
    await headgate([...words.split(' '), '--json'], { env });
});
