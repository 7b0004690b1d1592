// `headgate schedule …`: each command, as text and as JSON, and what a shell completes.
import { expect, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { everythingToken } from './configuration.ts';
import { shareGateway, startGateway } from './gateway.ts';
import { failing, worker } from './sources.ts';
import { until } from './until.ts';

const never = { at: '2999-01-01T00:00:00Z' };
const gateway = shareGateway({
  plugins: {
    seen: 'export const handle = ({ event }) => ({ result: { event } });',
    failing,
    worker,
  },
  instances: { failing: { retry: { max_attempts: 1 } } },
  schedules: [
    { id: 'manual', plugin: 'seen', ...never, payload: { by: 'hand' } },
    { id: 'daily', plugin: 'seen', cron: '0 0 * * *', timezone: 'Europe/Berlin', tags: { tenant: 'acme' } },
    { id: 'broken', plugin: 'failing', ...never },
    { id: 'held', plugin: 'worker', ...never, payload: { gate: 'never' } },
    { id: 'quarter', plugin: 'seen', every: '15m', enabled: false },
  ],
});

const run = (...words: string[]) =>
  headgate(['schedule', ...words, '--url', gateway.url], { env: { HEADGATE_TOKEN: everythingToken } });

test('list shows state, target, times and the last outcome of each', async () => {
  const { stdout, stderr } = await run('list');
  expect(stdout).toMatch(/^SCHEDULE +STATE +RUNS +WHEN +NEXT \(UTC\) +LAST/);
  expect(stdout).toMatch(/daily +active +seen\.handle +0 0 \* \* \* \(Europe\/Berlin\) +20\d\d-/);
  expect(stdout).toMatch(/quarter +disabled +seen\.handle +every 15m 00s/);
  expect(stderr).toBe('');
  const page = await run('list', '--limit', '2');
  const cursor = /^2 of 5; continue with --cursor (\S+)\n$/.exec(page.stderr)![1]!;
  const next = await run('list', '--limit', '2', '--cursor', cursor, '--json');
  expect(next.json).toMatchObject({ schedules: [{ id: 'broken' }, { id: 'held' }], total: 5 });
});

test('schedules that were removed follow the others, a page at a time', async () => {
  const many = Array.from({ length: 300 }, (_, place) => ({ id: `many-${place}`, plugin: 'seen', ...never }));
  const settings = { plugins: { seen: 'export const handle = () => ({});' } };
  const own = await startGateway({ ...settings, schedules: [{ id: 'left', plugin: 'seen', ...never }, ...many] });
  await own.reload({ ...settings, schedules: [{ id: 'left', plugin: 'seen', ...never }] });
  const found: { id: string; state: string }[] = [];
  for (let cursor: unknown, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { body } = await own.call('GET', `/schedules?limit=50${isFirst ? '' : `&cursor=${cursor}`}`);
    const schedules = body['schedules'] as typeof found;
    expect([schedules.length <= 50, body['total']]).toEqual([true, 1]);
    found.push(...schedules);
    cursor = body['next_cursor'];
  }
  expect(found[0]).toMatchObject({ id: 'left', state: 'active' });
  const removed = found.filter(({ state }) => state === 'removed').map(({ id }) => id);
  expect(removed.toSorted()).toEqual(many.map(({ id }) => id).toSorted());
});

test('run starts a job; with --wait the exit status says how it ended', async () => {
  const ran = await run('run', 'manual', '--wait');
  expect({ status: ran.status, result: JSON.parse(ran.stdout) }).toMatchObject({
    status: 0,
    result: { event: { payload: { by: 'hand' }, schedule: { id: 'manual', due_at: null } } },
  });
  expect((await run('run', 'broken', '--wait')).status).toBe(1);
  expect(await run('run', 'held', '--wait', '--timeout', '50ms')).toMatchObject({ status: 5 });
  const accepted = await run('run', 'manual', '--json', '--idempotency-key', 'once');
  expect(accepted.json).toMatchObject({ status: 'queued', schedule: { id: 'manual', due_at: null } });
  const again = await run('run', 'manual', '--idempotency-key', 'once');
  expect(again.stdout).toBe(`${accepted.json.job_id}\n`);
});

test('show prints next occurrences, tags and the latest firings', async () => {
  const daily = await run('show', 'daily');
  expect(daily.stdout).toMatch(/^daily active: seen\.handle, 0 0 \* \* \* \(Europe\/Berlin\)\ntag {6}tenant=acme\n/);
  expect(daily.stdout.match(/^next {5}20.* 2[23]:00:00\.000$/gm)).toHaveLength(5);
  await run('run', 'manual', '--wait');
  expect((await run('show', 'manual')).stdout).toMatch(/^fired {4}succeeded by hand at 20/m);
  expect((await run('show', 'manual', '--json')).json).toMatchObject({
    ...{ id: 'manual', state: 'active', plugin: 'seen', command: 'handle', timezone: 'UTC' },
    // The defaults of the keys that the configuration leaves out.
    ...{ jitter_ms: 0, if_running: 'skip', catch_up: 'run_once', catch_up_within_ms: 86_400_000 },
    ...{ pause_after_failures: 0, skip_when_paused: false, enabled: true },
  });
});

test('pause and resume', async () => {
  const paused = await run('pause', 'daily', '--reason', 'the warehouse moves');
  expect(paused.stdout).toBe('the schedule daily is paused\n');
  expect((await run('show', 'daily')).stdout).toMatch(/^paused {3}by api:test since 20.*: the warehouse moves$/m);
  expect((await run('pause', 'daily', '--json')).json).toMatchObject({ id: 'daily', by: 'api:test' });
  expect((await run('resume', 'daily')).stdout).toBe('the schedule daily is resumed\n');
  expect((await run('resume', 'daily')).stdout).toBe('the schedule daily was not paused\n');
  expect((await run('resume', 'daily', '--json')).json).toEqual({ id: 'daily', resumed: false });
});

test('backfill counts, and starts an action', async () => {
  const days = ['--from', '2026-02-01T00:00:00Z', '--to', '2026-02-03T00:00:00Z'];
  expect((await run('backfill', 'daily', ...days, '--dry-run')).stdout).toBe('2 occurrences; already fired: 0\n');
  const started = await run('backfill', 'daily', ...days, '--reason', 'moved', '--json');
  expect(started.json).toMatchObject({ matched: 2, action_id: expect.any(String) });
  await until('the backfill ends', async () => {
    const { body } = await gateway.call('GET', `/action/${started.json.action_id}`);
    return body['state'] === 'succeeded' && body['done'] === 2;
  });
  const words = ['action', 'show', started.json.action_id, '--url', gateway.url];
  const { stdout } = await headgate(words, { env: { HEADGATE_TOKEN: everythingToken } });
  expect(stdout).toMatch(/\nbackfill of daily, from 2026-.* to 2026-.*; moved\nby api:test\n2 done of 2\n$/);
  expect((await run('backfill', 'daily', ...days, '--dry-run')).stdout).toBe('2 occurrences; already fired: 2\n');
  expect((await run('backfill', 'daily', ...days)).stdout).toMatch(/^[0-9a-f-]{36} {2}2 occurrences\n$/);
  const unbound = await run('backfill', 'daily', '--from', '2d');
  expect(unbound).toMatchObject({ status: 2, stderr: expect.stringContaining("'--to <time>' not specified") });
});

test('a schedule that does not exist is named', async () => {
  for (const words of [['show'], ['run'], ['pause'], ['resume'], ['backfill', '--from', '2d', '--to', '1d']]) {
    const [name = '', ...options] = words;
    const { status, stderr } = await run(name, 'weekly', ...options);
    expect([name, status, stderr]).toEqual([name, 4, expect.stringContaining('there is no schedule "weekly"')]);
  }
});

test('a shell completes the commands and the ids of schedules', async () => {
  const offered = async (...words: string[]) => {
    const env = { HEADGATE_TOKEN: everythingToken, HEADGATE_URL: gateway.url };
    const { stdout } = await headgate(['completion', 'fish', '--', 'schedule', ...words], { env });
    return stdout.split('\n').flatMap(line => (line === '' ? [] : [line.split('\t')[0]!]));
  };
  expect(await offered('')).toEqual(['list', 'show', 'next', 'run', 'pause', 'resume', 'backfill']);
  // Completion gives up if the service takes longer than a second to answer.
  await expect.poll(() => offered('show', '')).toEqual(['manual', 'daily', 'broken', 'held', 'quarter']);
  for (const name of ['run', 'pause', 'resume', 'backfill'])
    await expect.poll(() => offered(name, 'd')).toEqual(['daily']);
  expect(await offered('run', 'daily', '')).toEqual([]);
  expect(await offered('next', '')).toEqual([]);
  expect(await offered('backfill', 'daily', '--fr')).toEqual(['--from']);
});
