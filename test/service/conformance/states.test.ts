// Section 3 of sentences.ts: the states of a job, and the moves into them.
import { expect, test } from 'vitest';
import { VaultGateway } from '../../feature/vault/service.ts';
import { type Status, shareGateway } from '../gateway/gateway.ts';
import { read, settings, text, uuid } from './service.ts';

const gateway = shareGateway(settings);
const vault = new VaultGateway(gateway);

/** Ids of the jobs that a filter of the list of jobs lets through. */
async function listed(status: string): Promise<unknown[]> {
  const { jobs } = await read(gateway, `/jobs?status=${status}&limit=200`);
  return (jobs as { job_id: string }[]).map(({ job_id }) => job_id);
}

/** Expects the job to have this status, both in its own document and in the list of jobs. */
async function expectStatus(id: string, status: Status): Promise<void> {
  expect(await gateway.job(id)).toMatchObject({ status });
  expect(await listed(status)).toContain(id);
}

test('a job is queued while it awaits dispatch', async () => {
  const first = await gateway.submit('worker/handle', { gate: 'queue' });
  const second = await gateway.submit('worker/handle');
  await gateway.noted('start', first);
  await expectStatus(second, 'queued');
  gateway.open('queue');
  expect(await gateway.settled(second)).toMatchObject({ status: 'succeeded' });
});

test('a job is running while it executes', async () => {
  const id = await gateway.submit('worker/handle', { gate: 'run' });
  await gateway.noted('start', id);
  await expectStatus(id, 'running');
  gateway.open('run');
  await gateway.settled(id);
});

test('a job is succeeded when it finished successfully', async () => {
  await expectStatus((await gateway.finished('echo/handle')).job_id, 'succeeded');
});

test('a job is failed when it finished with an error', async () => {
  await expectStatus((await gateway.finished('failing/handle', { retry: false })).job_id, 'failed');
});

test('a job is timed_out when it exceeded the execution deadline', async () => {
  await expectStatus((await gateway.finished('looping/handle')).job_id, 'timed_out');
});

test('a job is dead when it failed and exhausted all retries', async () => {
  const { job_id: id } = await gateway.finished('failing/handle', { message: 'again' });
  await expectStatus(id, 'dead');
  expect(await read(gateway, `/job-logs?job_id=${id}`)).toMatchObject({ total: 2 });
});

test('in status filters pending means queued, ok means succeeded and error means failed', async () => {
  await gateway.finished('echo/handle');
  await gateway.finished('failing/handle', { retry: false });
  const native = { pending: 'queued', ok: 'succeeded', error: 'failed' };
  for (const [alias, status] of Object.entries(native)) {
    expect(await listed(alias)).toEqual(await listed(status));
    expect(await read(gateway, `/job-logs?status=${alias}`)).toEqual(await read(gateway, `/job-logs?status=${status}`));
  }
  expect([(await listed('ok')).length > 0, (await listed('error')).length > 0]).toEqual([true, true]);
});

test('an accepted plugin call is queued, with 202', async () => {
  expect(await gateway.call('POST', '/plugin/echo/handle')).toMatchObject({ status: 202, body: { status: 'queued' } });
});

test('an asynchronous pipeline call is queued, with 202', async () => {
  expect(await gateway.call('POST', '/pipeline/hear')).toMatchObject({ status: 202, body: { status: 'queued' } });
});

test('a synchronous pipeline call that finishes in time is succeeded, with 200 and the tree', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/prompt');
  expect([status, body['status']]).toEqual([200, 'succeeded']);
  expect(body['tree']).toMatchObject([{ plugin: 'pipeline' }, { command: 'handle' }, { command: 'look' }]);
  await expectStatus(String(body['job_id']), 'succeeded');
});

test('a synchronous pipeline call past its timeout is running, with 202 and timeout_exceeded', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/slow', { payload: { gate: 'slow' } });
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: uuid, status: 'running', timeout_exceeded: true, message: text });
  await expectStatus(String(body['job_id']), 'running');
  gateway.open('slow');
  expect(await gateway.settled(String(body['job_id']))).toMatchObject({ status: 'succeeded' });
});

test('a revoked secret has its value cleared, and stays revoked', async () => {
  await vault.do('secret', { name: 'old', value: 'a-value' });
  expect(await vault.do('secret/revoke', { name: 'old' })).toEqual({ name: 'old', status: 'revoked' });
  for (const path of ['secret', 'secret/roll'])
    expect(await vault.said(path, { name: 'old', value: 'another' })).toBe('400 revoked_secret');
});

test('the secrets of a revoked principal are no longer delivered', async () => {
  await vault.do('principal', { name: 'speaker', kind: 'plugin' });
  await vault.do('secret', { name: 'for-speaker', value: 'a-value', authorized_principals: ['speaker'] });
  expect(await gateway.finished('speaker/handle')).toMatchObject({ status: 'succeeded' });
  expect(await vault.do('principal/revoke', { name: 'speaker' })).toEqual({ name: 'speaker', status: 'revoked' });
  const { status, last_error: error } = await gateway.finished('speaker/handle');
  expect([status, error]).toEqual(['failed', expect.stringMatching(/revoked/)]);
});

test('a purged principal is removed, and its grants from every secret', async () => {
  await vault.do('principal', { name: 'looping', kind: 'plugin' });
  await vault.do('secret', { name: 'auto-one', pattern: 'auto', authorized_principals: ['looping'] });
  expect(await vault.do('principal/purge', { name: 'looping' })).toEqual({ name: 'looping', status: 'purged' });
  expect(await vault.said('principal/roll', { name: 'looping' })).toBe('400 unknown_principal');
  await vault.do('principal', { name: 'looping', kind: 'plugin' });
  expect(await vault.do('principal/roll', { name: 'looping' })).toMatchObject({ rolled: [], skipped: [] });
});
