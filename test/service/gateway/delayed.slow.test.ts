// Delayed jobs, expiry and deadlines as users see them, over HTTP and on the command line.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { openSource } from '../../feature/events/reader.ts';
import { startClocked } from './clock.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type Answer, type Job, shareGateway } from './gateway.ts';
import { echo, worker } from './sources.ts';
import { until } from './until.ts';

const settings: Settings = {
  plugins: { echo, worker },
  pipelines: [
    { name: 'two', execution_mode: 'synchronous', steps: [{ uses: 'worker' }, { uses: 'echo' }] },
    { name: 'bound', deadline: '1m', steps: [{ uses: 'worker' }] },
    { name: 'never', steps: [{ uses: 'echo', if: { path: 'payload.never', op: 'exists', value: true } }] },
    { name: 'outer', steps: [{ call: 'never' }, { uses: 'worker' }] },
    { name: 'wide', steps: [{ uses: 'worker', foreach: 'payload.items' }] },
  ],
};
const gateway = shareGateway(settings);

type Timed = Job & {
  readonly run_at?: string;
  readonly expires_at?: string;
  readonly deadline_at?: string;
  readonly waits_for?: { readonly reason: string; readonly until?: string };
  readonly cancel?: { readonly by: string; readonly reason: string };
};

/** Calls a command or a pipeline. Resolves with the job. */
async function call(path: string, body: object): Promise<Timed> {
  const { status, body: said } = await gateway.call('POST', path, body);
  expect(status, JSON.stringify(said)).toBe(202);
  return gateway.job(String(said['job_id'])) as Promise<Timed>;
}

function reschedule(id: string, body: object): Promise<Answer> {
  return gateway.call('POST', `/job/${id}/reschedule`, body);
}

const msBetween = (from: string | null | undefined, to: string | null | undefined) =>
  Date.parse(to!) - Date.parse(from!);

async function pause(path: string): Promise<() => Promise<unknown>> {
  const resume = () => gateway.call('POST', `/control/${path}/resume`);
  onTestFinished(async () => {
    await resume();
  });
  await gateway.call('POST', `/control/${path}/pause`);
  return resume;
}

async function counts(): Promise<Answer['body']> {
  return (await gateway.call('GET', '/analytics/queue')).body;
}

test('a job or run that becomes due during a pause waits for its end since then', async () => {
  await pause('plugin/echo');
  await pause('pipeline/bound');
  for (const path of ['/plugin/echo/say', '/pipeline/bound']) {
    const { job_id: id, run_at } = await call(path, { delay: '100ms' });
    const { waits_for: waits } = await gateway.waiting(id, 'paused');
    expect((waits as { since: string }).since).toBe(run_at);
    await gateway.call('POST', `/job/${id}/cancel`);
  }
});

test('a delayed job says when it runs, and runs then', async () => {
  const { job_id: id, ...job } = await call('/plugin/echo/say', { payload: { n: 1 }, delay: '1d' });
  expect(job).toMatchObject({ status: 'queued', started_at: null });
  expect((await gateway.waiting(id, 'run_at'))['waits_for']).toMatchObject({ until: job.run_at });
  expect(msBetween(job.created_at, job.run_at)).toBe(86_400_000);
  expect(await counts()).toMatchObject({ queue_depth: 0, delayed_count: 0, scheduled_count: 1, waiting_count: 1 });
  const queued = await gateway.call('GET', '/jobs?status=queued');
  expect(queued.body).toMatchObject({ total: 1, jobs: [{ job_id: id }] });
  await reschedule(id, { delay: '300ms' });
  const ended = (await gateway.settled(id)) as Timed;
  expect(ended).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(msBetween(ended.run_at, ended.started_at)).toBeGreaterThanOrEqual(0);
  expect(await counts()).toMatchObject({ scheduled_count: 0 });
  // The stopwatch counts the delay as a step of its own, `say.waited`.
  const steps = await until('the stopwatch has it', async () => {
    const { body } = await gateway.call('GET', '/stopwatch/echo');
    const found = (body['steps'] as { step: string; sample_count: number; max_us: number }[]).map(
      ({ step, ...times }) => [step, times] as const,
    );
    const byName = Object.fromEntries(found);
    return byName['say.waited']?.sample_count === 1 ? byName : null;
  });
  expect(Math.abs(steps['say.waited']!.max_us / 1000 - msBetween(ended.created_at, ended.run_at))).toBeLessThan(2);
  expect(steps['say.queue']!.max_us).toBeLessThan(steps['say.total']!.max_us - 200_000);
});

test('options are checked, each with a pointer to what is wrong', async () => {
  const wrong: readonly (readonly [object, string | RegExp])[] = [
    [{ delay: 'soon' }, '/delay must be a duration from 0ms to 3650d, such as 10m'],
    [{ delay: 5 }, /^\/delay must be string/],
    [{ delay: '4000d' }, /^\/delay must be/],
    [{ run_at: 'tomorrow' }, '/run_at must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
    [{ run_at: '2999-01-01T00:00:00Z' }, '/run_at must be at most 3650 days ahead'],
    [{ run_at: '2026-12-01T06:00:00Z', delay: '1s' }, '/delay cannot be given together with run_at'],
    [{ expires: '0s' }, '/expires must be a duration from 1ms to 3650d, such as 10m'],
    [{ deadline: '' }, /^\/deadline must be a duration/],
    [{ later: '1s' }, /^\/later is not a known field; known fields: payload, run_at, delay, expires, deadline/],
  ];
  for (const [options, detail] of wrong) {
    const single = await gateway.call('POST', '/plugin/echo/say', options);
    expect(single.body).toMatchObject({ status: 400, code: 'invalid_request', detail: expect.stringMatching(detail) });
    const batch = await gateway.call('POST', '/plugin/echo/say/batch', { ...options, payloads: [{}] });
    if (!('later' in options)) expect(batch.body).toMatchObject({ status: 400, detail: single.body['detail'] });
  }
  const two = await gateway.call('POST', '/plugin/echo/say', { delay: 'a', expires: 'b' });
  expect(two.body['errors']).toMatchObject([{ pointer: '/delay' }, { pointer: '/expires' }]);
  for (const [path, body] of [
    ['/pipeline/bound', { deadline: '2m' }],
    ['/pipeline/bound/batch', { deadline: '2m', payloads: [{}] }],
  ] as const)
    expect((await gateway.call('POST', path, body)).body).toMatchObject({
      status: 400,
      detail: '/deadline must be at most 1m, the deadline of the pipeline',
    });
  const ndjson = { headers: { 'Content-Type': 'application/x-ndjson' } };
  const query = await gateway.call('POST', '/plugin/echo/say/batch?delay=soon', {}, ndjson);
  expect(query.body).toMatchObject({
    code: 'invalid_query',
    detail: expect.stringMatching(/"delay" must be a duration/),
  });
  const twice = await gateway.call('POST', '/plugin/echo/say/batch?delay=1s&run_at=2026-12-01T06:00:00Z', {}, ndjson);
  expect(twice.body).toMatchObject({ code: 'invalid_query', detail: expect.stringMatching(/together with run_at/) });
  const mixed = await gateway.call('POST', '/plugin/echo/say/batch?delay=1s', { payloads: [{}] });
  expect(mixed.body).toMatchObject({ code: 'invalid_query', detail: expect.stringMatching(/beside "payloads"/) });
});

test('a time that has passed means at once', async () => {
  const job = await call('/plugin/echo/say', { run_at: '2020-01-01T00:00:00Z', expires: '1h' });
  const ended = (await gateway.settled(job.job_id)) as Timed;
  expect(ended).toMatchObject({ status: 'succeeded', run_at: '2020-01-01T00:00:00.000000Z' });
  expect(msBetween(ended.created_at, ended.expires_at)).toBe(3_600_000);
});

test.each(['0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z'])('so does %s, which is before 1970', async run_at => {
  const { body } = await gateway.call('POST', `/plugin/echo/say/batch?run_at=${run_at}`, '{}\n{}\n', {
    headers: { 'Content-Type': 'application/x-ndjson' },
  });
  const alone = await call('/plugin/echo/say', { run_at, expires: '1h', deadline: '1h' });
  const run = await call('/pipeline/two', { run_at });
  for (const id of [...(body['job_ids'] as string[]), alone.job_id, run.job_id])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', run_at: '1970-01-01T00:00:00.000000Z' });
  expect(gateway.log.map(({ msg }) => msg)).not.toContain('a turn failed');
});

test('the jobs of a batch have the same options, as JSON and as NDJSON', async () => {
  const json = await gateway.call('POST', '/plugin/echo/say/batch', { delay: '1d', payloads: [{ n: 1 }, { n: 2 }] });
  const lines = await gateway.call(
    'POST',
    '/pipeline/wide/batch?delay=1d&expires=1h',
    '{"items":[1]}\n{"items":[2]}\n',
    { headers: { 'Content-Type': 'application/x-ndjson' } },
  );
  const ids = [...(json.body['job_ids'] as string[]), ...(lines.body['job_ids'] as string[])];
  expect(ids).toHaveLength(4);
  for (const id of ids) {
    const job = (await gateway.waiting(id, 'run_at')) as unknown as Timed;
    expect(job).toMatchObject({ status: 'queued' });
    expect(msBetween(job.created_at, job.run_at)).toBe(86_400_000);
    expect((await gateway.call('POST', `/job/${id}/run-now`)).body).toMatchObject({ rescheduled: true });
  }
  for (const id of ids) expect((await gateway.settled(id)).status).toBe('succeeded');
});

test('a delayed job is rescheduled, and no other', async () => {
  const job = await call('/plugin/echo/say', { delay: '1h', expires: '10m' });
  const at = new Date(Date.now() + 7_200_000).toISOString();
  const moved = await reschedule(job.job_id, { run_at: at });
  expect(moved).toMatchObject({ status: 200, body: { job_id: job.job_id, status: 'queued' } });
  expect(msBetween(at, String(moved.body['run_at']))).toBe(0);
  const after = (await gateway.job(job.job_id)) as Timed;
  expect(msBetween(at, after.run_at)).toBe(0);
  expect(msBetween(after.run_at, after.expires_at)).toBe(600_000);
  for (const [body, detail] of [
    [{}, /^\/run_at \(a time\) or \/delay \(a duration\) is required/],
    [{ delay: 'x' }, /^\/delay must be/],
    [{ expires: '1s' }, /^\/expires is not a known field/],
  ] as const)
    expect((await reschedule(job.job_id, body)).body).toMatchObject({
      status: 400,
      detail: expect.stringMatching(detail),
    });
  expect((await reschedule(job.job_id, { delay: '0s' })).status).toBe(200);
  expect((await gateway.settled(job.job_id)).status).toBe('succeeded');
  expect((await reschedule(job.job_id, { delay: '1h' })).body).toMatchObject({ code: 'already_settled' });
  const running = await gateway.submit('worker/handle', { gate: 'moved' });
  await gateway.noted('start', running);
  expect((await reschedule(running, { delay: '1h' })).body).toMatchObject({
    code: 'not_waiting',
    job_status: 'running',
  });
  gateway.open('moved');
  await gateway.settled(running);
  expect((await reschedule('0198c0de-0000-7000-8000-000000000000', { delay: '1h' })).status).toBe(404);
});

test('delayed jobs and runs last over a kill: what came due meanwhile runs, and what expired meanwhile never starts', async () => {
  const soon = await call('/plugin/echo/say', { delay: '100ms' });
  const run = await call('/pipeline/two', { delay: '200ms' });
  const next = await call('/plugin/echo/say', { delay: '2s' });
  // The pause keeps `late` from running before the kill.
  const resume = await pause('plugin/worker');
  const late = await call('/plugin/worker/handle', { delay: '100ms', expires: '100ms' });
  const later = await call('/plugin/echo/say', { delay: '1d' });
  await gateway.kill9();
  await until('one has expired', async () => (Date.now() > Date.parse(late.expires_at!) ? true : null));
  await gateway.start();
  expect(await gateway.settled(late.job_id)).toMatchObject({ status: 'cancelled', cancel: { reason: 'expired' } });
  await resume();
  for (const { job_id } of [soon, run, next]) {
    const { status, run_at, started_at } = (await gateway.settled(job_id)) as Timed;
    expect([status, msBetween(run_at, started_at) >= 0]).toEqual(['succeeded', true]);
  }
  expect(gateway.notesOf(late.job_id)).toEqual([]);
  expect(await gateway.job(later.job_id)).toMatchObject({ status: 'queued', run_at: later.run_at });
  expect(await counts()).toMatchObject({ scheduled_count: 1 });
  await gateway.call('POST', `/job/${later.job_id}/cancel`);
});

test('of thousands of delayed runs that expired while the service was down, none begins', async () => {
  const { gateway, clock } = await startClocked('2027-11-01T10:00:00Z', settings);
  const payloads = Array.from({ length: 2_000 }, () => ({}));
  const { body } = await gateway.call('POST', '/pipeline/two/batch', { payloads, delay: '2m', expires: '1m' });
  await gateway.kill9();
  clock.set('2027-11-01T11:00:00Z');
  await gateway.start();
  const [first, last] = [0, -1].map(place => (body['job_ids'] as string[]).at(place)!);
  for (const id of [first!, last!])
    expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', cancel: { reason: 'expired' } });
  const { body: found } = await gateway.call('GET', '/jobs?status=cancelled&plugin=pipeline');
  expect(found).toMatchObject({ total: payloads.length });
  expect(gateway.journal()).toEqual([]);
});

test('a delayed run is queued, begins at its time, and a call of a synchronous pipeline does not wait for it', async () => {
  const events = await openSource(gateway);
  const run = await call('/pipeline/two', { payload: {}, delay: '1s' });
  expect(run).toMatchObject({ status: 'queued', started_at: null });
  await gateway.waiting(run.job_id, 'run_at');
  expect((await gateway.tree(run.job_id)).length).toBe(1);
  expect((await gateway.call('GET', '/jobs?status=queued&plugin=pipeline')).body).toMatchObject({ total: 1 });
  const ended = await gateway.settled(run.job_id);
  expect(ended).toMatchObject({ status: 'succeeded', started_at: run.run_at });
  const told = await until('the events came', async () => {
    const own = events.seen.filter(({ data }) => JSON.stringify(data).includes(run.job_id)).map(({ type }) => type);
    return own.includes('pipeline.completed') ? own : null;
  });
  expect(told.filter(type => type.startsWith('pipeline'))).toEqual(['pipeline.started', 'pipeline.completed']);
});

test('a cancel ends a delayed job or run at once', async () => {
  for (const path of ['/plugin/echo/say', '/pipeline/two']) {
    const job = await call(path, { delay: '1d' });
    const cancel = await gateway.call('POST', `/job/${job.job_id}/cancel`, { reason: 'over' });
    expect(cancel).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    // It never started: its log is of attempt 0, which lists of logs leave out.
    const never = { status: 'cancelled', attempt: 0, started_at: null };
    expect(await gateway.job(job.job_id)).toMatchObject({ ...never, cancel: { reason: 'over' } });
  }
  const run = await call('/pipeline/two', { delay: '1d' });
  const action = await gateway.call('POST', '/actions', { do: 'cancel', where: { job_id: run.job_id } });
  await gateway.settled(String(action.body['action_id']));
  expect((await gateway.job(run.job_id)).status).toBe('cancelled');
  expect(await counts()).toMatchObject({ scheduled_count: 0 });
});

test('a job or run that has not started in time ends cancelled, also under a pause, and never runs', async () => {
  const resume = await pause('plugin/worker');
  const job = await call('/plugin/worker/handle', { expires: '300ms' });
  const run = await call('/pipeline/two?async=true', { expires: '300ms' });
  const wide = await call('/pipeline/wide', { payload: { items: [1, 2, 3] }, expires: '300ms' });
  for (const { job_id } of [job, run, wide]) {
    const ended = await gateway.settled(job_id);
    expect(ended).toMatchObject({ status: 'cancelled', cancel: { by: 'headgate', reason: 'expired' } });
  }
  await resume();
  const started = await call('/pipeline/two?async=true', { payload: { gate: 'expires' }, expires: '1s' });
  const child = await until('its job runs', async () => (await gateway.tree(started.job_id))[1] ?? null);
  await gateway.noted('start', child.job_id);
  await until('the time has passed', async () => (Date.now() > Date.parse(started.expires_at!) + 100 ? true : null));
  gateway.open('expires');
  expect((await gateway.settled(started.job_id)).status).toBe('succeeded');
});

test('a run that has only called a run without jobs has not started in time', async () => {
  await pause('plugin/worker');
  const run = await call('/pipeline/outer', { expires: '1s' });
  const [, called, child] = await until('its job waits', async () => {
    const tree = await gateway.tree(run.job_id);
    return tree.length === 3 ? tree : null;
  });
  expect(called).toMatchObject({ plugin: 'pipeline', command: 'never', status: 'succeeded' });
  expect(await gateway.settled(run.job_id)).toMatchObject({ status: 'cancelled', cancel: { reason: 'expired' } });
  expect(await gateway.job(child!.job_id)).toMatchObject({ status: 'cancelled', attempt: 0 });
});

test('a job past its deadline ends timed_out, whether it waits or runs', async () => {
  const running = await call('/plugin/worker/handle', { payload: { gate: 'deadline' }, deadline: '500ms' });
  await gateway.noted('start', running.job_id);
  const ended = (await gateway.settled(running.job_id)) as Timed;
  expect(ended).toMatchObject({ status: 'timed_out', attempt: 1, last_error: 'the deadline of the job has passed' });
  expect(msBetween(running.created_at, ended.deadline_at)).toBe(500);
  expect(msBetween(ended.deadline_at, ended.completed_at)).toBeGreaterThanOrEqual(0);
  await pause('plugin/echo');
  const waiting = await call('/plugin/echo/say', { deadline: '200ms' });
  expect(await gateway.settled(waiting.job_id)).toMatchObject({ status: 'timed_out', attempt: 0 });
});

test('a run past the deadline of its call ends timed_out; that of a delayed run counts from its time', async () => {
  const running = await call('/pipeline/bound', { payload: { gate: 'bound' }, deadline: '400ms' });
  const ended = (await gateway.settled(running.job_id)) as Timed;
  expect(ended).toMatchObject({ status: 'timed_out' });
  expect(msBetween(ended.deadline_at, ended.completed_at)).toBeGreaterThanOrEqual(0);
  // The deadline counts from the run's time: counted from the call, it would be over before the run begins.
  const delayed = await call('/pipeline/bound', { delay: '4s', deadline: '3900ms' });
  expect((await gateway.settled(delayed.job_id)).status).toBe('succeeded');
  // The time of the deadline also passes while the pipeline is paused.
  await pause('pipeline/bound');
  const held = await call('/pipeline/bound', { deadline: '200ms' });
  expect((await gateway.settled(held.job_id)).status).toBe('timed_out');
});

test('the message of a deadline has no delay in it', async () => {
  const late = await call('/pipeline/bound', { payload: { gate: 'never' }, delay: '300ms', deadline: '200ms' });
  expect(await gateway.settled(late.job_id)).toMatchObject({
    status: 'timed_out',
    last_error: 'the run did not end within its deadline of 200ms',
  });
});

test('a rerun has the options of its job but its time, unless the call gives others', async () => {
  const job = await call('/plugin/echo/say', { payload: { n: 7 }, delay: '1ms', expires: '1h' });
  await gateway.settled(job.job_id);
  const again = await call(`/job/${job.job_id}/rerun`, {});
  expect(again.run_at).toBeUndefined();
  expect(msBetween(again.created_at, again.expires_at)).toBe(3_600_000);
  const later = await call(`/job/${job.job_id}/rerun`, { delay: '1d', expires: '2h' });
  expect(msBetween(later.run_at, later.expires_at)).toBe(7_200_000);
  await gateway.call('POST', `/job/${later.job_id}/cancel`);
  const run = await call('/pipeline/two?async=true', {});
  await gateway.settled(run.job_id);
  const reused = await call(`/job/${run.job_id}/rerun`, { from: 'failed', delay: '100ms' });
  expect(await gateway.settled(reused.job_id)).toMatchObject({ status: 'succeeded', counts: { reused: 2 } });
});

test('the command line has the options, and does not wait for what is delayed', async () => {
  const run = async (...words: string[]) =>
    headgate([...words, '--url', gateway.url], { env: { HEADGATE_TOKEN: everythingToken } });
  const single = await run('plugin', 'run', 'echo', 'say', '--delay', '1d', '--expires', '1h', '--deadline', '2h');
  expect([single.status, single.stderr]).toEqual([0, '']);
  const id = single.stdout.trim();
  const job = (await gateway.job(id)) as Timed;
  expect(msBetween(job.run_at, job.expires_at)).toBe(3_600_000);
  expect(msBetween(job.run_at, job.deadline_at)).toBe(7_200_000);
  expect((await run('job', 'why', id)).stdout).toMatch(
    /^echo\.say is delayed: its time to run has not come \(since .*, until /,
  );
  expect((await run('job', 'reschedule', id, '--run-at', '2020-01-01T00:00:00Z')).stdout).toMatch(/ runs at 20/);
  expect((await gateway.settled(id)).status).toBe('succeeded');
  const none = await run('job', 'reschedule', id);
  expect([none.status !== 0, none.stderr]).toEqual([
    true,
    expect.stringMatching(/run_at \(a time\) or \/delay \(a duration\) is required/),
  ]);
  const file = join(gateway.directory, 'lines.ndjson');
  writeFileSync(file, '{"n":1}\n{"n":2}\n');
  const batch = await run('plugin', 'run', 'echo', 'say', '--batch', file, '--run-at', '2020-01-01T00:00:00Z');
  for (const one of batch.stdout.trim().split('\n'))
    expect(await gateway.settled(one)).toMatchObject({ status: 'succeeded', run_at: '2020-01-01T00:00:00.000000Z' });
});

test('the tables agree with each other', async () => {
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
});
