// GET /analytics/queue and /analytics/summary: what waits and runs now, and the last day in figures.
import { expect, test } from 'vitest';
import { BusyMeter, busyWindowUs } from '../../../actors/job/dispatch/busy.ts';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

const stats = async (gateway: Gateway) => (await gateway.call('GET', '/analytics/summary')).body['stats'];
const queue = async (gateway: Gateway) => (await gateway.call('GET', '/analytics/queue')).body;

test('what runs, waits, is delayed and dead is counted, and running jobs are named', async () => {
  const retry = { max_attempts: 2, backoff_base: '1h', backoff_max: '1h' };
  const plugins = { worker, failing, doomed: failing };
  const instances = {
    worker: { parallelism: 1 },
    failing: { retry },
    doomed: { retry: { ...retry, backoff_base: '1ms' } },
  };
  const gateway = await startGateway({ plugins, instances });
  const doomed = await gateway.submit('doomed/handle');
  expect(await gateway.settled(doomed)).toMatchObject({ status: 'dead' });
  await gateway.submit('failing/handle');
  const first = await gateway.submit('worker/handle', { gate: 'all' });
  for (let i = 0; i < 3; i++) await gateway.submit('worker/handle', { gate: 'all' });
  await gateway.noted('start', first);
  await until('the failing one is delayed', async () => (await queue(gateway))['delayed_count'] === 1);
  expect(await queue(gateway)).toMatchObject({
    queue_depth: 3,
    running_count: 1,
    delayed_count: 1,
    dead_count: 1,
    active_jobs: [{ job_id: first, plugin: 'worker', command: 'handle', started_at: expect.any(String) }],
    plugin_lanes: [
      { plugin: 'doomed' },
      { plugin: 'failing' },
      { plugin: 'worker', active_count: 1, queued_count: 3, limit: 1 },
    ],
  });
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 4 });
  expect(await stats(gateway)).toEqual({
    queued: 4,
    running: 1,
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    dead: 1,
    cancelled: 0,
  });
  gateway.open('all');
});

test('jobs of a paused command count as paused, also behind others in the line of their plugin', async () => {
  const gateway = await startGateway({
    plugins: { narrow: `${worker}export const say = () => ({});` },
    instances: { narrow: { parallelism: 1 } },
  });
  const control = async (verb: string) =>
    expect((await gateway.call('POST', `/control/plugin/narrow/${verb}`, { command: 'say' })).status).toBe(200);
  const ids = [await gateway.submit('narrow/handle', { gate: 'narrow' })];
  await gateway.noted('start', ids[0]!);
  for (const command of ['handle', 'say', 'say']) ids.push(await gateway.submit(`narrow/${command}`));
  await control('pause');
  ids.push(await gateway.submit('narrow/say'));
  const paused = { queue_depth: 1, paused_count: 3, held_count: 0, waiting_count: 3 };
  expect(await queue(gateway)).toMatchObject(paused);
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 1 });
  expect((await gateway.call('POST', `/job/${ids[2]}/cancel`, {})).status).toBe(200);
  expect(await queue(gateway)).toMatchObject({ ...paused, paused_count: 2, waiting_count: 2 });
  await control('resume');
  expect(await queue(gateway)).toMatchObject({ queue_depth: 3, paused_count: 0, waiting_count: 0 });
  gateway.open('narrow');
  const ends = await gateway.allSettled(ids);
  const others = Array<string>(2).fill('succeeded');
  expect(ends.map(({ status }) => status)).toEqual([...others, 'cancelled', ...others]);
});

const busy = shareGateway({ plugins: { worker, echo } });

test('an idle service has an empty queue', async () => {
  expect(await queue(busy)).toEqual({
    queue_depth: 0,
    running_count: 0,
    delayed_count: 0,
    scheduled_count: 0,
    held_count: 0,
    paused_count: 0,
    waiting_count: 0,
    dead_count: 0,
    max_workers: 2,
    utilization: 0,
    active_jobs: [],
    plugin_lanes: ['echo', 'worker'].map(plugin => ({ plugin, active_count: 0, queued_count: 0, limit: null })),
  });
});

test('utilization grows while a worker is busy', async () => {
  const id = await busy.submit('worker/handle', { gate: 'one' });
  await busy.noted('start', id);
  const before = Number((await queue(busy))['utilization']);
  const after = await until('it has grown', async () => {
    const now = Number((await queue(busy))['utilization']);
    return now > before && now;
  });
  expect(after).toBeLessThan(0.5);
  busy.open('one');
});

test('at most 100 running jobs are named', async () => {
  for (let i = 0; i < 3; i++) await busy.finished('worker/handle');
  await Promise.all(Array.from({ length: 300 }, () => busy.submit('worker/handle', { gate: 'all' })));
  const { active_jobs: active, running_count: running } = await queue(busy);
  expect((active as readonly object[]).length).toBe(Math.min(100, Number(running)));
  busy.open('all');
});

test('the summary has every status, runs too, and outlives a kill', async () => {
  const pipelines = [{ name: 'held', on: 'held', steps: [{ id: 'only', uses: 'worker' }] }];
  const gateway = await startGateway({ plugins: { echo, failing, step, worker }, pipelines });
  expect((await gateway.call('GET', '/analytics/summary')).body).toEqual({
    window: '24h',
    stats: { queued: 0, running: 0, succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 },
  });
  for (let i = 0; i < 3; i++) await gateway.finished('echo/handle');
  await gateway.finished('failing/handle', { retry: false });
  const run = await gateway.run('held', { gate: 'all' });
  await gateway.noted('start', 2);
  const settled = { succeeded: 3, failed: 1, timed_out: 0, dead: 0, cancelled: 0 };
  // The run and its job.
  expect(await stats(gateway)).toEqual({ queued: 0, running: 2, ...settled });
  await gateway.restart();
  await gateway.noted('start', 3);
  expect(await stats(gateway)).toEqual({ queued: 0, running: 2, ...settled });
  gateway.open('all');
  await gateway.settled(run);
  expect(await stats(gateway)).toEqual({ queued: 0, running: 0, ...settled, succeeded: 5 });
});

test.each<[what: string, notes: readonly (readonly [atS: number, workers: number])[], atS: number, busyS: number]>([
  ['nothing noted', [], 100, 0],
  [
    'one worker for ten seconds',
    [
      [100, 1],
      [110, 0],
    ],
    120,
    10,
  ],
  ['two workers, still busy', [[100, 2]], 130.5, 61],
  ['more than the window', [[100, 1]], 1_000, 60],
  [
    'what is older than the window does not count',
    [
      [100, 1],
      [110, 0],
    ],
    175,
    0,
  ],
  [
    'changes within a second',
    [
      [100.25, 1],
      [100.5, 3],
      [100.75, 0],
    ],
    101,
    1,
  ],
])('busy time: %s', (_, notes, atS, busyS) => {
  const meter = new BusyMeter();
  meter.note(90e6, 0);
  for (const [at, workers] of notes) meter.note(at * 1e6, workers);
  expect(meter.busyUs(atS * 1e6) / 1e6).toBeCloseTo(busyS, 0);
  expect(busyWindowUs).toBe(60e6);
});
