// The options of calls as a whole: which exist, where they are refused, what limits them, and the event when a job gets another time.
import { expect, test } from 'vitest';
import { openSource } from '../../feature/events/reader.ts';
import { shareGateway, startGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const gateway = shareGateway({
  plugins: { echo, failing, worker },
  instances: { failing: { retry: { max_attempts: 2, backoff_base: '24h', backoff_max: '24h' } } },
  pipelines: [
    { name: 'two', steps: [{ uses: 'worker' }, { uses: 'echo' }] },
    { name: 'now', execution_mode: 'synchronous', steps: [{ uses: 'echo' }] },
    { name: 'bound', deadline: '1m', steps: [{ uses: 'echo' }] },
  ],
});
const known = 'run_at, delay, expires, deadline, tags';

test('options of later versions are unknown fields, wherever a job is made', async () => {
  const ended = await gateway.finished('echo/say');
  for (const option of [
    { priority: 'high' },
    { key: 'acme' },
    { unique: { key: 'a' } },
    { debounce: { key: 'a', for: '1s' } },
  ]) {
    const [name] = Object.keys(option);
    for (const [path, others] of [
      ['/plugin/echo/say', {}],
      ['/pipeline/two', {}],
      ['/plugin/echo/say/batch', { payloads: [{}] }],
      ['/pipeline/two/batch', { payloads: [{}] }],
      [`/job/${ended.job_id}/rerun`, {}],
    ] as const) {
      const { status, body } = await gateway.call('POST', path, { ...others, ...option });
      expect([path, status, body['code'], body['detail']]).toEqual([
        ...[path, 400, 'invalid_request'],
        expect.stringMatching(new RegExp(`^/${name} is not a known field; known fields: .*${known}$`)),
      ]);
    }
  }
});

test('a caller that prefers a minimal answer of a synchronous pipeline gets it without the tree', async () => {
  const run = (prefer: string) => gateway.call('POST', '/pipeline/now', {}, { headers: { Prefer: prefer } });
  const whole = await run('return=representation');
  expect([whole.status, whole.headers.get('Preference-Applied')]).toEqual([200, null]);
  const { tree, ...others } = whole.body;
  expect(tree).toHaveLength(2);
  for (const [prefer, applied] of [
    ['return=minimal', 'return=minimal'],
    ['Return = "Minimal"; x=1', 'return=minimal'],
    ['wait=30, return=minimal', 'return=minimal, wait=30'],
  ] as const) {
    const { status, headers, body } = await run(prefer);
    expect([status, headers.get('Preference-Applied')]).toEqual([200, applied]);
    expect(Object.keys(body)).toEqual(Object.keys(others));
    expect(body).toMatchObject({ status: 'succeeded', result: others['result'] });
  }
});

test('a batch is never waited for: `wait` is refused there, and the preference is ignored', async () => {
  for (const path of ['/plugin/echo/say/batch', '/pipeline/two/batch']) {
    const refused = await gateway.call('POST', `${path}?wait=1s`, { payloads: [{}] });
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'invalid_query', detail: 'unknown query parameter "wait"' },
    });
    const headers = { Prefer: 'wait=30' };
    const taken = await gateway.call('POST', path, { payloads: [{ gate: 'never' }] }, { headers });
    expect([taken.status, taken.headers.get('Preference-Applied')]).toEqual([202, null]);
  }
});

test('a look at a job waits as its header Prefer says', async () => {
  const id = await gateway.submit('worker/handle', { gate: 'looked at' });
  const prefer = (seconds: number) =>
    gateway.call('GET', `/job/${id}`, undefined, { headers: { Prefer: `wait=${seconds}` } });
  const early = await prefer(0);
  expect([early.status, early.headers.get('Preference-Applied')]).toEqual([202, 'wait=0']);
  const waiting = prefer(30);
  gateway.open('looked at');
  const { status, headers, body } = await waiting;
  expect([status, headers.get('Preference-Applied'), body['status']]).toEqual([200, 'wait=30', 'succeeded']);
});

test('a delayed job is waited for, and a delayed run of a synchronous pipeline is then answered as a job', async () => {
  for (const path of ['/plugin/echo/say', '/pipeline/two', '/pipeline/now']) {
    const { status, body } = await gateway.call('POST', `${path}?wait=30s`, { delay: '200ms' });
    expect([path, status, body['status'], 'tree' in body]).toEqual([path, 200, 'succeeded', false]);
    expect(Date.parse(String(body['started_at']))).toBeGreaterThanOrEqual(Date.parse(String(body['run_at'])));
  }
  const early = await gateway.call('POST', '/pipeline/now?wait=50ms', { delay: '1d' });
  expect([early.status, early.body['status'], early.body['plugin']]).toEqual([202, 'queued', 'pipeline']);
});

test('a synchronous repeat with `wait` gets the run as it stands, in the synchronous form', async () => {
  const sync = await startGateway({
    plugins: { worker },
    pipelines: [{ name: 'now', execution_mode: 'synchronous', steps: [{ uses: 'worker' }] }],
  });
  const headers = { 'Idempotency-Key': 'now' };
  const call = (query: string) =>
    sync.call('POST', `/pipeline/now${query}`, { payload: { gate: 'sync' } }, { headers });
  const first = await call('?wait=50ms');
  expect([first.status, first.body['timeout_exceeded']]).toEqual([202, true]);
  sync.open('sync');
  const again = await call('?wait=30s');
  expect([again.status, again.body['job_id'], again.body['status']]).toEqual([200, first.body['job_id'], 'succeeded']);
  expect(again.body['tree']).toHaveLength(2);
});

test('a rerun of a run has a deadline of at most that of its pipeline', async () => {
  const run = await gateway.ran('bound');
  const { status, body } = await gateway.call('POST', `/job/${run.job_id}/rerun`, { deadline: '2m' });
  expect([status, body['detail']]).toEqual([400, '/deadline must be at most 1m, the deadline of the pipeline']);
});

test('a batch of runs has a deadline of at most that of their pipeline, in either form', async () => {
  const detail = '/deadline must be at most 1m, the deadline of the pipeline';
  const asJson = await gateway.call('POST', '/pipeline/bound/batch', { payloads: [{}], deadline: '2m' });
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const asLines = await gateway.call('POST', '/pipeline/bound/batch?deadline=2m', '{}\n', { headers });
  for (const { status, body } of [asJson, asLines]) expect([status, body['detail']]).toEqual([400, detail]);
  const taken = await gateway.call('POST', '/pipeline/bound/batch?deadline=30s', '{}\n', { headers });
  expect(taken).toMatchObject({ status: 202, body: { accepted: 1 } });
});

test('an event says that a job or run has another time: by a reschedule, or by run-now', async () => {
  const events = await openSource(gateway, '?types=job.rescheduled');
  const rescheduled = (id: string, times: number) =>
    until(`${id} has ${times} events`, () => {
      const own = events.seen.filter(({ data }) => data['job_id'] === id);
      return own.length >= times ? own : null;
    });
  for (const [path, plugin, command] of [
    ['/plugin/echo/say', 'echo', 'say'],
    ['/pipeline/two', 'pipeline', 'two'],
  ] as const) {
    const { body } = await gateway.call('POST', path, { delay: '1d', tags: { tenant: 'acme' } });
    const id = String(body['job_id']);
    await gateway.call('POST', `/job/${id}/reschedule`, { delay: '2d' });
    const [first] = await rescheduled(id, 1);
    expect(first!.data).toMatchObject({ plugin, command, tags: { tenant: 'acme' } });
    await gateway.call('POST', `/job/${id}/run-now`);
    await rescheduled(id, 2);
    await gateway.settled(id);
  }
  const retried = await gateway.submit('failing/handle');
  await gateway.waiting(retried, 'retry');
  await gateway.call('POST', `/job/${retried}/run-now`);
  await rescheduled(retried, 1);
  expect((await gateway.settled(retried)).status).toBe('dead');
});

test('delayed jobs count under service.max_waiting, and not in the queue', async () => {
  const small = await startGateway({ plugins: { echo }, service: { max_waiting: 3 } });
  const later = (payload: object, path = '') =>
    small.call('POST', `/plugin/echo/say${path}`, { delay: '1d', ...payload });
  const first = await later({});
  expect(first.status).toBe(202);
  const batch = await later({ payloads: [{}, {}, {}] }, '/batch');
  expect(batch).toMatchObject({ status: 202, body: { accepted: 2 } });
  const full = await later({});
  expect([full.status, full.body['code'], full.headers.get('Retry-After')]).toEqual([503, 'too_many_waiting', '10']);
  // Jobs that can run at once are still accepted.
  expect((await small.finished('echo/say')).status).toBe('succeeded');
  expect((await small.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 0 });
  expect((await small.call('GET', '/analytics/queue')).body).toMatchObject({
    ...{ queue_depth: 0, delayed_count: 0, scheduled_count: 3, waiting_count: 3 },
  });
  await small.call('POST', `/job/${first.body['job_id']}/cancel`);
  expect((await later({})).status).toBe(202);
});
