// Cancels as users see them (docs/engine.md#cancel): jobs that wait, jobs that run, and runs with all that is inside.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { openSource } from '../../feature/events/reader.ts';
import { canary } from '../canary/canary.ts';
import { everythingToken } from './configuration.ts';
import { type Gateway, shareGateway } from './gateway.ts';
import { echo, failing, journal, step, worker } from './sources.ts';
import { until } from './until.ts';

const env = { HEADGATE_TOKEN: everythingToken };
const readToken = canary('token that may read jobs');
const nowhere = '0198c0de-0000-7000-8000-000000000000';
const slow = { backoff_base: '24h', backoff_max: '24h' };
const uses = (id: string, more: object = {}) => ({ id, uses: 'step', ...more });

/** Once it is cancelled, waits for the gate that its payload names, and succeeds. Without a gate it ends only if its thread is stopped. */
const tidy = `${journal}
export async function handle(request, { signal }) {
  const { gate: name, isQuick } = request.event.payload;
  note(request, 'start');
  if (isQuick) return { result: 'quick' };
  await new Promise(heard => signal.addEventListener('abort', heard));
  note(request, 'heard');
  if (name === undefined) await new Promise(() => setInterval(() => {}, 1_000));
  await gate(name);
  await pause(100);
  return { result: 'tidied' };
}
`;

const gateway = shareGateway({
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'reader', token: readToken, scopes: ['jobs:ro', 'plugin:rw'] },
      ],
    },
  },
  service: { max_workers: 2 },
  plugins: {
    ...{ echo, failing, step, worker },
    tidy: { code: tidy, commands: { handle: { retry_safe: false } } },
    // Ignores SIGTERM, so a cancel takes 5 s to end it.
    deaf: {
      code: '#!/bin/sh\ntrap \'\' TERM\n: >"$(dirname "$0")/../../deaf"\nsleep 60\n',
      entrypoint: 'main.sh',
      runtime: 'process',
      commands: { run: {} },
    },
  },
  instances: {
    single: { uses: 'worker', parallelism: 1 },
    patient: { uses: 'failing', retry: { max_attempts: 4, ...slow } },
    hearing: { uses: 'worker' },
    deaf: { parallelism: 1 },
  },
  pipelines: [
    { name: 'line', on: 'line', steps: [{ id: 'first', uses: 'single' }, uses('second')] },
    {
      name: 'fan',
      on: 'fan',
      steps: [{ id: 'each', uses: 'single', foreach: 'payload.list' }, uses('all', { join: 'all' })],
    },
    {
      name: 'outer',
      on: 'outer',
      steps: [
        { id: 'calling', call: 'fan', foreach: 'payload.lists', with: { list: '{payload.item.list}' } },
        uses('after'),
      ],
    },
    { name: 'stubborn', steps: [{ id: 'each', uses: 'deaf.run', foreach: 'payload.list' }] },
    { name: 'asked', on: 'asked', execution_mode: 'synchronous', steps: [{ id: 'first', uses: 'single' }] },
    {
      name: 'lenient',
      on: 'lenient',
      steps: [
        { id: 'each', uses: 'single', foreach: 'payload.list', on_error: 'continue' },
        uses('all', { join: 'all' }),
      ],
    },
    { name: 'source', on: 'source', steps: [uses('tell'), { id: 'last', uses: 'single' }] },
    { name: 'heard_of', on: 'heard_of', steps: [uses('tell'), { id: 'last', uses: 'single' }] },
    {
      name: 'heard',
      on_hook: 'job.cancelled',
      steps: [{ id: 'only', uses: 'hearing', with: { name: '{payload.job_id}' } }],
    },
    {
      name: 'heard_run',
      on_hook: 'pipeline.cancelled',
      steps: [{ id: 'only', uses: 'hearing', with: { name: '{payload.job_id}' } }],
    },
  ],
});

type Detail = { readonly [key: string]: unknown };

async function cancel(id: string, body?: object, of: Gateway = gateway) {
  const answer = await of.call('POST', `/job/${id}/cancel`, body);
  return [answer.status, answer.body] as const;
}

async function detail(id: string): Promise<Detail> {
  return (await gateway.call('GET', `/job/${id}`)).body;
}

/** Occupies the only place of `single` until the gate is opened. */
async function occupy(gate: string): Promise<string> {
  onTestFinished(() => gateway.open(gate));
  const id = await gateway.submit('single/handle', { gate });
  await gateway.noted('start', id);
  return id;
}

test('a queued job ends in the commit, never runs, and says who cancelled it', async () => {
  const first = await occupy('queued');
  const id = await gateway.submit('single/handle');
  expect(await cancel(id, { reason: 'not needed' })).toEqual([200, { job_id: id, status: 'cancelled' }]);
  expect(await detail(id)).toMatchObject({
    status: 'cancelled',
    attempt: 0,
    started_at: null,
    cancel: { by: 'api:test', at: expect.any(String), reason: 'not needed' },
    last_error: 'cancelled by api:test: not needed',
  });
  expect(await cancel(id)).toEqual([200, { job_id: id, status: 'cancelled' }]);
  gateway.open('queued');
  const next = await gateway.finished('single/handle');
  expect((await gateway.settled(first)).status).toBe('succeeded');
  expect(gateway.notesOf(id)).toEqual([]);
  expect(next.status).toBe('succeeded');
});

test('a job that waits for its next attempt ends, and the attempt never comes', async () => {
  const id = await gateway.submit('patient/handle', { times: 1 });
  await until('it has failed once', async () => (await gateway.job(id)).last_error);
  expect((await cancel(id))[0]).toBe(200);
  expect(await detail(id)).toMatchObject({ status: 'cancelled', cancel: { by: 'api:test' } });
  const { body } = await gateway.call('GET', '/analytics/queue');
  expect(body).toMatchObject({ delayed_count: 0 });
  expect(gateway.notesOf(id)).toHaveLength(1);
});

test('what cannot be cancelled is told', async () => {
  const { job_id: done } = await gateway.finished('echo/handle');
  const [status, body] = await cancel(done);
  expect([status, body]).toEqual([
    409,
    expect.objectContaining({
      code: 'already_settled',
      job_status: 'succeeded',
      detail: 'the job has ended already: succeeded',
    }),
  ]);
  expect((await cancel(nowhere))[0]).toBe(404);
  expect((await cancel('nonsense'))[0]).toBe(404);
  const [wrong, problem] = await cancel(done, { reason: 7 });
  expect([wrong, problem['detail']]).toEqual([400, expect.stringContaining('/reason')]);
  expect((await cancel(done, { reason: 'x'.repeat(501) }))[0]).toBe(400);
  expect((await cancel(done, { force: true }))[0]).toBe(400);
  expect((await cancel(done, { detached: 'yes' }))[0]).toBe(400);
  const denied = await gateway.call('POST', `/job/${done}/cancel`, {}, { token: readToken });
  expect([denied.status, denied.body['detail']]).toEqual([403, expect.stringContaining('jobs:rw')]);
});

test('lists, logs, counters, events and hooks know the status', async () => {
  await occupy('lists');
  const id = await gateway.submit('single/handle');
  const before = (await gateway.call('GET', '/analytics/summary')).body['stats'] as Record<string, number>;
  await cancel(id);
  const after = (await gateway.call('GET', '/analytics/summary')).body['stats'] as Record<string, number>;
  expect(after['cancelled']).toBe(before['cancelled']! + 1);
  const listed = (await gateway.call('GET', '/jobs?status=cancelled&limit=1')).body;
  expect((listed['jobs'] as Detail[])[0]).toMatchObject({ job_id: id, status: 'cancelled', attempt: 0 });
  const logs = async (query: string) => (await gateway.call('GET', `/job-logs?${query}`)).body['logs'] as Detail[];
  const log = { job_id: id, log_id: `${id}-0`, status: 'cancelled', attempt: 0 };
  expect((await logs('status=cancelled'))[0]).toMatchObject(log);
  expect(await logs(`job_id=${id}`)).toMatchObject([log]);
  const all = (await gateway.call('GET', '/job-logs?limit=200')).body;
  expect((all['logs'] as Detail[]).some(({ job_id }) => job_id === id)).toBe(false);
  expect(all['total']).toBe((all['logs'] as Detail[]).length);
  await until('the hook has heard of it', () => gateway.journal().some(({ name }) => name === id));
  gateway.open('lists');
});

test('a job that succeeds all the same stays so, and shows the cancel', async () => {
  const id = await occupy('wins');
  gateway.open('wins');
  const answer = await cancel(id);
  const job = await gateway.settled(id);
  if (job.status === 'succeeded') expect([202, 409]).toContain(answer[0]);
  else expect([job.status, answer[0]]).toEqual(['cancelled', 202]);
});

test('a handler that hears of its cancel has a second: it may still succeed, and the job behind it in its thread runs undisturbed', async () => {
  gateway.open('tidied');
  // A handler has one second to end. On a busy machine it may be too late; then another job is cancelled.
  const [job, next] = await until('a handler ends within its second', async () => {
    const id = await gateway.submit('tidy/handle', { gate: 'tidied' });
    await gateway.noted('start', id);
    const behind = await gateway.submit('tidy/handle', { isQuick: true });
    expect(await cancel(id)).toMatchObject([202, { status: 'running' }]);
    const ends = await gateway.allSettled([id, behind]);
    return ends[0]!.status === 'succeeded' && ends;
  });
  expect(job).toMatchObject({ attempt: 1, result: { result: 'tidied' } });
  expect(next).toMatchObject({ status: 'succeeded', attempt: 1, result: { result: 'quick' } });
});

test('a handler that hears of its cancel, and goes on, is stopped after a second', async () => {
  // A handler has one second to end. On a busy machine it may learn of its cancel too late; then another job is cancelled.
  await until('a handler hears of its cancel', async () => {
    const id = await gateway.submit('tidy/handle');
    await gateway.noted('start', id);
    const startMs = performance.now();
    await cancel(id);
    expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
    expect(performance.now() - startMs).toBeGreaterThan(900);
    return gateway.notesOf(id).some(({ what }) => what === 'heard');
  });
});

test('a run ends with the jobs that wait; nothing of it starts any more, and no element that was left becomes a job', async () => {
  const blocker = await occupy('run');
  const events = await openSource(gateway, '?types=pipeline.cancelled');
  const run = await gateway.run('fan', { list: Array.from({ length: 20_000 }, (_, at) => ({ at })) });
  await until('it has jobs', async () => (await gateway.tree(run)).length > 10);
  const [status, body] = await cancel(run, { reason: 'too many' });
  expect([200, 202]).toContain(status);
  expect(body['job_id']).toBe(run);
  const settled = await gateway.settled(run);
  expect(settled).toMatchObject({ status: 'cancelled', last_error: 'cancelled by api:test: too many' });
  const { counts, cancel: who } = await detail(run);
  expect(who).toMatchObject({ by: 'api:test', reason: 'too many' });
  const inside = (await gateway.tree(run)).filter(({ plugin }) => plugin === 'single');
  expect(inside.every(job => job.status === 'cancelled')).toBe(true);
  expect(counts).toEqual({ succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: inside.length });
  expect(await detail(inside[0]!.job_id)).toMatchObject({ status: 'cancelled', cancel: { reason: 'too many' } });
  const jobs = inside.length;
  const event = await until('the event of the cancel', () => events.seen.find(({ data }) => data['job_id'] === run));
  expect(event.data).toMatchObject({ children_not_started: { jobs, elements: 20_000 - jobs } });
  await until('the hook has heard of the run', () => gateway.journal().some(({ name }) => name === run));
  expect(gateway.journal().some(({ name }) => name === inside[0]!.job_id)).toBe(false);
  gateway.open('run');
  expect((await gateway.settled(blocker)).status).toBe('succeeded');
});

test('while a run is being stopped, its documents say so; what has not started is cancelled at once', async () => {
  const run = await gateway.run('stubborn', { list: [{}, {}, {}] });
  await until('the first hears no signal', () => existsSync(join(gateway.directory, 'deaf')));
  const ids = (await gateway.tree(run)).slice(1).map(({ job_id }) => job_id);
  const stands = { job_id: run, status: 'running', cancelling: true };
  expect(await cancel(run)).toEqual([202, stands]);
  // All at once, because the first ends after 5 s.
  const looks = [detail(run), gateway.tree(run), cancel(run), Promise.all(ids.map(detail))] as const;
  const [left, [, ...jobs], again, inside] = await Promise.all(looks);
  expect(left).toMatchObject({ status: 'running', cancelling: expect.any(Number), cancel: { by: 'api:test' } });
  expect(left['cancelling']).toBeGreaterThanOrEqual(1);
  const cancelling = [{ status: 'running', cancelling: true }, { status: 'cancelled' }, { status: 'cancelled' }];
  expect(inside).toMatchObject(cancelling);
  expect(jobs).toMatchObject(cancelling.map(({ status }) => ({ status })));
  expect(again).toEqual([202, stands]);
  await gateway.settled(run);
  for (const id of [run, ...ids]) {
    const end = await detail(id);
    expect([end['status'], end['cancelling']]).toEqual(['cancelled', undefined]);
  }
});

test('called runs are inside, and a step after them never starts', async () => {
  await occupy('called');
  const list = [{}, {}];
  const run = await gateway.run('outer', { lists: [{ list }, { list }] });
  await until('the called runs have jobs', async () => (await gateway.tree(run)).length === 7);
  await cancel(run);
  expect((await gateway.settled(run)).status).toBe('cancelled');
  const own = (await gateway.tree(run)).filter(
    ({ plugin, command }) => plugin === 'single' || ['outer', 'fan'].includes(command),
  );
  expect(own.map(job => job.status)).toEqual(Array(7).fill('cancelled'));
  gateway.open('called');
});

/** Three runs: one by a call, and two that each start by an event of the run before. A job of each waits for the one place of `single`. */
async function lineOfRuns(): Promise<string[]> {
  const told = { type: 'heard_of', payload: {} };
  const run = await gateway.run('source', { emit: [{ type: 'heard_of', payload: { emit: [told] } }] });
  const tree = await until('three jobs wait', async () => {
    const jobs = await gateway.tree(run);
    return jobs.filter(({ plugin, status }) => plugin === 'single' && status === 'queued').length === 3 ? jobs : null;
  });
  return tree.flatMap(({ plugin, job_id }) => (plugin === 'pipeline' ? [job_id] : []));
}

test.each([
  ['go on', false],
  ['end with a detached cancel, also if the service is killed at once', true],
])('runs that events started %s', async (_, detached) => {
  await occupy(`events ${detached}`);
  const [source, ...others] = await lineOfRuns();
  const [status] = await cancel(source!, { detached, reason: 'all of it' });
  expect([200, 202]).toContain(status);
  if (detached) {
    const shown = await Promise.all(others.map(detail));
    expect(shown.map(({ cancel }) => cancel)).toMatchObject([{ reason: 'all of it' }, { reason: 'all of it' }]);
    await gateway.restart();
  } else
    expect(await Promise.all(others.map(async id => (await detail(id))['cancel']))).toEqual([undefined, undefined]);
  expect((await gateway.settled(source!)).status).toBe('cancelled');
  gateway.open(`events ${detached}`);
  const ended = await Promise.all(others.map(id => gateway.settled(id)));
  expect(ended.map(job => job.status)).toEqual(Array(2).fill(detached ? 'cancelled' : 'succeeded'));
  const last = (await gateway.tree(source!)).filter(({ plugin }) => plugin === 'single');
  expect(last.filter(({ job_id }) => gateway.notesOf(job_id).length > 0)).toHaveLength(detached ? 0 : 2);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

test('one cancelled child counts as not succeeded: on_error decides', async () => {
  await occupy('child');
  const run = await gateway.run('lenient', { list: [{ name: 'one' }, { name: 'two' }] });
  const [, child] = await until('it has two jobs', async () => {
    const tree = await gateway.tree(run);
    return tree.length === 3 ? tree : null;
  });
  expect((await cancel(child!.job_id))[0]).toBe(200);
  gateway.open('child');
  expect(await gateway.settled(run)).toMatchObject({ status: 'succeeded' });
  expect((await detail(run))['counts']).toMatchObject({ succeeded: 2, cancelled: 1 });
});

test('whoever waits for a run gets it cancelled', async () => {
  await occupy('waiter');
  const waiting = gateway.call('POST', '/pipeline/asked', {});
  const run = await until('it has begun', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=pipeline&command=asked&status=running');
    return (body['jobs'] as Detail[])[0]?.['job_id'] as string | undefined;
  });
  await cancel(run);
  const { status, body } = await waiting;
  expect([status, body['status'], body['job_id']]).toEqual([200, 'cancelled', run]);
  gateway.open('waiter');
});

test('a cancel outlives a kill: nothing of the run starts after it', async () => {
  const blocker = await occupy('kill');
  const run = await gateway.run('line');
  const waiting = await gateway.submit('single/handle');
  await cancel(waiting);
  await cancel(run);
  await gateway.restart();
  gateway.open('kill');
  expect((await gateway.settled(run)).status).toBe('cancelled');
  expect((await gateway.settled(waiting)).status).toBe('cancelled');
  await gateway.settled(blocker);
  const [, child] = await gateway.tree(run);
  expect(gateway.notesOf(waiting).concat(gateway.notesOf(child!.job_id))).toEqual([]);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

test('the command cancels several, waits if asked to, and says what had ended', async () => {
  await occupy('command');
  const [one, two] = [await gateway.submit('single/handle'), await gateway.submit('single/handle')];
  const words = ['job', 'cancel', one, two, '--reason', 'by hand', '--json', '--url', gateway.url];
  const run = await headgate(words, { env });
  expect([run.status, JSON.parse(run.stdout)]).toEqual([
    0,
    { jobs: [one, two].map(job_id => ({ job_id, status: 'cancelled' })) },
  ]);
  const { job_id: done } = await gateway.finished('echo/handle');
  const late = await headgate(['job', 'cancel', done, '--wait', '--url', gateway.url], { env });
  expect([late.status, late.stdout.trim()]).toEqual([1, `${done} succeeded: it had ended already`]);
  const three = await gateway.submit('single/handle');
  const mixed = await headgate(['job', 'cancel', nowhere, three, '--url', gateway.url], { env });
  expect([mixed.status, mixed.stdout.trim().split('\n')]).toEqual([
    1,
    [`${nowhere} not cancelled: there is no job "${nowhere}"`, `${three} cancelled`],
  ]);
  expect((await headgate(['job', 'cancel', nowhere, '--url', gateway.url], { env })).status).toBe(4);
  const shown = await headgate(['job', 'show', one, '--url', gateway.url], { env });
  expect(shown.stdout).toMatch(/cancel {3}by api:test at .*: by hand/);
  gateway.open('command');
});

test('a call that waits for a job that is cancelled ends with the exit status 6', async () => {
  await occupy('six');
  const words = ['plugin', 'run', 'single', 'handle', '--payload', '{"name":"six"}', '--url', gateway.url];
  const running = headgate(words, { env });
  const id = await until('it is queued', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=single&status=queued');
    return (body['jobs'] as Detail[])[0]?.['job_id'] as string | undefined;
  });
  await cancel(id);
  expect((await running).status).toBe(6);
  gateway.open('six');
});
