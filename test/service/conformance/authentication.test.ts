// Section 5 of sentences.ts: who may ask for what.
import { expect, test } from 'vitest';
import { VaultGateway } from '../../feature/vault/service.ts';
import { send, sign } from '../../feature/webhooks/sender.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { hookKeys, settings, tokenOf } from './service.ts';

const gateway = shareGateway(settings);
const vault = new VaultGateway(gateway);

/** A request for each thing that a token can grant; typed by hand, not derived from the route table. */
const requests: { readonly [what: string]: string } = {
  'read command': 'POST /plugin/echo/look',
  'write command': 'POST /plugin/echo/handle',
  pipeline: 'POST /pipeline/hear',
  'plugin details': 'GET /plugin/echo',
  topology: 'GET /topology',
  jobs: 'GET /jobs',
  'job logs': 'GET /job-logs',
  stopwatch: 'GET /stopwatch/echo',
  events: 'GET /events',
  doctor: 'GET /system/doctor',
  selfcheck: 'GET /system/selfcheck',
  reload: 'POST /system/reload',
  queue: 'GET /analytics/queue',
  summary: 'GET /analytics/summary',
  config: 'GET /config/view',
};

const open = ['/', '/healthz', '/plugins', '/skills', '/openapi.json'];
const openToo = ['/.well-known/ai-plugin.json', '/plugin/echo/openapi.json'];

async function statusOf(request: string, authorization?: string): Promise<number> {
  const [method, path] = request.split(' ') as [string, string];
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  const answer = await fetch(gateway.url + path, { method, headers });
  await answer.body?.cancel();
  return answer.status;
}

/** What a token with this scope alone grants. All other requests must get 403. */
async function grantedTo(scope: string): Promise<string[]> {
  const statuses = new Map<string, number>();
  for (const [what, request] of Object.entries(requests))
    statuses.set(what, await statusOf(request, `Bearer ${tokenOf(scope)}`));
  expect([...new Set(statuses.values())].filter(status => ![200, 202, 403].includes(status))).toEqual([]);
  return [...statuses].filter(([, status]) => status !== 403).map(([what]) => what);
}

test('every request needs a bearer token, except on the unauthenticated routes', async () => {
  const good = tokenOf('*');
  const wrong = [undefined, '', good, `Basic ${good}`, 'Bearer', 'Bearer unheard-of', `Bearer ${good} more`];
  for (const request of [...Object.values(requests), 'GET /job/none', 'GET /job/none/tree', 'GET /nowhere'])
    for (const authorization of wrong)
      expect([request, authorization, await statusOf(request, authorization)]).toEqual([request, authorization, 401]);
});

test('the unauthenticated routes answer without a token', async () => {
  for (const path of [...open, ...openToo])
    for (const authorization of [undefined, 'Bearer unheard-of', 'nonsense'])
      expect([path, await statusOf(`GET ${path}`, authorization)]).toEqual([path, 200]);
});

test('* grants everything, administrative routes too', async () => {
  expect(await grantedTo('*')).toEqual(Object.keys(requests));
});

test('plugin:ro grants read-type commands and plugin details', async () => {
  expect(await grantedTo('plugin:ro')).toEqual(['read command', 'plugin details']);
});

test('plugin:rw grants write-type commands, pipelines, plugin details and topology', async () => {
  const all = ['read command', 'write command', 'pipeline', 'plugin details', 'topology'];
  expect(await grantedTo('plugin:rw')).toEqual(all);
});

test('plugin:catalog:ro grants topology', async () => {
  expect(await grantedTo('plugin:catalog:ro')).toEqual(['topology']);
});

test('jobs:ro grants the jobs list and job logs', async () => {
  expect(await grantedTo('jobs:ro')).toEqual(['jobs', 'job logs']);
});

test('jobs:rw grants the jobs list, job logs and the stopwatch', async () => {
  expect(await grantedTo('jobs:rw')).toEqual(['jobs', 'job logs', 'stopwatch']);
});

test('jobs:status:ro grants the stopwatch', async () => {
  expect(await grantedTo('jobs:status:ro')).toEqual(['stopwatch']);
});

test('events:ro and events:rw grant the event stream', async () => {
  for (const scope of ['events:ro', 'events:rw']) expect(await grantedTo(scope)).toEqual(['events']);
});

test('system:ro and system:rw grant doctor and selfcheck', async () => {
  for (const scope of ['system:ro', 'system:rw']) expect(await grantedTo(scope)).toEqual(['doctor', 'selfcheck']);
});

test('every webhook endpoint verifies an HMAC-SHA256 signature with the secret of its secret_ref', async () => {
  const body = '{}';
  for (const [name, key] of Object.entries(hookKeys))
    for (const by of Object.values(hookKeys)) {
      const { status } = await send(gateway, `/webhook/${name}`, body, { 'X-Signature': sign(by, body) });
      expect(status).toBe(by === key ? 202 : 403);
    }
  for (const name of Object.keys(hookKeys))
    expect((await send(gateway, `/webhook/${name}`, body, { Authorization: `Bearer ${tokenOf('*')}` })).status).toBe(
      403,
    );
});

const vaultPaths = [
  'principal',
  'secret',
  'secret/roll',
  'secret/revoke',
  'principal/revoke',
  'principal/purge',
  'principal/roll',
];

test('vault routes need the admin token of the vault', async () => {
  for (const path of vaultPaths) {
    expect(await vault.said(path, {}, null)).toBe('401 unauthorized');
    expect(await vault.said(path, {})).toBe('400 invalid_request');
  }
});

test('configured tokens, also with *, are rejected on vault routes', async () => {
  for (const path of vaultPaths) expect(await vault.said(path, {}, tokenOf('*'))).toBe('401 unauthorized');
});

test('the admin token is rejected elsewhere', async () => {
  for (const request of Object.values(requests)) {
    const [method, path] = request.split(' ') as [string, string];
    const { status } = await gateway.call(method, path, undefined, { token: vault.adminToken });
    expect([request, status]).toEqual([request, 401]);
  }
});
