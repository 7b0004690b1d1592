// The log of a running service: what it says of the work, how much of it, in which format, and that stderr has nothing else between its lines.
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { canary } from '../canary/canary.ts';
import { everythingToken, type Settings, writeConfiguration } from './configuration.ts';
import { type LogLine, shareGateway } from './gateway.ts';
import { echo, step, worker } from './sources.ts';
import { until } from './until.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const narrowToken = canary('token for events');
const key = canary('webhook key');

const instances = {
  step: { retry: { max_attempts: 1 } },
  twice: { uses: 'step', retry: { max_attempts: 2, backoff_base: '1ms' } },
  worker: { parallelism: 1 },
};

const settings = (log: { readonly [key: string]: unknown } = {}, more: Partial<Settings> = {}): Settings => ({
  plugins: { step, echo, worker },
  instances,
  pipelines: [{ name: 'fan', on: 'fan', steps: [{ uses: 'step', foreach: 'payload.list', on_error: 'continue' }] }],
  service: { log_level: 'info' },
  log,
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'narrow', token: narrowToken, scopes: ['events:ro'] },
      ],
    },
  },
  tokens: [{ name: 'hook', key }],
  webhooks: {
    endpoints: [
      { name: 'news', path: '/webhook/news', plugin: 'echo', secret_ref: 'hook', signature_header: 'X-Signature' },
    ],
  },
  ...more,
});
const gateway = shareGateway(settings());

/** What the log says from now on. */
function listen(): () => LogLine[] {
  const before = gateway.log.length;
  return () => gateway.log.slice(before);
}
const about = (id: string) => (line: LogLine) => line['job_id'] === id;
const said = (text: string) => (line: LogLine) => line.msg === text;

test('a job that failed leaves a line with its id, plugin, command and error; one that succeeded leaves none', async () => {
  const log = listen();
  const ok = await gateway.finished('step/handle', {});
  const failed = await gateway.finished('step/handle', { fail: 'as asked' });
  const line = await until('the line', () => log().find(about(failed.job_id)));
  expect(line).toMatchObject({ level: 40, msg: 'job failed', plugin: 'step', command: 'handle', error: 'as asked' });
  expect(log().filter(about(ok.job_id))).toEqual([]);
});

test('a failed attempt that is followed by another leaves a line, before that of its job', async () => {
  const log = listen();
  const { job_id: id } = await gateway.finished('twice/handle', { fail: 'again', retry: true });
  const lines = await until('both lines', () => {
    const found = log().filter(about(id));
    return found.length === 2 && found;
  });
  expect(lines).toMatchObject([
    { level: 40, msg: 'attempt failed', plugin: 'twice', command: 'handle', error: 'again' },
    { level: 40, msg: 'job is dead' },
  ]);
});

test('a job of a run names the run, and a call that changes something names its token and its target', async () => {
  const log = listen();
  const run = await gateway.ran('fan', { list: [{ fail: 'inside' }] });
  const line = await until('the line', () => log().find(({ error }) => error === 'inside'));
  expect(line).toMatchObject({ msg: 'job failed', run_id: run.job_id });
  const options = { headers: { 'X-Request-Id': 'who-did-it' } };
  await gateway.call('POST', `/job/${run.job_id}/cancel`, {}, options);
  await gateway.call('POST', '/control/plugin/echo/pause', {}, options);
  await gateway.call('POST', '/control/plugin/echo/resume', {}, options);
  const path = '/control/plugin/{plugin}';
  const lines = await until('the lines', () => {
    const found = log().filter(said('a control call'));
    return found.length >= 2 && found;
  });
  // The run had ended: nothing was cancelled, and no line says so.
  expect(lines).toEqual([
    expect.objectContaining({
      level: 30,
      route: `${path}/pause`,
      token: 'test',
      plugin: 'echo',
      requestId: 'who-did-it',
      durationUs: expect.any(Number),
    }),
    expect.objectContaining({ level: 30, route: `${path}/resume`, token: 'test', plugin: 'echo', status: 200 }),
  ]);
});

test('the line of a rerun names the new job and the old one', async () => {
  const log = listen();
  const { job_id: old } = await gateway.finished('echo/handle');
  const { body } = await gateway.call('POST', `/job/${old}/rerun`);
  const line = await until('the line', () => log().find(said('a control call')));
  expect(line).toMatchObject({ route: '/job/{job_id}/rerun', job_id: body['job_id'], rerun_of: old });
});

test('the line of an action names its job, also when the call is repeated', async () => {
  const log = listen();
  const start = () =>
    gateway.call(
      'POST',
      '/actions',
      { do: 'cancel', where: { plugin: 'echo' } },
      { headers: { 'Idempotency-Key': 'a' } },
    );
  const { body } = await start();
  await start();
  const lines = await until('both lines', () => {
    const found = log().filter(said('a control call'));
    return found.length === 2 && found;
  });
  const line = { route: '/actions', status: 202, job_id: body['action_id'] };
  expect(lines).toMatchObject([line, line]);
});

test('at the level debug each call has a line, which names the job that it submitted or asked for, and its run', async () => {
  await gateway.reload({ ...settings(), service: { log_level: 'debug' } });
  onTestFinished(async () => void (await gateway.reload(settings())));
  const log = listen();
  const lineOf = (requestId: string) =>
    until('the line', () => log().find(line => line.msg === 'request' && line['requestId'] === requestId));
  const call = (method: 'GET' | 'POST', path: string, requestId: string) =>
    gateway.call(method, path, undefined, { headers: { 'X-Request-Id': requestId } });
  const { body: single } = await call('POST', '/plugin/echo/handle', 'single');
  expect(await lineOf('single')).toMatchObject({ level: 20, status: 202, job_id: single['job_id'] });
  const { job_id: run } = await gateway.ran('fan', { list: [{}] });
  const [child] = (await gateway.call('GET', `/jobs?root=${run}&plugin=step`)).body['jobs'] as { job_id: string }[];
  await call('GET', `/job/${child!.job_id}`, 'child');
  expect(await lineOf('child')).toMatchObject({ status: 200, job_id: child!.job_id, run_id: run });
  await call('POST', `/job/${run}/rerun`, 'again');
  const { reruns } = (await gateway.call('GET', `/job/${run}`)).body as { readonly reruns: readonly string[] };
  expect(await lineOf('again')).toMatchObject({ status: 202, job_id: reruns[0] });
  const ended = await until('the line', () => log().find(line => line.msg === 'job succeeded' && about(run)(line)));
  expect(ended['level']).toBe(20);
});

test('log.jobs changes with a reload: none, all, failed', async () => {
  await gateway.reload(settings({ jobs: 'none' }));
  const none = listen();
  const quiet = await gateway.finished('step/handle', { fail: 'unheard' });
  await gateway.reload(settings({ jobs: 'all' }));
  expect(none().filter(about(quiet.job_id))).toEqual([]);
  const all = listen();
  const ok = await gateway.finished('step/handle', {});
  expect(await until('the line', () => all().find(about(ok.job_id)))).toMatchObject({
    level: 30,
    msg: 'job succeeded',
  });
  await gateway.reload(settings());
});

test('a refused call is told with its route, status and the name of its token, a refused delivery with its endpoint', async () => {
  const log = listen();
  await gateway.call('GET', '/jobs', undefined, { token: 'no-token-of-ours' });
  await gateway.call('GET', '/jobs', undefined, { token: narrowToken });
  const line = await until('the lines', () => log().find(said('a call that the scopes of its token do not allow')));
  const call = { level: 40, method: 'GET', route: '/jobs', durationUs: expect.any(Number) };
  expect(line).toMatchObject({ ...call, status: 403, token: 'narrow' });
  expect(log().find(said('a call without a valid token'))).toMatchObject({ ...call, status: 401, token: null });
  const body = '{"private":"content"}';
  const deliver = (signature: string) =>
    fetch(`${gateway.webhooks}/webhook/news`, {
      method: 'POST',
      body,
      headers: { 'X-Signature': signature, 'Content-Type': 'application/json' },
    });
  expect((await deliver('sha256=00')).status).toBe(403);
  expect((await deliver(createHmac('sha256', key).update(body).digest('hex'))).status).toBe(202);
  const refused = await until('the line', () => log().find(said('a webhook delivery was refused')));
  expect(refused).toMatchObject({ level: 40, endpoint: 'news', status: 403, code: 'forbidden' });
  expect(refused).toHaveProperty('reason', 'the header x-signature has no signature of the expected form');
  expect(log().filter(({ status }) => status === 403)).toHaveLength(2);
  for (const secret of ['no-token-of-ours', narrowToken, 'content']) expect(gateway.stderr).not.toContain(secret);
});

test('a reload is told, and so are jobs that are held, at a start too', async () => {
  const log = listen();
  await gateway.reload({ ...settings(), pipelines: [{ name: 'wrong' }] });
  await until('the refusal', () => log().some(said('the configuration was not reloaded; the old one stays in force')));
  expect(log().filter(({ level }) => level === 50)[0]!['msg']).toMatch(/config\.yaml:\d+:\d+: pipelines\[0\]/);
  await gateway.reload(settings());
  expect(log().some(said('configuration reloaded'))).toBe(true);
  // The second job waits until the first one has ended.
  const [, held] = [await gateway.submit('worker/handle', { gate: 'held' }), await gateway.submit('worker/handle')];
  await gateway.kill9();
  gateway.write(settings({}, { instances: { ...instances, worker: { enabled: false } } }));
  await gateway.start();
  const line = await until('the line', () => gateway.log.find(({ msg }) => msg?.startsWith('jobs are held')));
  expect(line).toMatchObject({ level: 40, msg: expect.stringMatching(/^jobs are held: \d jobs? of worker\.handle$/) });
  expect(await gateway.waiting(held!, 'plugin')).toMatchObject({ status: 'queued' });
  await gateway.reload(settings());
  gateway.open('held');
  await gateway.settled(held!);
});

test('the lines of each kind are limited per minute', async () => {
  await gateway.reload(settings({ per_minute: 3 }));
  const log = listen();
  await gateway.ran('fan', { list: Array.from({ length: 50 }, () => ({ fail: 'many' })) });
  for (let call = 0; call < 5; call++) await gateway.call('GET', '/jobs', undefined, { token: 'wrong' });
  expect(log().filter(({ error }) => error === 'many').length).toBeLessThanOrEqual(3);
  expect(log().filter(said('a call without a valid token'))).toHaveLength(3);
  await gateway.reload(settings());
});

test('nothing on stderr is no line of JSON, from the first start to the end', async () => {
  const lines = gateway.stderr.split('\n').filter(line => line !== '');
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), time: expect.any(String) });
});

test('log.format: text is for people, and changes with a reload', async () => {
  gateway.write(settings({ format: 'text' }));
  gateway.signal('SIGHUP');
  await until('the reload is told', () => /^\S+Z INFO {2}configuration reloaded kept=\[\]$/m.test(gateway.stderr));
  const failed = await gateway.finished('step/handle', { fail: 'line one\nline two' });
  const line = await until('the line', () => gateway.stderr.split('\n').find(each => each.includes(failed.job_id)));
  expect(line).toMatch(/^\S+Z WARN {2}job failed job_id=\S+ plugin=step command=handle error="line one\\nline two"$/);
  gateway.write(settings());
  gateway.signal('SIGHUP');
  await until('it is told as JSON', () => gateway.stderr.trimEnd().endsWith('"msg":"configuration reloaded"}'));
});

test.each([
  [
    'a wrong configuration',
    'log: { jobs: some, per_minute: -1 }',
    78,
    /log\.jobs: is "some"; it must be one of none, failed, all/,
  ],
  ['a state directory below a file', 'state: { path: ./config.yaml/data }', 74, /local token .*ENOTDIR/],
  ['an address that cannot be had', 'api: { listen: 192.0.2.1:1 }', 75, /cannot listen on 192\.0\.2\.1:1/],
])('a start that is refused by %s says so in lines of JSON alone', (_, text, status, expected) => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'config.yaml'), `${text}\nwebhooks: { listen: 127.0.0.1:0 }\n`);
  const words = ['dist/cli/main.js', 'start', '--config', directory];
  const plain = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
  const lines = plain.stderr
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as LogLine);
  expect([plain.status, plain.stdout]).toEqual([status, '']);
  expect(lines.find(line => line.level === 60 && expected.test(line.msg!))).toBeDefined();
  const json = spawnSync(process.execPath, [...words, '--json'], { cwd: root, encoding: 'utf8' });
  expect(JSON.parse(json.stdout)).toMatchObject({ code: expect.any(String) });
  for (const line of json.stderr.trimEnd().split('\n')) JSON.parse(line);
});

/** Starts a service whose stderr is this file, which is opened for reading too, so that a pipe needs no reader. */
async function startOn(stderr: string, directory: string) {
  const file = openSync(stderr, 'r+');
  const words = ['dist/cli/main.js', 'start', '--config', directory, '--json'];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', file] });
  closeSync(file);
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let stdout = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  await Promise.race([once(child.stdout!, 'data'), closed]);
  const { url } = JSON.parse(stdout) as { readonly url: string };
  return { child, closed, url };
}

/** Starts a service that logs more lines than its stderr, a pipe that nobody reads, can take. Each line has a number as its request id. */
async function fillPipe() {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeConfiguration(directory, { log: { per_minute: 100_000 }, service: { log_level: 'info' } });
  const pipe = join(directory, 'stderr');
  spawnSync('mkfifo', [pipe]);
  const service = await startOn(pipe, directory);
  const get = (path: string, headers: { readonly [name: string]: string } = {}) =>
    fetch(service.url + path, { headers, signal: AbortSignal.timeout(30_000) }).then(({ status }) => status);
  const numbers = Array.from({ length: 1_000 }, (_, number) => String(number));
  for (const number of numbers)
    expect(await get('/jobs', { Authorization: 'Bearer wrong', 'X-Request-Id': number })).toBe(401);
  return { ...service, pipe, numbers, get };
}

test('a pipe that nobody reads does not stop the service', async () => {
  const { child, closed, get } = await fillPipe();
  expect(await get('/healthz')).toBe(200);
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});

test('lines that a full pipe refused follow whole and in order once it is read', async () => {
  const { child, closed, pipe, numbers } = await fillPipe();
  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] });
  const read = text(reader.stdout);
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  const lines = (await read).trimEnd().split('\n');
  const refused = lines.map(line => JSON.parse(line) as LogLine).filter(said('a call without a valid token'));
  expect(refused.map(({ requestId }) => requestId)).toEqual(numbers);
});

test.runIf(existsSync('/dev/full'))('lines that stderr refuses are lost, and the service continues', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeConfiguration(directory, { plugins: { echo } });
  const { child, closed, url } = await startOn('/dev/full', directory);
  const call = (plugin: string) => {
    const headers = { Authorization: `Bearer ${everythingToken}` };
    return fetch(`${url}/plugin/${plugin}/handle`, { method: 'POST', headers }).then(({ status }) => status);
  };
  expect([await call('echo'), await call('other')]).toEqual([202, 404]);
  writeConfiguration(directory, { plugins: { echo, other: echo } });
  child.kill('SIGHUP');
  await until('the reload has happened', async () => (await call('other')) === 202);
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});
