// ?wait= and Prefer: wait: the answer to a call, or to GET /job/{job_id}, waits until the job has ended.
import { expect, test } from 'vitest';
import { canary } from '../canary/canary.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type CallOptions, shareGateway, startGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const tokens = { runs: canary('runs'), looks: canary('looks'), fires: canary('fires') };
const gateway = shareGateway({
  plugins: { echo, failing, worker },
  pipelines: [
    { name: 'later', steps: [{ uses: 'worker' }] },
    { name: 'now', execution_mode: 'synchronous', steps: [{ uses: 'worker' }] },
    { name: 'never', if: { path: 'payload.n', op: 'exists' }, steps: [{ uses: 'echo' }] },
    { name: 'hasty', execution_mode: 'synchronous', timeout_secs: 1, steps: [{ uses: 'worker' }] },
  ],
  schedules: [
    { id: 'job', plugin: 'worker', at: '2999-01-01T00:00:00Z', payload: { gate: 'scheduled' } },
    { id: 'run', pipeline: 'now', at: '2999-01-01T00:00:00Z' },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'runs', token: tokens.runs, scopes: ['plugin:rw'] },
        { name: 'looks', token: tokens.looks, scopes: ['jobs:status:ro'] },
        { name: 'fires', token: tokens.fires, scopes: ['control:rw', 'plugin:rw'] },
      ],
    },
  },
});

const call = (path: string, payload: object = {}, options?: CallOptions) =>
  gateway.call('POST', path, { payload }, options);
const look = (path: string, options?: CallOptions) => gateway.call('GET', path, undefined, options);
const resultOf = (body: { readonly [name: string]: unknown }) => (body['result'] as { result: unknown }).result;

test('a call of a plugin answers with the job once that has ended, whether it succeeded or failed', async () => {
  const { status, body } = await call('/plugin/echo/handle?wait=30s', { n: 1 });
  expect([status, body['status'], resultOf(body)]).toEqual([200, 'succeeded', { n: 1 }]);
  expect(body).toEqual(await gateway.job(String(body['job_id'])));
  const failed = await call('/plugin/failing/handle?wait=30s', { retry: false });
  expect([failed.status, failed.body['status'], failed.body['last_error']]).toEqual([200, 'failed', 'as asked']);
});

test('a job that has not ended in time is shown as it stands, with 202', async () => {
  const { status, body } = await call('/plugin/worker/handle?wait=0s', { gate: 'slow' });
  const path = `/job/${body['job_id']}`;
  expect([status, ['queued', 'running'].includes(String(body['status']))]).toEqual([202, true]);
  expect((await look(`${path}?wait=50ms`)).status).toBe(202);
  const waiting = look(`${path}?wait=30s`);
  gateway.open('slow');
  const ended = await waiting;
  expect([ended.status, ended.body['status']]).toEqual([200, 'succeeded']);
  expect((await look(`${path}?wait=0s`)).status).toBe(200);
});

test('without the wish to wait, a job that has not ended is shown with 200', async () => {
  const id = await gateway.submit('worker/handle', { gate: 'plain' });
  expect((await look(`/job/${id}`)).status).toBe(200);
  gateway.open('plain');
});

test('the header Prefer says the same in seconds, and the answer says what was applied', async () => {
  const prefer = (value: string) => ({ headers: { Prefer: value } });
  const { status, headers } = await call('/plugin/echo/handle', {}, prefer('respond-async, WAIT = "30"; x=1'));
  expect([status, headers.get('Preference-Applied')]).toEqual([200, 'wait=30']);
  const far = await call('/plugin/echo/handle', {}, prefer('wait=3600'));
  expect([far.status, far.headers.get('Preference-Applied')]).toEqual([200, 'wait=60']);
  for (const ignored of ['wait=soon', 'waiting=3', 'x=", wait=3"', 'return=minimal']) {
    const answer = await call('/plugin/echo/handle', {}, prefer(ignored));
    expect([answer.status, answer.headers.get('Preference-Applied')]).toEqual([202, null]);
  }
  const both = await call('/plugin/echo/handle?wait=20s', {}, prefer('wait=0'));
  expect([both.status, both.headers.get('Preference-Applied')]).toEqual([200, null]);
});

test('a wait is a duration of at most 60 s', async () => {
  for (const wait of ['61s', '2m', '-1s', '30', '', 'soon']) {
    const { status, body } = await call(`/plugin/echo/handle?wait=${wait}`);
    expect([status, body['code'], body['detail']]).toEqual([
      400,
      'invalid_query',
      'the query parameter "wait" must be a duration from 0s to 60s, such as 30s',
    ]);
  }
});

test('a run of an asynchronous pipeline is waited for, also one that ends as it begins', async () => {
  const { status, body } = await call('/pipeline/later?wait=30s');
  expect([status, body['plugin'], body['command'], body['status']]).toEqual([200, 'pipeline', 'later', 'succeeded']);
  const at = await call('/pipeline/never?wait=30s');
  expect([at.status, at.body['status'], resultOf(at.body)]).toEqual([200, 'succeeded', null]);
});

test('a synchronous run keeps its answer; the shorter of wait and timeout_secs counts', async () => {
  const { body: done } = await call('/pipeline/now?wait=30s');
  expect([done['status'], Array.isArray(done['tree'])]).toEqual(['succeeded', true]);
  const short = await call('/pipeline/now?wait=50ms', { gate: 'short' });
  expect([short.status, short.body['timeout_exceeded']]).toEqual([202, true]);
  expect(short.body['message']).toContain('within 0.05 s');
  gateway.open('short');
  const hasty = await call('/pipeline/hasty?wait=60s', { gate: 'hasty' });
  expect([hasty.status, hasty.body['timeout_exceeded']]).toEqual([202, true]);
  expect(hasty.body['message']).toContain('within 1 s');
  gateway.open('hasty');
  const { body } = await call('/pipeline/now?async=true&wait=30s');
  expect([body['command'], 'tree' in body]).toEqual(['now', false]);
});

test('the wait is not part of the request of an Idempotency-Key, and a repeat that waits gets how the job stands', async () => {
  const keyed = { headers: { 'Idempotency-Key': 'once' } };
  const first = await call('/plugin/worker/handle?wait=0s', { gate: 'keyed' }, keyed);
  const plain = await call('/plugin/worker/handle', { gate: 'keyed' }, keyed);
  const repeats = [1, 2].map(() => call('/plugin/worker/handle?wait=30s', { gate: 'keyed' }, keyed));
  gateway.open('keyed');
  const ids = [plain, ...(await Promise.all(repeats))].map(({ status, body }) => [
    status,
    body['job_id'],
    body['status'],
  ]);
  const id = first.body['job_id'];
  expect(ids).toEqual([
    [202, id, 'queued'],
    [200, id, 'succeeded'],
    [200, id, 'succeeded'],
  ]);
});

test('the result is shown to tokens that may read results, and to no others', async () => {
  const { status, body } = await call('/plugin/echo/handle?wait=30s', { n: 1 }, { token: tokens.runs });
  expect([status, body['status'], 'result' in body, 'payload' in body]).toEqual([200, 'succeeded', false, false]);
  const seen = await look(`/job/${body['job_id']}?wait=30s`, { token: tokens.looks });
  expect([seen.status, 'result' in seen.body]).toEqual([200, false]);
});

test('a reload during the wait takes results from callers whose token or scope is gone', async () => {
  const scoped = canary('scoped');
  const gone = canary('gone');
  const withTokens = (scopes: Record<string, readonly string[]>): Settings => ({
    plugins: { worker },
    pipelines: [{ name: 'now', execution_mode: 'synchronous', steps: [{ uses: 'worker' }] }],
    service: { max_workers: 4 },
    api: { auth: { tokens: Object.entries(scopes).map(([token, scopes]) => ({ token, scopes })) } },
  });
  const before = ['plugin:rw', 'jobs:ro'];
  const other = await startGateway(withTokens({ [everythingToken]: ['*'], [scoped]: before, [gone]: before }));
  const payload = { gate: 'reloaded' };
  const id = await other.submit('worker/handle', payload);
  const looks = [scoped, gone].map(token => other.call('GET', `/job/${id}?wait=60s`, undefined, { token }));
  const calls = [
    other.call('POST', '/plugin/worker/handle?wait=60s', { payload }, { token: scoped }),
    other.call('POST', '/plugin/worker/handle?wait=60s', { payload }, { token: gone }),
    other.call('POST', '/pipeline/now', { payload }, { token: gone }),
  ];
  await other.noted('start', 4);
  await other.reload(withTokens({ [everythingToken]: ['*'], [scoped]: ['plugin:rw', 'jobs:status:ro'] }));
  other.open('reloaded');
  const [kept, refused] = await Promise.all(looks);
  expect([kept!.status, kept!.body['status'], 'result' in kept!.body]).toEqual([200, 'succeeded', false]);
  expect([refused!.status, refused!.body['detail']]).toEqual([401, 'the token lost its access during the wait']);
  for (const { body } of await Promise.all(calls))
    expect([typeof body['job_id'], body['status'], 'result' in body]).toEqual(['string', 'succeeded', false]);
});

test('a rerun is waited for, of a job and of a run', async () => {
  const old = await call('/plugin/worker/handle?wait=30s', { n: 7 });
  const path = `/job/${old.body['job_id']}/rerun`;
  const { status, body } = await gateway.call('POST', `${path}?wait=30s`, {});
  expect([status, body['status'], body['rerun_of']]).toEqual([200, 'succeeded', old.body['job_id']]);
  expect(body).toEqual(await gateway.job(String(body['job_id'])));
  const unwaited = await gateway.call('POST', path, {});
  expect([unwaited.status, Object.keys(unwaited.body)]).toEqual([
    202,
    ['job_id', 'status', 'plugin', 'command', 'rerun_of'],
  ]);
  const slow = await gateway.call('POST', `${path}?wait=50ms`, { payload: { gate: 'again' } });
  expect([slow.status, slow.body['rerun_of'], 'created_at' in slow.body]).toEqual([202, old.body['job_id'], true]);
  gateway.open('again');
  const run = await call('/pipeline/now');
  const again = await gateway.call('POST', `/job/${run.body['job_id']}/rerun`, {}, { headers: { Prefer: 'wait=30' } });
  expect([again.status, again.body['status'], again.body['rerun_of']]).toEqual([200, 'succeeded', run.body['job_id']]);
  expect(again.headers.get('Preference-Applied')).toBe('wait=30');
});

test('a manual run of a schedule is waited for, and its result shown only to tokens that may read results', async () => {
  const slow = await gateway.call('POST', '/schedule/job/run?wait=0s', {});
  expect([slow.status, slow.body['schedule'], 'created_at' in slow.body]).toEqual([
    202,
    { id: 'job', due_at: null },
    true,
  ]);
  const keyed = { headers: { 'Idempotency-Key': 'fire' } };
  const first = await gateway.call('POST', '/schedule/job/run', {}, keyed);
  const repeat = gateway.call('POST', '/schedule/job/run?wait=30s', {}, keyed);
  gateway.open('scheduled');
  const { status, body } = await repeat;
  expect([status, body['job_id'], body['status']]).toEqual([200, first.body['job_id'], 'succeeded']);
  const run = await gateway.call('POST', '/schedule/run/run?wait=30s', {}, { token: tokens.fires });
  expect([run.status, run.body['command'], run.body['status'], 'result' in run.body]).toEqual([
    200,
    'now',
    'succeeded',
    false,
  ]);
});

test('a job that is cancelled ends the wait', async () => {
  const { body } = await call('/plugin/worker/handle?wait=0s', { gate: 'cancelled' });
  const waiting = look(`/job/${body['job_id']}?wait=60s`);
  await gateway.noted('start', String(body['job_id']));
  await gateway.call('POST', `/job/${body['job_id']}/cancel`);
  expect((await waiting).body['status']).toBe('cancelled');
});

test('a caller that has disconnected costs nothing, and its job goes on', async () => {
  const leaving = new AbortController();
  const headers = { Authorization: `Bearer ${everythingToken}`, 'Content-Type': 'application/json' };
  const path = `${gateway.url}/plugin/worker/handle?wait=60s`;
  const body = JSON.stringify({ payload: { gate: 'left', name: 'left' } });
  const gone = fetch(path, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => 'gone');
  await until('it has begun', () => gateway.journal().some(({ name, what }) => name === 'left' && what === 'start'));
  leaving.abort();
  expect(await gone).toBe('gone');
  gateway.open('left');
  await until('it has ended', () => gateway.journal().some(({ name, what }) => name === 'left' && what === 'end'));
});
