// GET /jobs and GET /job-logs (docs/contract.md#job-list): every filter, alias, bound and refusal, as a caller sees them.
import { beforeAll, expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, worker } from '../../service/gateway/sources.ts';

const failing = `
export const handle = ({ event }) => {
  return { status: 'error', error: 'failed as ' + event.payload.name, retry: event.payload.retry === true };
};
`;

const gateway = shareGateway({
  plugins: { echo, failing, worker, looping: 'export const handle = () => { for (;;); };' },
  instances: {
    failing: { retry: { max_attempts: 2, backoff_base: '1ms', backoff_max: '1ms' } },
    once: { uses: 'looping', timeouts: { handle: '60ms' }, retry: { max_attempts: 1 } },
    patient: { uses: 'failing', retry: { backoff_base: '24h', backoff_max: '24h' } },
    single: { uses: 'worker', parallelism: 1 },
  },
  pipelines: [{ name: 'small', on: 'small', steps: [{ id: 'one', uses: 'echo.say' }] }],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'logs', token: 'token-of-logs-only', scopes: ['jobs:logs:ro'] },
        { name: 'both', token: 'token-of-logs-and-results', scopes: ['jobs:logs:ro', 'jobs:result:ro'] },
      ],
    },
  },
});

type Row = { readonly [field: string]: unknown } & { readonly job_id: string; readonly log_id: string };
type List = { readonly jobs: Row[]; readonly logs: Row[]; readonly total: number; readonly next_cursor?: string };

async function list(path: string, token?: string): Promise<List> {
  const { status, body } = await gateway.call('GET', path, undefined, token ? { token } : {});
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body as unknown as List;
}

const ids: { [name: string]: string } = {};

beforeAll(async () => {
  for (const n of [1, 2, 3]) {
    ids[`echo${n}`] = await gateway.submit('echo/say', { n });
    await gateway.settled(ids[`echo${n}`]!);
  }
  for (const [name, command, payload] of [
    ['failed', 'failing/handle', { name: 'permanent' }],
    ['dead', 'failing/handle', { name: 'fleeting', retry: true }],
    ['timed_out', 'once/handle', {}],
  ] as const) {
    ids[name] = await gateway.submit(command, payload);
    await gateway.settled(ids[name]);
  }
  ids['run'] = await gateway.run('small', { n: 4 });
  await gateway.settled(ids['run']);
  ids['waiting'] = await gateway.submit('patient/handle', { name: 'patient', retry: true });
  ids['running'] = await gateway.submit('single/handle', { gate: 'never' });
  ids['queued'] = await gateway.submit('single/handle', { gate: 'never' });
  await gateway.noted('start', ids['running']);
  for (;;) if ((await list(`/job-logs?job_id=${ids['waiting']}`)).total === 1) break;
});

test('jobs are listed by created_at descending, with exactly the fields of the interface', async () => {
  const { jobs, total, next_cursor } = await list('/jobs');
  expect(total).toBe(11);
  expect(jobs).toHaveLength(11);
  expect(next_cursor).toBeUndefined();
  const times = jobs.map(job => String(job['created_at']));
  expect(times).toEqual(times.toSorted().reverse());
  const found = jobs.find(job => job.job_id === ids['dead']);
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/);
  expect(found).toEqual({
    job_id: ids['dead'],
    plugin: 'failing',
    command: 'handle',
    status: 'dead',
    created_at: moment,
    started_at: moment,
    completed_at: moment,
    attempt: 2,
  });
});

test('every row of the list says what the job itself says', async () => {
  for (const row of (await list('/jobs')).jobs) {
    expect(await gateway.job(row.job_id)).toMatchObject(row);
  }
});

test.each([
  ['plugin=echo', ['echo3', 'echo2', 'echo1'], 1],
  ['command=say', ['echo3', 'echo2', 'echo1'], 1],
  ['plugin=echo&command=say', ['echo3', 'echo2', 'echo1'], 1],
  ['plugin=echo&command=handle', []],
  ['plugin=nobody', []],
  ['plugin=pipeline', ['run']],
  ['plugin=pipeline&command=small', ['run']],
  ['status=failed', ['failed']],
  ['status=error', ['failed']],
  ['status=dead', ['dead']],
  ['status=timed_out', ['timed_out']],
  ['status=running', ['running']],
  ['status=queued', ['queued', 'waiting']],
  ['status=pending', ['queued', 'waiting']],
  ['status=queued&plugin=single', ['queued']],
  ['status=running&plugin=echo', []],
  ['status=succeeded&plugin=pipeline', ['run']],
  ['status=failed&plugin=failing&command=handle', ['failed']],
  ['status=failed&plugin=echo', []],
])('GET /jobs?%s', async (query, wanted, steps = 0) => {
  const { jobs, total } = await list(`/jobs?${query}`);
  // The step of the run is a job of echo too, and the newest.
  expect(jobs.slice(steps).map(job => job.job_id)).toEqual(wanted.map(name => ids[name]));
  expect(total).toBe(wanted.length + steps);
});

test('a job inside a run has the id of its step, and a direct job has none', async () => {
  const [inside] = (await list(`/jobs?parent=${ids['run']}`)).jobs;
  expect(inside).toMatchObject({ plugin: 'echo', command: 'say', step_id: 'one' });
  const direct = (await list('/jobs?plugin=echo&limit=200')).jobs.find(job => job.job_id === ids['echo1']);
  expect(direct).not.toHaveProperty('step_id');
});

test('ok stands for succeeded', async () => {
  expect(await list('/jobs?status=ok')).toEqual(await list('/jobs?status=succeeded'));
  expect((await list('/jobs?status=ok')).total).toBe(5);
  expect((await list('/job-logs?status=ok')).total).toBe(5);
});

test.each(['/jobs?limit=2', '/jobs?limit=1&status=ok', '/jobs?limit=2&plugin=echo', '/jobs?limit=1&status=pending'])(
  '%s goes on with next_cursor until all were seen once',
  async path => {
    const whole = (await list(path.replace(/limit=\d/, 'limit=200'))).jobs;
    const seen: Row[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: List = await list(path + (cursor && `&cursor=${cursor}`));
      expect(page.total).toBe(whole.length);
      seen.push(...page.jobs);
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(whole);
  },
);

test('logs are listed by completed_at descending, one for each attempt, with the fields of the interface', async () => {
  const { logs, total } = await list('/job-logs');
  expect(total).toBe(10);
  const times = logs.map(log => String(log['completed_at']));
  expect(times).toEqual(times.toSorted().reverse());
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/);
  const [second, first] = logs.filter(log => log.job_id === ids['dead']);
  expect(second).toEqual({
    job_id: ids['dead'],
    log_id: `${ids['dead']}-2`,
    plugin: 'failing',
    command: 'handle',
    status: 'dead',
    attempt: 2,
    submitted_by: 'api:test',
    created_at: moment,
    completed_at: moment,
    last_error: 'failed as fleeting',
    stderr: '',
  });
  expect(first).toMatchObject({ log_id: `${ids['dead']}-1`, status: 'failed', attempt: 1 });
  expect((await gateway.job(ids['dead']!)).created_at).toBe(second!['created_at']);
});

test.each([
  ['plugin=failing', 3],
  ['plugin=failing&command=handle', 3],
  ['command=say', 4],
  ['status=failed', 3],
  ['status=error', 3],
  ['status=dead', 1],
  ['status=timed_out', 1],
  ['status=queued', 0],
  ['status=running', 0],
  ['submitted_by=api:test', 10],
  ['submitted_by=api:test&status=failed&plugin=patient', 1],
  ['submitted_by=somebody', 0],
  ['job_id=nothing', 0],
  ['job_id=0198c0de-0000-7000-8000-000000000000', 0],
  ['from=2020-01-01T00:00:00Z', 10],
  ['to=2020-01-01T00:00:00%2B01:00', 0],
  ['from=2020-01-01T00:00:00Z&to=2019-01-01T00:00:00Z', 0],
])('GET /job-logs?%s', async (query, count) => {
  const { logs, total } = await list(`/job-logs?${query}`);
  expect(logs).toHaveLength(count);
  expect(total).toBe(count);
});

test('from and to include the moments that they name, to the microsecond', async () => {
  const { logs } = await list('/job-logs');
  const [last, middle] = [String(logs[2]!['completed_at']), String(logs[5]!['completed_at'])];
  const isFrom = (log: Row) => String(log['completed_at']) >= middle;
  const isTo = (log: Row) => String(log['completed_at']) <= last;
  const some = await list(`/job-logs?from=${middle}&to=${last}`);
  expect(some.logs).toEqual(logs.filter(log => isFrom(log) && isTo(log)));
  expect(some.total).toBe(some.logs.length);
  expect((await list(`/job-logs?to=${last}&status=ok`)).logs).toEqual(
    logs.filter(log => isTo(log) && log['status'] === 'succeeded'),
  );
  const later = logs.filter(log => String(log['completed_at']) > last).length;
  expect((await list(`/job-logs?from=${last.replace('Z', '001Z')}`)).total).toBe(later);
});

test.each(['limit=3', 'limit=1&status=failed', 'limit=2&submitted_by=api:test', 'limit=1&plugin=failing'])(
  '/job-logs?%s goes on with next_cursor until all were seen once',
  async query => {
    const whole = (await list(`/job-logs?${query.replace(/limit=\d/, 'limit=200')}`)).logs;
    const seen: Row[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: List = await list(`/job-logs?${query}${cursor && `&cursor=${cursor}`}`);
      expect(page.total).toBe(whole.length);
      seen.push(...page.logs);
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(whole);
  },
);

test('the logs of a job can be paged too', async () => {
  const path = `/job-logs?job_id=${ids['dead']}&limit=1`;
  const first = await list(path);
  const second = await list(`${path}&cursor=${first.next_cursor}`);
  expect([first, second].map(page => [page.total, page.logs[0]!['attempt'], page.next_cursor !== undefined])).toEqual([
    [2, 2, true],
    [2, 1, false],
  ]);
});

test('result is there only when include_result is true', async () => {
  const { logs } = await list(`/job-logs?job_id=${ids['echo2']}&include_result=true`);
  expect(logs[0]!['result']).toMatchObject({ status: 'ok', result: { n: 2 } });
  expect((await list(`/job-logs?job_id=${ids['echo2']}&include_result=false`)).logs[0]).not.toHaveProperty('result');
});

test('without the results scope result, last_error and stderr are left out, and query is refused', async () => {
  const { logs, total } = await list('/job-logs?include_result=true', 'token-of-logs-only');
  expect(total).toBe(10);
  for (const log of logs) for (const name of ['result', 'last_error', 'stderr']) expect(log).not.toHaveProperty(name);
  const refused = await gateway.call('GET', '/job-logs?query=x', undefined, { token: 'token-of-logs-only' });
  expect(refused.status).toBe(403);
  const allowed = await list('/job-logs?include_result=true&plugin=echo', 'token-of-logs-and-results');
  expect(allowed.logs[0]).toHaveProperty('result');
});

test('the list of jobs needs jobs:ro', async () => {
  expect((await gateway.call('GET', '/jobs', undefined, { token: 'token-of-logs-only' })).status).toBe(403);
  expect((await gateway.call('GET', '/jobs', undefined, { token: null })).status).toBe(401);
});

test.each([
  'limit=0',
  'limit=201',
  'limit=-1',
  'limit=1.5',
  'limit=ten',
  'limit=',
  'status=done',
  'status=OK',
  'status=',
  'cursor=',
  'cursor=x',
  'cursor=AAAAAAAAAAAAAAAAAAAAAAA',
  'colour=red',
  'limit=1&limit=2',
])('GET /jobs and /job-logs?%s is 400, naming it', async query => {
  for (const path of ['/jobs', '/job-logs']) {
    const { status, body } = await gateway.call('GET', `${path}?${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'invalid_query', detail: expect.stringContaining(query.split('=')[0]!) });
  }
});

test.each([
  'from=yesterday',
  'from=2026-02-30T00:00:00Z',
  'to=2026-01-01',
  'to=2026-01-01T00:00:00',
  'to=2026-01-01T24:00:00Z',
  'include_result=yes',
  'include_result=',
])('GET /job-logs?%s is 400, naming it', async query => {
  const { status, body } = await gateway.call('GET', `/job-logs?${query}`);
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'invalid_query', detail: expect.stringContaining(query.split('=')[0]!) });
});

test('a cursor of one list is none of the other', async () => {
  const { next_cursor } = await list('/jobs?limit=1');
  expect((await gateway.call('GET', `/job-logs?cursor=${next_cursor}`)).status).toBe(400);
});
