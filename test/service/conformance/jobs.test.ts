// Section 4.2 of sentences.ts: jobs, their trees and their logs.
import { beforeAll, expect, test } from 'vitest';
import { type Job, shareGateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { moment, noJob, read, scopesThatMay, settings, tokenOf, uuid, whole } from './service.ts';

const gateway = shareGateway(settings);

type Row = { readonly job_id: string; readonly created_at: string; readonly completed_at: string };
type List = { readonly rows: readonly Row[]; readonly total: number };

let looked: Job;
let failed: Job;
let dead: Job;
let noisy: Job;
let run: Job;

beforeAll(async () => {
  looked = await gateway.finished('echo/look', { text: 'a rare heron' });
  failed = await gateway.finished('failing/handle', { retry: false, message: 'a rare kingfisher' });
  dead = await gateway.finished('failing/handle');
  noisy = await gateway.finished('noisy/handle');
  run = await gateway.ran('prompt');
  const token = tokenOf('plugin:rw');
  const { body } = await gateway.call('POST', '/plugin/echo/measure', { payload: { n: 1 } }, { token });
  await gateway.settled(String(body['job_id']));
});

async function list(path: string): Promise<List> {
  const { jobs, logs, total } = await read(gateway, path);
  return { rows: (jobs ?? logs) as Row[], total: total as number };
}

const idsOf = ({ rows }: List) => rows.map(({ job_id }) => job_id);

async function expectFound(path: string, jobs: readonly Job[]): Promise<void> {
  const found = await list(path);
  expect({ path, ids: idsOf(found), total: found.total }).toEqual({
    path,
    ids: jobs.map(({ job_id }) => job_id),
    total: jobs.length,
  });
}

test('GET /job/{job_id} returns the job with its fields', async () => {
  expect(await read(gateway, `/job/${looked.job_id}`)).toMatchObject({
    ...{ job_id: looked.job_id, status: 'succeeded', plugin: 'echo', command: 'look', submitted_by: 'api:test' },
    ...{ created_at: moment, started_at: moment, completed_at: moment, result: { result: { text: 'a rare heron' } } },
  });
});

test('GET /job/{job_id} is 404 when the id does not exist', async () => {
  for (const id of [noJob, 'none', '7']) expect((await gateway.call('GET', `/job/${id}`)).status).toBe(404);
});

test('GET /job/{job_id}/tree is an array of the root and all child jobs', async () => {
  const tree = await read(gateway, `/job/${run.job_id}/tree`);
  expect(tree).toMatchObject([{ job_id: run.job_id }, { command: 'handle' }, { command: 'look' }]);
  expect(await read(gateway, `/job/${looked.job_id}/tree`)).toMatchObject([{ job_id: looked.job_id }]);
});

test('a job of the tree has its fields, and a parent_job_id that is null for the root', async () => {
  const fields = { job_id: uuid, status: 'succeeded', result: expect.any(Object) };
  const times = { started_at: moment, completed_at: moment };
  expect(await read(gateway, `/job/${run.job_id}/tree`)).toEqual([
    { ...fields, ...times, parent_job_id: null, plugin: 'pipeline', command: 'prompt', counts: expect.any(Object) },
    { ...fields, ...times, parent_job_id: run.job_id, plugin: 'echo', command: 'handle' },
    { ...fields, ...times, parent_job_id: uuid, plugin: 'echo', command: 'look' },
  ]);
});

test('GET /jobs needs jobs:ro, jobs:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/jobs')).toEqual(['*', 'jobs:ro', 'jobs:rw']);
});

test('GET /jobs filters by plugin and command, exactly', async () => {
  await expectFound('/jobs?plugin=noisy', [noisy]);
  await expectFound('/jobs?plugin=failing&command=handle', [dead, failed]);
  await expectFound('/jobs?command=prompt', [run]);
  for (const query of ['plugin=nois', 'plugin=NOISY', 'command=prom', 'plugin=noisy&command=look'])
    await expectFound(`/jobs?${query}`, []);
});

test('GET /jobs filters by status, native or alias', async () => {
  await expectFound('/jobs?status=dead', [dead]);
  for (const status of ['failed', 'error']) await expectFound(`/jobs?status=${status}`, [failed]);
  for (const status of ['queued', 'pending', 'running', 'timed_out']) await expectFound(`/jobs?status=${status}`, []);
  expect(await list('/jobs?status=ok')).toEqual(await list('/jobs?status=succeeded'));
});

test('GET /jobs gives as many as limit says', async () => {
  const all = await list('/jobs');
  expect(all.rows).toHaveLength(all.total);
  expect(await list('/jobs?limit=3')).toEqual({ rows: all.rows.slice(0, 3), total: all.total });
});

test('GET /jobs has jobs with their fields, and total', async () => {
  expect(await read(gateway, '/jobs?status=dead')).toEqual({
    jobs: [
      {
        ...{ job_id: dead.job_id, plugin: 'failing', command: 'handle', status: 'dead', attempt: 2 },
        ...{ created_at: moment, started_at: moment, completed_at: moment },
      },
    ],
    total: 1,
  });
});

test('GET /jobs is ordered by created_at, descending', async () => {
  const times = (await list('/jobs')).rows.map(({ created_at }) => created_at);
  expect(times.length).toBeGreaterThan(5);
  expect(times).toEqual(times.toSorted().reverse());
});

test('GET /job-logs needs jobs:ro, jobs:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/job-logs')).toEqual(['*', 'jobs:ro', 'jobs:rw']);
});

test('GET /job-logs filters by job_id', async () => {
  await expectFound(`/job-logs?job_id=${noisy.job_id}`, [noisy]);
  await expectFound(`/job-logs?job_id=${dead.job_id}`, [dead, dead]);
  await expectFound(`/job-logs?job_id=${noJob}`, []);
});

test('GET /job-logs filters by plugin and command, exactly', async () => {
  await expectFound('/job-logs?plugin=noisy', [noisy]);
  await expectFound('/job-logs?plugin=failing&command=handle', [dead, dead, failed]);
  for (const query of ['plugin=nois', 'plugin=NOISY', 'command=measur', 'plugin=noisy&command=look'])
    await expectFound(`/job-logs?${query}`, []);
});

test('GET /job-logs filters by status, with the values of GET /jobs', async () => {
  await expectFound('/job-logs?status=dead', [dead]);
  // The first attempt of the dead job failed, and that is what its log says.
  for (const status of ['failed', 'error']) await expectFound(`/job-logs?status=${status}`, [dead, failed]);
  for (const status of ['queued', 'pending', 'running']) await expectFound(`/job-logs?status=${status}`, []);
  expect(await list('/job-logs?status=ok')).toEqual(await list('/job-logs?status=succeeded'));
});

test('GET /job-logs filters by submitted_by, exactly', async () => {
  expect((await list('/job-logs?submitted_by=api:test')).total).toBeGreaterThan(5);
  expect((await list('/job-logs?submitted_by=api:plugin_rw')).total).toBe(1);
  await expectFound('/job-logs?submitted_by=api', []);
});

test('from is the lower bound on completed_at', async () => {
  const { rows } = await list('/job-logs');
  const later = rows.filter(({ completed_at }) => completed_at >= noisy.completed_at!);
  expect((await list(`/job-logs?from=${noisy.completed_at}`)).rows).toEqual(later);
  expect(later.length).toBeLessThan(rows.length);
  await expectFound('/job-logs?from=2999-01-01T00:00:00Z', []);
});

test('to is the upper bound on completed_at', async () => {
  const { rows } = await list('/job-logs');
  const earlier = rows.filter(({ completed_at }) => completed_at <= noisy.completed_at!);
  expect((await list(`/job-logs?to=${noisy.completed_at}`)).rows).toEqual(earlier);
  expect(earlier.length).toBeLessThan(rows.length);
  await expectFound('/job-logs?to=2020-01-01T00:00:00%2B01:00', []);
});

test('query searches the text of last_error, stderr and result', async () => {
  await until('all is indexed', async () => (await list('/job-logs?query=rare')).total === 2);
  await expectFound('/job-logs?query=kingfisher', [failed]);
  await expectFound('/job-logs?query=murmur', [noisy]);
  await expectFound('/job-logs?query=rare%20heron', [looked]);
  await expectFound('/job-logs?query=rare', [failed, looked]);
  await expectFound('/job-logs?query=eagle', []);
});

test('GET /job-logs gives as many as limit says', async () => {
  const all = await list('/job-logs');
  expect(all.rows).toHaveLength(all.total);
  expect(await list('/job-logs?limit=3')).toEqual({ rows: all.rows.slice(0, 3), total: all.total });
});

test('include_result includes full result payloads', async () => {
  const { result } = looked;
  const { logs } = await read(gateway, `/job-logs?job_id=${looked.job_id}&include_result=true`);
  expect(logs).toMatchObject([{ result }]);
});

test('GET /job-logs has logs, and total', async () => {
  const answer = await read(gateway, '/job-logs');
  expect(answer).toEqual({ logs: expect.any(Array), total: whole });
});

test('GET /job-logs is ordered by completed_at, descending', async () => {
  const times = (await list('/job-logs')).rows.map(({ completed_at }) => completed_at);
  expect(times.length).toBeGreaterThan(5);
  expect(times).toEqual(times.toSorted().reverse());
});
