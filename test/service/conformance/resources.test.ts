// Section 2 of sentences.ts: resources and their fields.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VaultGateway } from '../../feature/vault/service.ts';
import { ask, send, sign } from '../../feature/webhooks/sender.ts';
import { refusedStart, shareGateway } from '../gateway/gateway.ts';
import { hookKeys, moment, read, settings, sum, text, tokenOf, uuid, whole } from './service.ts';

const gateway = shareGateway(settings);
const vault = new VaultGateway(gateway);

test('a job is identified by a UUID', async () => {
  const id = await gateway.submit('echo/handle');
  expect(id).toEqual(uuid);
  expect(await gateway.job(id)).toMatchObject({ job_id: id });
});

test('the plugin of a pipeline job is the literal pipeline, its command the pipeline name', async () => {
  expect(await gateway.ran('hear')).toMatchObject({ plugin: 'pipeline', command: 'hear' });
});

test('parent_job_id appears in the job tree and is null for the root', async () => {
  const run = await gateway.ran('prompt');
  const [root, first, second] = await gateway.tree(run.job_id);
  expect([root!.job_id, root!.parent_job_id]).toEqual([run.job_id, null]);
  expect([first!.parent_job_id, second!.parent_job_id]).toEqual([root!.job_id, first!.job_id]);
});

test('submitted_by is the origin of the submission', async () => {
  const token = tokenOf('plugin:rw');
  const { body } = await gateway.call('POST', '/plugin/echo/handle', {}, { token });
  expect(await gateway.job(String(body['job_id']))).toMatchObject({ submitted_by: 'api:plugin_rw' });
});

test('created_at, started_at and completed_at are RFC 3339 timestamps', async () => {
  const job = await gateway.finished('echo/handle');
  expect(job).toMatchObject({ created_at: moment, started_at: moment, completed_at: moment });
  expect(job.created_at <= job.started_at! && job.started_at! <= job.completed_at!).toBe(true);
});

test('attempt is an integer in the jobs list and the logs', async () => {
  const { job_id: id } = await gateway.finished('failing/handle');
  const { jobs } = await read(gateway, '/jobs?plugin=failing&limit=1');
  expect(jobs).toMatchObject([{ job_id: id, attempt: 2 }]);
  const { logs } = await read(gateway, `/job-logs?job_id=${id}`);
  expect(logs).toMatchObject([{ attempt: 2 }, { attempt: 1 }]);
});

test('a job result has status, result, events, state_updates and logs', async () => {
  const { result } = await gateway.finished('speaker/handle');
  expect(result).toMatchObject({
    status: 'ok',
    result: { said: true },
    events: [{ type: 'word.said', payload: { word: 'hello' } }],
    state_updates: { words: 1 },
    logs: expect.any(Array),
  });
});

test('the inner result is a string or an object', async () => {
  expect((await gateway.finished('echo/measure', { n: 3 })).result!.result).toBe('measured 3');
  expect((await gateway.finished('echo/look', { n: 3 })).result!.result).toEqual({ n: 3 });
});

test('the logs of a result are objects with level and message', async () => {
  const { result } = await gateway.finished('speaker/handle');
  expect(result!.logs).toEqual([{ level: 'info', message: 'it was said' }]);
});

test('a job log record has its fields', async () => {
  const { job_id: id } = await gateway.finished('failing/handle', { retry: false });
  const { logs } = await read(gateway, `/job-logs?job_id=${id}`);
  expect(logs).toEqual([
    {
      ...{ job_id: id, log_id: text, plugin: 'failing', command: 'handle', status: 'failed', attempt: 1 },
      ...{ submitted_by: 'api:test', created_at: moment, completed_at: moment },
      ...{ last_error: 'as asked', stderr: '' },
    },
  ]);
});

test('a log record has a result only when include_result is true', async () => {
  const path = `/job-logs?job_id=${(await gateway.finished('echo/look', { n: 1 })).job_id}`;
  for (const query of [path, `${path}&include_result=false`])
    expect(((await read(gateway, query))['logs'] as object[])[0]).not.toHaveProperty('result');
  expect(await read(gateway, `${path}&include_result=true`)).toMatchObject({
    logs: [{ result: { result: { n: 1 } } }],
  });
});

test('a plugin has name, version, description and its commands as strings in the list', async () => {
  const { plugins } = await read(gateway, '/plugins');
  expect(plugins).toContainEqual({
    name: 'echo',
    version: '1.0.0',
    description: 'Hands back what it is given.',
    commands: ['handle', 'look', 'measure'],
  });
});

test('a plugin detail adds protocol, an integer, and has commands as objects', async () => {
  const { protocol, commands } = await read(gateway, '/plugin/echo');
  expect(protocol).toEqual(whole);
  expect((commands as { name: string }[]).map(({ name }) => name)).toEqual(['handle', 'look', 'measure']);
});

test('a command object has name, type, description and an optional input_schema', async () => {
  expect((await read(gateway, '/plugin/echo'))['commands']).toEqual([
    { name: 'handle', type: 'write', description: text },
    { name: 'look', type: 'read', description: 'Evaluations.' },
    { name: 'measure', type: 'write', description: 'Measures.', input_schema: sum },
  ]);
});

test('a plugin skill is named plugin.<plugin>.<command> and has its fields', async () => {
  expect((await read(gateway, '/skills'))['skills']).toContainEqual({
    ...{ name: 'plugin.echo.measure', kind: 'plugin', description: 'Measures.', endpoint: '/plugin/echo/measure' },
    ...{ tier: 'WRITE', plugin: 'echo', command: 'measure', input_schema: sum },
  });
});

test('a pipeline skill is named pipeline.<pipeline> and has its fields', async () => {
  expect((await read(gateway, '/skills'))['skills']).toContainEqual({
    ...{ name: 'pipeline.prompt', kind: 'pipeline', endpoint: '/pipeline/prompt', pipeline: 'prompt' },
    ...{ trigger: 'prompt.asked', execution_mode: 'synchronous', timeout_secs: 120 },
  });
});

test('execution_mode is asynchronous when unset', async () => {
  const { skills } = await read(gateway, '/skills');
  expect(skills).toContainEqual(expect.objectContaining({ pipeline: 'hear', execution_mode: 'asynchronous' }));
});

test('a pipeline definition is viewed with name and on, its trigger event', async () => {
  const { pipelines } = await read(gateway, '/config/view');
  expect(pipelines).toContainEqual({ name: 'hear', on: 'word.said' });
});

test('of a token only its scopes are shown', async () => {
  const { api } = await read(gateway, '/config/view');
  const { tokens } = api as { tokens: object[] };
  expect(tokens).toHaveLength(settings.api.auth.tokens.length);
  for (const token of tokens) expect(token).toEqual({ scopes: [text] });
});

test('a webhook endpoint has name, path, plugin, secret_ref, signature_header and max_body_size', async () => {
  const deliver = (body: string) => send(gateway, '/webhook/push', body, { 'X-Signature': sign(hookKeys.push, body) });
  const { status, body } = await deliver('{}');
  expect(status).toBe(202);
  expect(await gateway.job(String(body['job_id']))).toMatchObject({ plugin: 'echo', submitted_by: 'webhook:push' });
  expect((await deliver(JSON.stringify({ text: 'x'.repeat(2048) }))).status).toBe(413);
});

test('the address of the webhook listener is webhooks.listen', async () => {
  const listen = new URL(gateway.webhooks).host;
  const { status, said } = await refusedStart({ ...settings, webhooks: { listen } });
  expect(status).toBe(75);
  expect(said).toContain(`webhooks.listen: cannot listen on ${listen}`);
});

test('only the main file is loaded by itself, other files must be in its include list', async () => {
  const main = join(gateway.directory, 'config.yaml');
  const before = JSON.parse(readFileSync(main, 'utf8'));
  const more = { pipelines: [{ name: 'further', on: 'further.asked', steps: [{ uses: 'echo' }] }] };
  writeFileSync(join(gateway.directory, 'more.yaml'), JSON.stringify(more));
  const names = async () => {
    expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
    return ((await read(gateway, '/config/view'))['pipelines'] as { name: string }[]).map(({ name }) => name);
  };
  expect(await names()).not.toContain('further');
  writeFileSync(main, JSON.stringify({ include: ['more.yaml'], ...before }));
  expect(await names()).toContain('further');
});

test('without an included webhook file every request to the webhook listener is 404', async () => {
  const main = join(gateway.directory, 'config.yaml');
  const { webhooks, ...before } = JSON.parse(readFileSync(main, 'utf8'));
  const { listen, endpoints } = webhooks;
  writeFileSync(join(gateway.directory, 'webhooks.yaml'), JSON.stringify({ webhooks: { endpoints } }));
  const statuses = async (include: readonly string[]) => {
    writeFileSync(main, JSON.stringify({ ...before, include, webhooks: { listen } }));
    expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
    const paths = ['/webhook/push', '/webhook/other', '/'];
    return Promise.all(paths.map(async path => (await ask(gateway, 'POST', path)).status));
  };
  expect(await statuses([])).toEqual([404, 404, 404]);
  expect(await statuses(['webhooks.yaml'])).toEqual([403, 403, 404]);
});

test('a vault principal has name, kind and status', async () => {
  for (const kind of ['plugin', 'consumer', 'gateway']) {
    expect(await vault.do('principal', { name: `a-${kind}`, kind })).toEqual({
      name: `a-${kind}`,
      status: 'registered',
    });
  }
  expect(await vault.said('principal', { name: 'a-person', kind: 'person' })).toBe('400 invalid_kind');
});

test('a vault secret has name, authorized_principals, pattern and status, and its value is never returned', async () => {
  await vault.do('principal', { name: 'holder', kind: 'plugin' });
  const secret = { name: 'kept', value: 'the-value-of-it', authorized_principals: ['holder'], pattern: 'manual' };
  expect(await vault.do('secret', secret)).toEqual({ name: 'kept', status: 'set' });
  for (const path of ['/vault/secret', '/vault/secret/kept']) {
    const { status, body } = await gateway.call('GET', path, undefined, { token: vault.adminToken });
    expect([405, 404]).toContain(status);
    expect(JSON.stringify(body)).not.toContain('the-value-of-it');
  }
});

test('the value of an auto secret is minted by the service', async () => {
  expect(await vault.do('secret', { name: 'minted', pattern: 'auto' })).toEqual({ name: 'minted', status: 'set' });
  expect(await vault.do('secret/roll', { name: 'minted' })).toEqual({ name: 'minted', status: 'rolled' });
});
