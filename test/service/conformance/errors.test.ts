// Section 7 of sentences.ts: errors.
import { expect, test } from 'vitest';
import { attemptKey } from '../../../actors/job/records/attempts.ts';
import { parseId } from '../../../runtime/ids.ts';
import { VaultGateway } from '../../feature/vault/service.ts';
import { ask } from '../../feature/webhooks/sender.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { tamper } from '../gateway/tamper.ts';
import { noJob, read, settings, tokenOf } from './service.ts';

const gateway = shareGateway(settings);

async function codeOf(method: string, path: string, body?: unknown, token?: string | null): Promise<string> {
  const answer = await gateway.call(method, path, body, token === undefined ? {} : { token });
  return `${answer.status} ${answer.body['code']}`;
}

test('a body that is not valid JSON is 400', async () => {
  for (const path of ['/plugin/echo/handle', '/pipeline/hear'])
    for (const body of ['{', '{"payload":}', '{"payload":{}} {}', "{'payload':{}}", '{"payload":{},}'])
      expect(await codeOf('POST', path, body)).toBe('400 invalid_json');
});

test('missing required fields are 400', async () => {
  const before = await read(gateway, '/jobs?plugin=echo&command=measure');
  for (const body of [undefined, {}, { payload: {} }, { payload: { m: 1 } }])
    expect(await codeOf('POST', '/plugin/echo/measure', body)).toBe('400 invalid_payload');
  expect(await read(gateway, '/jobs?plugin=echo&command=measure')).toEqual(before);
});

test('a synchronous pipeline call with several entry dispatches is 400', async () => {
  expect(await codeOf('POST', '/pipeline/forked', {})).toBe('400 several_entry_dispatches');
  expect(await read(gateway, '/jobs?plugin=pipeline&command=forked')).toMatchObject({ total: 0 });
});

test('a missing or invalid bearer token is 401', async () => {
  for (const token of [null, 'unheard-of'])
    for (const path of ['/jobs', '/config/view', '/job/none', '/plugin/nobody'])
      expect(await codeOf('GET', path, undefined, token)).toBe('401 unauthorized');
});

test('a valid token without the needed scope is 403', async () => {
  const token = tokenOf('jobs:ro');
  for (const path of ['/plugin/echo', '/topology', '/events', '/system/doctor', '/config/view'])
    expect(await codeOf('GET', path, undefined, token)).toBe('403 forbidden');
  expect(await codeOf('POST', '/plugin/echo/handle', {}, token)).toBe('403 forbidden');
});

test('a plugin, command, pipeline or job that does not exist is 404', async () => {
  expect(await codeOf('POST', '/plugin/nobody/handle', {})).toBe('404 unknown_plugin');
  expect(await codeOf('GET', '/plugin/nobody')).toBe('404 unknown_plugin');
  expect(await codeOf('GET', '/stopwatch/nobody')).toBe('404 unknown_plugin');
  expect(await codeOf('POST', '/plugin/echo/nothing', {})).toBe('404 unknown_command');
  expect(await codeOf('POST', '/pipeline/nowhere', {})).toBe('404 unknown_pipeline');
  for (const path of [`/job/${noJob}`, `/job/${noJob}/tree`]) expect(await codeOf('GET', path)).toBe('404 unknown_job');
});

test('the scoped OpenAPI document of an unknown plugin is 404', async () => {
  expect(await codeOf('GET', '/plugin/nobody/openapi.json', undefined, null)).toBe('404 unknown_plugin');
});

test('a webhook path that is not configured is 404', async () => {
  const { status, body } = await ask(gateway, 'POST', '/webhook/nowhere');
  expect([status, body['code']]).toEqual([404, 'unknown_route']);
});

test('a job that did not succeed is told by its status, not by an HTTP error', async () => {
  const failed = await gateway.finished('failing/handle', { retry: false });
  const dead = await gateway.finished('failing/handle');
  const late = await gateway.finished('looping/handle');
  expect([failed.status, dead.status, late.status]).toEqual(['failed', 'dead', 'timed_out']);
  const { status, body } = await gateway.call('POST', '/pipeline/broken', { payload: { retry: false } });
  expect([status, body['status']]).toEqual([200, 'failed']);
});

test('an unexpected server error is 500', async () => {
  const { job_id: id } = await gateway.finished('echo/handle');
  await gateway.term();
  // Replaces the record of the attempt by one that cannot be decoded.
  tamper(gateway, batch => batch.put('attempts', attemptKey(parseId(id)!, 1), Buffer.of(0xc1)));
  await gateway.start();
  const { status, body, headers } = await gateway.call('GET', `/job/${id}`);
  expect([status, body['code'], headers.get('content-type')]).toEqual([
    500,
    'internal_error',
    'application/problem+json',
  ]);
  expect(JSON.stringify(body)).not.toMatch(/attempt|\.js|stack/i);
  expect(await codeOf('GET', '/healthz')).toMatch(/^200 /);
});

test('vault routes are 503 when no vault is loaded', async () => {
  for (const token of [null, tokenOf('*')])
    expect(await codeOf('POST', '/vault/secret', {}, token)).toBe('503 vault_unavailable');
});

test('a violation of vault policy is 400', async () => {
  const vault = await startWithVault();
  await vault.do('secret', { name: 'old', value: 'a-value' });
  await vault.do('secret/revoke', { name: 'old' });
  const orphan = { name: 's', value: 'a-value', authorized_principals: ['nobody'] };
  expect(await vault.said('secret', orphan)).toBe('400 orphan_grant');
  expect(await vault.said('principal', { name: 'core', kind: 'plugin' })).toBe('400 reserved_entity');
  expect(await vault.said('secret', { name: 'old', value: 'another' })).toBe('400 revoked_secret');
});

test('a bad admin token on vault routes is 401', async () => {
  const vault = await startWithVault();
  for (const token of [null, `${vault.adminToken}x`, vault.adminToken.slice(1)])
    expect(await vault.said('secret', {}, token)).toBe('401 unauthorized');
});

let made: VaultGateway | null = null;

/** The first call restarts the gateway with a vault; later calls return the same gateway. */
async function startWithVault(): Promise<VaultGateway> {
  if (made) return made;
  await gateway.term();
  made = new VaultGateway(gateway);
  await gateway.start();
  return made;
}
