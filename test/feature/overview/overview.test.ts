// GET /overview: what is going on now, for tokens that may only read jobs; its figures agree with those of the lists and of the analytics.
import { expect, test } from 'vitest';
import {
  failureCharsMax,
  overviewGroupsMax,
  recentFailuresMax,
  trendMinutes,
} from '../../../service/reads/overview.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

const once = { max_attempts: 1 };
const gateway = shareGateway({
  plugins: { echo, failing, worker },
  instances: {
    breaking: { uses: 'failing', retry: once, breaker: { failures: 2, of: 4, for: '1h' } },
    failing: { retry: once },
    later: { uses: 'worker', parallelism: 1 },
    probing: { uses: 'failing', retry: once, breaker: { failures: 1, of: 1, for: '1ms' } },
    worker: { parallelism: 1 },
  },
  pipelines: [{ name: 'held', on: 'held', steps: [{ id: 'only', uses: 'later' }] }],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'viewer', token: 'token-of-a-viewer', scopes: ['jobs:ro'] },
      ],
    },
  },
});

type Lane = { readonly plugin: string; readonly queued_count: number; readonly [field: string]: unknown };
type Overview = {
  readonly captured_at: string;
  readonly counts: { readonly [status: string]: number };
  readonly queue: { readonly oldest_queued_at: string | null; readonly [field: string]: unknown };
  readonly recent: { readonly [field: string]: number | null };
  readonly trend: { readonly since: string; readonly settled: readonly number[]; readonly failed: readonly number[] };
  readonly lanes: readonly Lane[];
  readonly pauses: readonly { readonly by: string }[];
  readonly failures: readonly { readonly job_id: string; readonly last_error?: string }[];
  readonly failure_groups?: readonly { readonly fingerprint: string; readonly count: number }[];
};

async function overview(): Promise<Overview> {
  const { status, body } = await gateway.call('GET', '/overview', undefined, { token: 'token-of-a-viewer' });
  expect(status).toBe(200);
  return body as unknown as Overview;
}

const laneOf = ({ lanes }: Overview, plugin: string) => lanes.find(lane => lane.plugin === plugin)!;
const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
const ms = (at: unknown) => Date.parse(String(at));
const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'];

/** The totals of the list of jobs, by status. */
async function totals(): Promise<{ readonly [status: string]: unknown }> {
  const found: [string, unknown][] = [];
  for (const status of statuses) {
    found.push([status, (await gateway.call('GET', `/jobs?status=${status}&limit=1`)).body['total']]);
  }
  return Object.fromEntries(found);
}

test('a service with nothing to do has zeros everywhere, and nulls where nothing was measured', async () => {
  const seen = await overview();
  expect(seen).toMatchObject({
    counts: Object.fromEntries(statuses.map(status => [status, 0])),
    queue: { queue_depth: 0, running_count: 0, oldest_queued_at: null, max_workers: 2, utilization: 0 },
    recent: { settled_count: 0, per_second: 0, error_rate: null, run_p95_us: null, queue_p95_us: null },
    pauses: [],
    failures: [],
    failure_groups: [],
  });
  const { since, settled, failed } = seen.trend;
  expect([settled, failed]).toEqual([Array(trendMinutes).fill(0), Array(trendMinutes).fill(0)]);
  expect([ms(since) % 60_000, Math.floor((ms(seen.captured_at) - ms(since)) / 60_000)]).toEqual([0, trendMinutes - 1]);
  const idle = { queued_count: 0, active_count: 0, held_count: 0, oldest_queued_at: null };
  expect(seen.lanes).toEqual(
    ['breaking', 'echo', 'failing', 'later', 'probing', 'worker'].map(plugin => ({
      plugin,
      ...idle,
      limit: plugin === 'worker' || plugin === 'later' ? 1 : null,
      run_p95_us: null,
      queue_p95_us: null,
      ...((plugin === 'breaking' || plugin === 'probing') && { breaker: 'closed' }),
    })),
  );
});

test('lanes say what waits, since when and why; counts are the totals of the list of jobs', async () => {
  await gateway.call('POST', '/control/plugin/echo/pause', { reason: 'a test' });
  const paused = await gateway.job(await gateway.submit('echo/handle'));
  await gateway.submit('echo/say');
  const running = await gateway.submit('worker/handle', { gate: 'lanes' });
  await gateway.noted('start', running);
  const queued = await gateway.job(await gateway.submit('worker/handle'));
  await gateway.submit('worker/handle');
  const run = await gateway.run('held', { gate: 'lanes' });
  await gateway.noted('start', 2);

  const seen = await overview();
  expect(laneOf(seen, 'echo')).toMatchObject({
    queued_count: 2,
    active_count: 0,
    held_count: 2,
    hold: { reason: 'paused', detail: 'the plugin echo is paused by api:test: a test', since: expect.any(String) },
  });
  expect(laneOf(seen, 'worker')).toMatchObject({ queued_count: 2, active_count: 1, held_count: 0, limit: 1 });
  expect(laneOf(seen, 'worker')).not.toHaveProperty('hold');
  const oldest = [laneOf(seen, 'echo'), laneOf(seen, 'worker')].map(lane => lane['oldest_queued_at']);
  expect(oldest).toEqual([paused.created_at, queued.created_at]);
  expect(seen.queue.oldest_queued_at).toBe(paused.created_at);
  const { body: analytics } = await gateway.call('GET', '/analytics/queue');
  const { oldest_queued_at: _, utilization: __, ...figures } = seen.queue;
  expect(analytics).toMatchObject(figures);
  expect(figures).toMatchObject({ queue_depth: 2, running_count: 2, paused_count: 2, held_count: 0 });
  expect({ pauses: seen.pauses }).toEqual((await gateway.call('GET', '/pauses')).body);
  // The run, its job, and the job of `worker` are running.
  expect(seen.counts).toMatchObject({ queued: 4, running: 3 });
  expect(seen.counts).toEqual(await totals());

  gateway.open('lanes');
  await gateway.call('POST', '/control/plugin/echo/resume');
  await gateway.settled(run);
  await until('all jobs have ended', async () => {
    const { queued, running } = (await overview()).counts;
    return queued === 0 && running === 0;
  });
});

test('a delayed job waits since its time to run, not since its call', async () => {
  const first = await gateway.submit('later/handle', { gate: 'later' });
  await gateway.noted('start', first);
  const call = { payload: { name: 'delayed' }, delay: '300ms' };
  const { body } = await gateway.call('POST', '/plugin/later/handle', call);
  const { body: scheduled } = await gateway.call('GET', `/job/${body['job_id']}`);
  const seen = await until('it is due', async () => {
    const now = await overview();
    return laneOf(now, 'later').queued_count === 1 && now;
  });
  expect(laneOf(seen, 'later')['oldest_queued_at']).toBe(scheduled['run_at']);
  gateway.open('later');
  await gateway.settled(String(body['job_id']));
});

test('failures are those of the newest failed jobs, with the beginning of their errors; throughput and times count them', async () => {
  const before = await overview();
  const long = `${'x'.repeat(failureCharsMax - 1)}😀 and more`;
  const failed = await gateway.finished('failing/handle', { message: long });
  const cancelled = await gateway.submit('worker/handle', { gate: 'never' });
  await gateway.call('POST', `/job/${cancelled}/cancel`);
  await gateway.settled(cancelled);
  const seen = await until('the stopwatch has it', async () => {
    const now = await overview();
    return laneOf(now, 'failing')['run_p95_us'] !== null && now;
  });
  expect(seen.failures).toHaveLength(1);
  expect(seen.failures[0]).toEqual({
    job_id: failed.job_id,
    plugin: 'failing',
    command: 'handle',
    status: 'failed',
    attempt: 1,
    completed_at: failed.completed_at,
    last_error: 'x'.repeat(failureCharsMax - 1),
  });
  const { recent, trend } = seen;
  const settled = Object.values(seen.counts).reduce((all, count) => all + count, 0);
  expect([recent['settled_count'], sum(trend.settled), sum(trend.failed)]).toEqual([settled, settled, 1]);
  expect(recent['per_second']).toBeCloseTo(settled / recent['seconds']!, 1);
  expect(recent['error_rate']).toBeCloseTo(1 / (settled - 1), 3);
  expect(sum(trend.settled) - sum(before.trend.settled)).toBe(2);
  expect(recent['run_p95_us']).toBeGreaterThanOrEqual(0);

  const delayed = { payload: { message: 'accepted first' }, delay: '1h' };
  const { body } = await gateway.call('POST', '/plugin/failing/handle', delayed);
  for (let n = 0; n <= recentFailuresMax; n++) await gateway.finished('failing/handle', { message: `error ${n}` });
  const errors = (await overview()).failures.map(({ last_error: error }) => error);
  expect(errors).toEqual(Array.from({ length: recentFailuresMax }, (_, n) => `error ${recentFailuresMax - n}`));
  await gateway.call('POST', `/job/${body['job_id']}/run-now`);
  await gateway.settled(String(body['job_id']));
  expect((await overview()).failures[0]).toMatchObject({ last_error: 'accepted first' });
});

test('failure groups are the newest ones of the list of failures', async () => {
  for (const word of 'one two three four five six seven eight nine ten eleven'.split(' '))
    await gateway.finished('failing/handle', { message: `no ${word}` });
  const newest = async () => (await overview()).failure_groups ?? [];
  const isLast = (group: object | undefined) => (group as { pattern?: string } | undefined)?.pattern === 'no eleven';
  await until('the last one is indexed', async () => isLast((await newest())[0]));
  // The trend of a group begins at a full hour, so both answers must be of the same one.
  const hour = () => Math.floor(Date.now() / 3_600_000);
  const [seen, listed] = await until('two answers within one hour', async () => {
    const began = hour();
    const groups = await newest();
    const { body } = await gateway.call('GET', `/failures?limit=${overviewGroupsMax}`);
    return began === hour() && [groups, body['failures']];
  });
  expect(seen).toHaveLength(overviewGroupsMax);
  expect(seen).toEqual(listed);
});

test('a breaker that has opened is a pause, and shows in its lane; one whose time is over is half open', async () => {
  for (const _ of [1, 2]) await gateway.finished('breaking/handle');
  await gateway.finished('probing/handle');
  const seen = await until('one is half open', async () => {
    const now = await overview();
    return laneOf(now, 'probing')['breaker'] === 'half_open' && now;
  });
  expect(laneOf(seen, 'breaking')).toMatchObject({ breaker: 'open', hold: { reason: 'paused' } });
  expect(seen.pauses.map(({ by }) => by)).toContain('breaker');
});

test('counts, throughput and failures are the same after a kill', async () => {
  const before = await overview();
  await gateway.restart();
  const after = await overview();
  expect(after.counts).toEqual(before.counts);
  expect(sum(after.trend.settled)).toBe(sum(before.trend.settled));
  expect(after.failures).toEqual(before.failures);
});
