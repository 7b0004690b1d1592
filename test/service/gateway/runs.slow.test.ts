// What one sees of a job and of a run: what they were given, what became of the jobs inside, and what failed first.
import { expect, test } from 'vitest';
import { countedMax } from '../../../actors/job/views/job-page.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { canary } from '../canary/canary.ts';
import { everythingToken } from './configuration.ts';
import { shareGateway } from './gateway.ts';
import { echo, step, worker } from './sources.ts';
import { until } from './until.ts';

const env = { HEADGATE_TOKEN: everythingToken };
const nowhere = '0198c0de-0000-7000-8000-000000000000';
const statusToken = canary('token for the status of jobs');
const uses = (id: string, more: object = {}) => ({ id, uses: 'step', ...more });

const fan = [uses('each', { foreach: 'payload.list', on_error: 'continue' }), uses('all', { join: 'all' })];

const gateway = shareGateway({
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'status', token: statusToken, scopes: ['jobs:status:ro'] },
      ],
    },
  },
  plugins: { step, worker, echo },
  instances: { step: { retry: { max_attempts: 1 } }, patient: { uses: 'step', retry: { backoff_base: '1h' } } },
  pipelines: [
    { name: 'callee', on: 'callee', steps: [uses('inner', { foreach: 'payload.list', on_error: 'continue' })] },
    { name: 'caller', on: 'caller', steps: [uses('first'), { id: 'calling', call: 'callee' }] },
    { name: 'told', on: 'news', steps: [uses('hear')] },
    {
      name: 'held',
      on: 'held',
      steps: [{ split: [[uses('fails', { on_error: 'continue' })], [{ id: 'holds', uses: 'worker' }]] }],
    },
    { name: 'fan', on: 'fan', steps: fan },
    { name: 'fan_and_wait', on: 'fan_and_wait', execution_mode: 'synchronous', steps: fan },
  ],
});

test('a job shows what it was given, and its place in the run', async () => {
  const id = await gateway.run('fan', { list: ['a', 'b', 'c'] });
  await gateway.settled(id);
  const tree = await gateway.tree(id);
  const shown = await Promise.all(tree.map(async ({ job_id }) => (await gateway.call('GET', `/job/${job_id}`)).body));
  expect(shown[0]).toMatchObject({
    payload: { list: ['a', 'b', 'c'] },
    run_id: null,
    event: { type: 'api.trigger' },
  });
  const each = shown.filter(job => job['step_id'] === 'each');
  expect(each.map(job => [job['index'], (job['payload'] as { item: string }).item])).toEqual([
    [0, 'a'],
    [1, 'b'],
    [2, 'c'],
  ]);
  const result = (await gateway.job(String(each[1]!['job_id']))).result!.result as { type: string; payload: object };
  expect(each[1]).toMatchObject({
    ...{ pipeline: 'fan', run_id: id, context: {} },
    payload: result.payload,
    event: { type: result.type, event_id: expect.any(String), source: expect.any(String) },
  });
});

test.each([
  ['of a call', 'echo/say', { text: 'x'.repeat(70_000) }],
  ['of an event', 'echo/handle', { text: 'y'.repeat(70_000) }],
])('a payload %s over 64 KiB is shown to those who ask for it', async (_, command, payload) => {
  const { job_id: id } = await gateway.finished(command, payload);
  const { body: plain } = await gateway.call('GET', `/job/${id}`);
  expect(plain).toMatchObject({ omitted: ['payload'], context: {} });
  expect(plain).not.toHaveProperty('payload');
  const { body: whole } = await gateway.call('GET', `/job/${id}?include=payload`);
  expect(whole).toMatchObject({ payload });
  expect(whole).not.toHaveProperty('omitted');
  const { status, body: refusal } = await gateway.call('GET', `/job/${id}?include=results`);
  expect([status, refusal['detail']]).toEqual([400, 'the query parameter "include" must be payload']);
});

test('a result over 64 KiB is left out for those who ask for short ones', async () => {
  const text = 'r'.repeat(70_000);
  const { job_id: id } = await gateway.finished('echo/say', { text });
  const { body: short } = await gateway.call('GET', `/job/${id}?result=short`);
  expect(short).toMatchObject({ status: 'succeeded', omitted: ['payload', 'result'] });
  expect(short).not.toHaveProperty('result');
  expect((await gateway.call('GET', `/job/${id}`)).body).toHaveProperty('result');
  const { job_id: small } = await gateway.finished('echo/say', { text: 'r' });
  expect((await gateway.call('GET', `/job/${small}?result=short`)).body).toHaveProperty('result');
});

test('a job that waits shows its payload too, and those who may not see results see no input', async () => {
  const payload = { gate: 'input', text: 'z'.repeat(30_000) };
  const held = await Promise.all([1, 2, 3].map(() => gateway.submit('worker/handle', payload)));
  expect(await gateway.waiting(held[2]!, 'worker')).toMatchObject({ status: 'queued', payload });
  const bare = await gateway.waiting(`${held[2]}?include=payload`, 'worker', { token: statusToken });
  expect(bare['job_id']).toBe(held[2]);
  for (const name of ['payload', 'context', 'event', 'run_id', 'result']) expect(bare).not.toHaveProperty(name);
  gateway.open('input');
  await Promise.all(held.map(id => gateway.settled(id)));
});

const list = async (query: string) => (await gateway.call('GET', `/jobs?${query}`)).body as unknown as Page;
type Page = {
  readonly jobs: readonly { readonly job_id: string; readonly plugin: string; readonly counts?: object }[];
  readonly total: number;
  readonly next_cursor?: string;
  readonly searched_to?: string;
};

test('a run says how the jobs inside ended, wherever it is shown', async () => {
  const failing = { fail: 'as asked' };
  const run = await gateway.ran('fan', { list: [{}, failing, {}, failing, {}] });
  const counts = { succeeded: 4, failed: 2, timed_out: 0, dead: 0, cancelled: 0 };
  expect(run).toMatchObject({ status: 'succeeded', counts });
  expect((await gateway.tree(run.job_id))[0]).toMatchObject({ counts });
  const { jobs } = await list('plugin=pipeline&command=fan&limit=1');
  expect(jobs[0]).toMatchObject({ job_id: run.job_id, counts });
  const { body } = await gateway.call('POST', '/pipeline/fan_and_wait', { payload: { list: [failing, {}] } });
  expect(body).toMatchObject({ status: 'succeeded', counts: { succeeded: 2, failed: 1 } });
});

test('a run counts the jobs of the runs that it calls, and not those of runs that its events start', async () => {
  const items = [{ fail: 'first' }, {}, { emit: [{ type: 'news' }] }];
  const run = await gateway.ran('caller', { result: { list: items } });
  // Counted are the job of the first step, the called run, and the three jobs of the called run.
  expect(run).toMatchObject({
    status: 'succeeded',
    counts: { succeeded: 4, failed: 1, timed_out: 0, dead: 0, cancelled: 0 },
  });
  const inside = await list(`run=${run.job_id}`);
  expect(inside.total).toBe(5);
  expect(inside.jobs.map(({ plugin }) => plugin).sort()).toEqual(['pipeline', 'step', 'step', 'step', 'step']);
  // The run that the event `news` started, and its job, also belong to the tree.
  expect((await list(`root=${run.job_id}`)).total).toBe(8);
  const called = inside.jobs.find(({ plugin }) => plugin === 'pipeline')!;
  expect((await list(`run=${called.job_id}`)).total).toBe(3);
});

test('a run that goes on says how many of its jobs are left, after a kill too', async () => {
  const id = await gateway.run('held', { gate: 'left', fail: 'as asked' });
  await expect.poll(() => gateway.job(id)).toMatchObject({ counts: { failed: 1, unsettled: 1 } });
  await gateway.restart();
  expect(await gateway.job(id)).toMatchObject({ counts: { succeeded: 0, failed: 1, unsettled: 1 } });
  expect(await list(`run=${id}&plugin=worker`)).toMatchObject({ total: 1 });
  gateway.open('left');
  expect(await gateway.settled(id)).toMatchObject({ counts: { succeeded: 1, failed: 1 } });
});

test('the jobs of one run are listed by status, and page by page', async () => {
  const items = Array.from({ length: 25 }, (_, k) => (k % 5 === 0 ? { fail: `number ${k}` } : {}));
  const run = await gateway.ran('fan', { list: items });
  await gateway.ran('fan', { list: items });
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await list(`run=${run.job_id}&status=failed&limit=2${cursor}`);
    expect(page.total).toBe(5);
    seen.push(...page.jobs.map(job => job.job_id));
    if (page.next_cursor === undefined) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  const failed = (await gateway.tree(run.job_id)).filter(({ status }) => status === 'failed');
  expect(seen).toEqual(
    failed
      .map(job => job.job_id)
      .sort()
      .reverse(),
  );
  expect(await list(`run=${run.job_id}&plugin=step`)).toMatchObject({ total: 26 });
  expect(await list(`parent=${run.job_id}&limit=3`)).toMatchObject({ total: 26, next_cursor: expect.any(String) });
  expect(await list(`root=${failed[0]!.job_id}`)).toMatchObject({ total: 0, jobs: [] });
  // Several filters have to match together.
  const other = await gateway.ran('fan', { list: [{}] });
  expect(await list(`run=${run.job_id}&parent=${run.job_id}&root=${run.job_id}`)).toMatchObject({ total: 26 });
  expect(await list(`run=${run.job_id}&root=${other.job_id}`)).toMatchObject({ total: 0 });
});

test('jobs are found by the words of their last error, alone and together with other filters', async () => {
  const items = [{ fail: 'the Coffee is cold' }, { fail: 'the tea is cold' }, {}, { fail: 'coffee, cold and old' }];
  const [first, second] = await Promise.all([
    gateway.ran('fan', { list: items }),
    gateway.ran('fan', { list: items.slice(0, 2) }),
  ]);
  const before = new Date(Date.now() - 60_000).toISOString();
  const all = await list('error=coffee');
  expect(all).toMatchObject({ total: 3, searched_to: expect.any(String) });
  expect(all.searched_to! > before).toBe(true);
  expect(all.jobs.map(({ job_id: id }) => id)).toEqual(
    all.jobs
      .map(({ job_id: id }) => id)
      .toSorted()
      .reverse(),
  );
  expect(await list('error=%22coffee%20is%20cold%22')).toMatchObject({ total: 2 });
  expect(await list('error=coff*&plugin=step&command=handle&status=failed')).toMatchObject({ total: 3 });
  expect(await list(`error=coffee&run=${first.job_id}`)).toMatchObject({ total: 2 });
  expect(await list(`error=cold&root=${first.job_id}&parent=${first.job_id}`)).toMatchObject({ total: 3 });
  expect(await list(`error=cold&run=${second.job_id}&limit=1`)).toMatchObject({
    total: 2,
    next_cursor: expect.any(String),
  });
  for (const none of ['status=dead', 'status=succeeded', 'plugin=echo', `run=${nowhere}`, 'error=milk'])
    expect(await list(none.startsWith('error') ? none : `error=cold&${none}`)).toMatchObject({ total: 0, jobs: [] });
  // Words of a result or a payload are no error.
  expect(await list('error=payload')).toMatchObject({ total: 0 });
});

test('a job that waits for its next attempt is found by the error of the last one', async () => {
  const id = await gateway.submit('patient/handle', { fail: 'impatience', retry: true });
  await expect.poll(() => list('error=impatience')).toMatchObject({ jobs: [{ job_id: id, status: 'queued' }] });
  expect(await list('error=impatience&status=queued')).toMatchObject({ total: 1 });
  expect(await list('error=impatience&status=failed')).toMatchObject({ total: 0 });
});

test('the failures of a run are counted up to a limit', async () => {
  const list10100 = Array.from({ length: countedMax + 100 }, () => ({ fail: 'multitude' }));
  const { job_id: run } = await gateway.ran('fan', { list: list10100 });
  for (const query of [`run=${run}&status=failed`, `run=${run}&error=multitude`, 'error=multitude&plugin=step']) {
    const page = await list(`${query}&limit=2`);
    expect(page).toMatchObject({ total: countedMax, total_at_least: true, next_cursor: expect.any(String) });
    expect(page.jobs).toHaveLength(2);
  }
  expect(await list(`run=${run}`)).toMatchObject({ total: countedMax + 101 });
  const { stderr } = await headgate(['job', 'list', '--error', 'multitude', '--limit', '1', '--url', gateway.url], {
    env,
  });
  expect(stderr).toContain(`1 of ${countedMax} or more`);
});

test.each([
  ['run=x', 'the query parameter "run" must be the id of a job'],
  [`error=${'x'.repeat(1_025)}`, 'the query parameter "error" must be at most 1024 characters long'],
])('/jobs?%.20s is refused', async (query, detail) => {
  expect(await gateway.call('GET', `/jobs?${query}`)).toMatchObject({ status: 400, body: { detail } });
});

test('a tree that there is not has no jobs', async () => {
  for (const of of ['run', 'root', 'parent']) expect(await list(`${of}=${nowhere}`)).toMatchObject({ total: 0 });
});

test('events start runs of a pipeline also while a pause refuses calls of it; these runs wait', async () => {
  await gateway.call('POST', '/control/pipeline/told/pause', { reject: true });
  expect((await gateway.call('POST', '/pipeline/told', {})).body).toMatchObject({ status: 503, code: 'paused' });
  const teller = await gateway.submit('step/handle', { emit: [{ type: 'news', payload: {} }] });
  const run = await until('the event has started a run', async () => {
    const { jobs } = await list(`root=${teller}&command=told`);
    return jobs[0]?.job_id;
  });
  await gateway.waiting(run, 'paused');
  await gateway.call('POST', '/control/pipeline/told/resume');
  expect((await gateway.settled(run)).status).toBe('succeeded');
});
