// Section 4.1 of sentences.ts: running commands and pipelines.
import { expect, test } from 'vitest';
import { shareGateway } from '../gateway/gateway.ts';
import { read, scopesThatMay, settings, text, uuid, whole } from './service.ts';

const gateway = shareGateway(settings);

test('a direct plugin call bypasses pipeline routing and enqueues exactly one job', async () => {
  const before = Number((await read(gateway, '/jobs'))['total']);
  const id = await gateway.submit('echo/handle', { type: 'word.said' });
  await gateway.settled(id);
  expect(await gateway.tree(id)).toHaveLength(1);
  expect(await read(gateway, '/jobs')).toMatchObject({ total: before + 1 });
});

test('a plugin call takes an optional payload object and passes it to the command', async () => {
  expect((await gateway.finished('echo/look', { a: [1, 'b'] })).result!.result).toEqual({ a: [1, 'b'] });
  for (const body of [undefined, {}]) expect((await gateway.call('POST', '/plugin/echo/look', body)).status).toBe(202);
  for (const payload of ['text', 1, null, []])
    expect((await gateway.call('POST', '/plugin/echo/look', { payload })).status).toBe(400);
});

test('the payload for handle is wrapped into an event envelope of type api.trigger', async () => {
  const { result } = await gateway.finished('echo/handle', { a: 1 });
  expect(result!.result).toMatchObject({ type: 'api.trigger', payload: { a: 1 }, event_id: text });
  expect((await gateway.finished('echo/look', { a: 1 })).result!.result).toEqual({ a: 1 });
});

test('a plugin call is answered 202 with job_id, status queued, plugin and command', async () => {
  const { status, body } = await gateway.call('POST', '/plugin/echo/look', { payload: {} });
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: uuid, status: 'queued', plugin: 'echo', command: 'look' });
});

test('a command that is marked as read needs plugin:ro', async () => {
  expect(await scopesThatMay(gateway, 'POST', '/plugin/echo/look')).toEqual(['*', 'plugin:ro', 'plugin:rw']);
});

test('a command that is marked as write needs plugin:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'POST', '/plugin/echo/handle')).toEqual(['*', 'plugin:rw']);
});

test('a pipeline call takes an optional payload object', async () => {
  const { body } = await gateway.call('POST', '/pipeline/prompt', { payload: { a: 1 } });
  expect(body['result']).toMatchObject({ result: { type: 'prompt.asked', payload: { a: 1 } } });
  for (const none of [undefined, {}]) expect((await gateway.call('POST', '/pipeline/prompt', none)).status).toBe(200);
  for (const payload of ['text', 1, null, []])
    expect((await gateway.call('POST', '/pipeline/prompt', { payload })).status).toBe(400);
});

test('a pipeline call needs plugin:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'POST', '/pipeline/hear')).toEqual(['*', 'plugin:rw']);
});

test('async=true forces an asynchronous response', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/prompt?async=true');
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: uuid, status: 'queued', plugin: 'pipeline', command: 'prompt' });
});

test('a call of a synchronous pipeline waits for completion', async () => {
  for (const path of ['/pipeline/prompt', '/pipeline/prompt?async=false']) {
    const { status, body } = await gateway.call('POST', path);
    expect([status, body['status']]).toEqual([200, 'succeeded']);
    expect((await gateway.job(String(body['job_id']))).completed_at).not.toBeNull();
  }
});

test('a synchronous call with several entry dispatches is 400', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/forked', { payload: {} });
  expect([status, body['code']]).toEqual([400, 'several_entry_dispatches']);
});

test('with async=true a pipeline with several entry dispatches is run', async () => {
  const { job_id, status } = await gateway.ran('forked');
  expect(status).toBe('succeeded');
  expect((await gateway.tree(job_id)).map(job => job.parent_job_id)).toEqual([null, job_id, job_id]);
});

test('an asynchronous pipeline call is answered 202 with job_id, status queued, plugin pipeline and its name as command', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/hear', { payload: {} });
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: uuid, status: 'queued', plugin: 'pipeline', command: 'hear' });
});

test('synchronous success is 200 with job_id, status succeeded, duration_ms, result and tree', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/prompt', { payload: {} });
  expect(status).toBe(200);
  expect(body).toEqual({
    ...{ job_id: uuid, status: 'succeeded', duration_ms: whole },
    ...{ counts: expect.any(Object), result: expect.any(Object), tree: expect.any(Array) },
  });
});

test('an entry of the tree has job_id, plugin, command, status and result', async () => {
  const { body } = await gateway.call('POST', '/pipeline/prompt', { payload: {} });
  const entry = { job_id: uuid, status: 'succeeded', result: expect.any(Object) };
  expect(body['tree']).toEqual([
    { ...entry, plugin: 'pipeline', command: 'prompt', counts: expect.any(Object) },
    { ...entry, plugin: 'echo', command: 'handle' },
    { ...entry, plugin: 'echo', command: 'look' },
  ]);
});

test('a timeout is 202 with job_id, status running, timeout_exceeded and a message', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/slow', { payload: { gate: 'late' } });
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: uuid, status: 'running', timeout_exceeded: true, message: text });
  gateway.open('late');
});
