// What decides whether an occurrence fires, and what counts for its schedule (docs/schedules.md): pauses of the target, jitter, failures,
// scopes, and backfills that are repeated or killed.
import { expect, onTestFinished, test } from 'vitest';
import { openSource } from '../../feature/events/reader.ts';
import { startClocked } from './clock.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type Answer, type CallOptions, type Job, shareGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const never = { at: '2999-01-01T00:00:00Z' };
const each = { every: '1s' };
const tokens = { control: 'a-token-for-control', reads: 'a-token-that-reads' };
const seen = 'export const handle = ({ event, context }) => ({ result: { event, context } });';

const settings: Settings = {
  plugins: {
    seen,
    other: seen,
    quiet: {
      code: 'export const handle = () => ({});\nexport const say = () => ({ result: "said" });',
      commands: { handle: {}, say: { type: 'read' } },
    },
    past: 'export const handle = () => ({});',
    failing,
    worker,
  },
  instances: { failing: { retry: { max_attempts: 1 } } },
  pipelines: [{ name: 'one', steps: [{ uses: 'quiet' }] }],
  schedules: [
    { id: 'waits', plugin: 'seen', ...each },
    { id: 'skips', plugin: 'seen', ...each, skip_when_paused: true },
    { id: 'skips-run', pipeline: 'one', ...each, skip_when_paused: true },
    { id: 'late', plugin: 'other', every: '2s', jitter: '1s', if_running: 'allow' },
    {
      id: 'replaced',
      plugin: 'worker',
      ...each,
      payload: { gate: 'never' },
      if_running: 'replace',
      pause_after_failures: 1,
    },
    { id: 'fragile', plugin: 'failing', ...never, pause_after_failures: 1 },
    { id: 'read', plugin: 'quiet', command: 'say', ...never },
    { id: 'run', pipeline: 'one', ...never },
    { id: 'daily', plugin: 'quiet', cron: '0 0 * * *' },
    { id: 'long', plugin: 'past', cron: '0 0 * * *' },
  ],
  service: { max_workers: 4 },
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'control', token: tokens.control, scopes: ['control:rw'] },
        { name: 'reads', token: tokens.reads, scopes: ['control:rw', 'plugin:ro'] },
      ],
    },
  },
};
const gateway = shareGateway(settings);

type Firing = {
  readonly outcome: string;
  readonly reason?: string;
  readonly job_id?: string;
  readonly due_at: string;
  readonly fired_at?: string;
  readonly late_ms?: number;
  readonly count?: number;
};
type Schedule = { readonly state: string; readonly failures: number; readonly history: readonly Firing[] };

async function show(id: string): Promise<Schedule> {
  const { status, body } = await gateway.call('GET', `/schedule/${id}`);
  expect(status).toBe(200);
  return body as unknown as Schedule;
}

function order(id: string, what: string, body: object = {}, options: CallOptions = {}): Promise<Answer> {
  return gateway.call('POST', `/schedule/${id}/${what}`, body, options);
}

const actionEnded = (id: string) =>
  until('the action ends', async () => {
    const { body } = await gateway.call('GET', `/action/${id}`);
    return body['state'] === 'succeeded' ? body : null;
  });

test('while its target is paused one job waits and the rest is skipped; with skip_when_paused none fires', async () => {
  const control = (target: string, what: string) => gateway.call('POST', `/control/${target}/${what}`, {});
  onTestFinished(async () => {
    for (const target of ['plugin/seen', 'pipeline/one']) await control(target, 'resume');
  });
  const events = await openSource(gateway, '?types=schedule.skipped');
  for (const target of ['plugin/seen', 'pipeline/one']) await control(target, 'pause');
  const toldOf = (schedule: string, reason: string) =>
    until(`${schedule} skips two, because ${reason}`, () => {
      const told = events.seen.filter(({ data }) => data['schedule'] === schedule && data['reason'] === reason);
      return told.length >= 2;
    });
  await toldOf('waits', 'running');
  for (const id of ['skips', 'skips-run']) {
    await toldOf(id, 'paused');
    const { history } = await show(id);
    expect(history[0]).toMatchObject({ outcome: 'skipped', reason: 'paused', count: expect.any(Number) });
    expect(history.filter(({ outcome }) => outcome === 'running')).toEqual([]);
  }
  const waiting = (await show('waits')).history.filter(({ outcome }) => outcome === 'running');
  expect(waiting).toHaveLength(1);
  await gateway.waiting(waiting[0]!.job_id!, 'paused');
  for (const target of ['plugin/seen', 'pipeline/one']) await control(target, 'resume');
  for (const id of ['skips', 'skips-run'])
    await until(`${id} fires again`, async () => (await show(id)).history[0]!.outcome === 'succeeded');
});

test('jitter delays the firing, and due_at is the time without it', async () => {
  const fired = await until('it has fired twice', async () => {
    const ended = (await show('late')).history.filter(({ outcome }) => outcome === 'succeeded');
    return ended.length >= 2 ? ended : null;
  });
  const [second, first] = fired.map(({ due_at }) => Date.parse(due_at));
  expect(second! - first!).toBe(2_000);
  for (const { due_at, fired_at, late_ms, job_id } of fired) {
    const behindMs = Date.parse(fired_at!) - Date.parse(due_at);
    // The time between due and fired is the jitter plus `late_ms`.
    expect(behindMs - late_ms!).toBeGreaterThanOrEqual(0);
    expect(behindMs - late_ms!).toBeLessThanOrEqual(1_000);
    const job = (await gateway.job(job_id!)) as Job & { readonly schedule: object };
    expect(job.schedule).toEqual({ id: 'late', due_at });
    expect(job.result!.result).toMatchObject({ event: { schedule: { due_at, fired_at } } });
  }
});

test('the lateness of a firing stays as it was after a change of the jitter or a removal, and the next firing has the new jitter', async () => {
  // The second occurrence fires also where the job of the first still runs.
  const spread = { plugin: 'echo', cron: '0 * * * *', jitter: '59m', if_running: 'allow' };
  const given = (...schedules: object[]): Settings => ({ plugins: { echo }, schedules: schedules as never });
  const { gateway, clock } = await startClocked(
    '2027-11-01T10:10:00Z',
    given({ id: 'changed', ...spread }, { id: 'removed', ...spread }),
  );
  const firings = (count: number) =>
    until('both have fired', async () => {
      const { body } = await gateway.call('GET', '/schedules');
      const all = body['schedules'] as readonly (Schedule & { readonly id: string })[];
      const fired = all.map(({ id, history }) => ({ id, late: (history ?? []).map(({ late_ms }) => late_ms) }));
      return fired.reduce((sum, { late }) => sum + late.length, 0) === count ? fired : null;
    });
  clock.set('2027-11-01T11:59:30Z');
  const before = await firings(2);
  expect(before.map(({ late }) => late)).toEqual([[expect.any(Number)], [expect.any(Number)]]);
  await gateway.reload(given({ id: 'changed', ...spread, jitter: '1s' }));
  expect(await firings(2)).toEqual(before);
  clock.set('2027-11-01T12:00:00Z');
  const [changed] = await firings(3);
  expect(changed!.late[0]).toBeLessThan(60_000);
});

test('a job that is cancelled is no failure, and neither is a manual run', async () => {
  const cancelled = await until('two were replaced', async () => {
    const schedule = await show('replaced');
    return schedule.history.filter(({ outcome }) => outcome === 'cancelled').length >= 2 ? schedule : null;
  });
  expect(cancelled).toMatchObject({ state: 'active', failures: 0 });
  await order('replaced', 'pause');
  const { body } = await order('fragile', 'run');
  expect((await gateway.settled(String(body['job_id']))).status).toBe('failed');
  const fragile = await until('its end is noted', async () => {
    const schedule = await show('fragile');
    return schedule.history[0]!.outcome === 'failed' ? schedule : null;
  });
  expect(fragile).toMatchObject({ state: 'active', failures: 0 });
});

test('to run and to backfill need the scope of the target: plugin:ro is enough for a command that reads', async () => {
  const period = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
  for (const [id, token, status] of [
    ['read', tokens.control, 403],
    ['read', tokens.reads, 202],
    ['run', tokens.reads, 403],
    ['daily', tokens.reads, 403],
    ['run', everythingToken, 202],
  ] as const) {
    expect([id, token, (await order(id, 'run', {}, { token })).status]).toEqual([id, token, status]);
    expect([id, token, (await order(id, 'backfill', period, { token })).status]).toEqual([id, token, status]);
  }
});

test('a backfill that is repeated with its Idempotency-Key starts nothing', async () => {
  const period = { from: '2020-01-01T00:00:00Z', to: '2020-01-05T00:00:00Z' };
  const headers = { 'Idempotency-Key': 'five days' };
  const first = await order('daily', 'backfill', period, { headers });
  expect(first).toMatchObject({ status: 202, body: { matched: 5 } });
  expect(await actionEnded(String(first.body['action_id']))).toMatchObject({ done: 5, skipped: {} });
  expect(await order('daily', 'backfill', period, { headers })).toMatchObject({ status: 202, body: first.body });
  const other = await order('daily', 'backfill', { ...period, to: '2020-01-06T00:00:00Z' }, { headers });
  expect([other.status, other.body['code']]).toEqual([422, 'idempotency_mismatch']);
});

test('a repeated backfill gets the first answer, however many occurrences lie in its period by now', async () => {
  const schedule = { id: 'minutes', plugin: 'worker', payload: { gate: 'never' }, cron: '* * * * *', enabled: false };
  const { gateway, clock } = await startClocked('2027-11-08T00:00:00Z', {
    plugins: { worker },
    schedules: [schedule],
    service: { max_queue_depth: 5 },
  });
  const period = { from: '2027-11-01T02:00:00Z', to: '2027-11-09T00:00:00Z' };
  const backfill = (more: object, key: string) =>
    gateway.call('POST', '/schedule/minutes/backfill', { ...period, ...more }, { headers: { 'Idempotency-Key': key } });
  const first = await backfill({}, 'a week');
  expect(first.status).toBe(202);
  clock.set('2027-11-08T02:00:00Z');
  await until('it has too many occurrences', async () => (await backfill({ dry_run: true }, 'a week')).status === 400);
  expect((await backfill({}, 'another')).status).toBe(400);
  expect(await backfill({}, 'a week')).toMatchObject({ status: 202, body: first.body });
});

test('a backfill that is killed goes on, and fires each occurrence once', async () => {
  const period = { from: '2005-01-01T00:00:00Z', to: '2009-12-31T23:00:00Z' };
  const days = 1_826;
  const { body } = await order('long', 'backfill', period);
  expect(body['matched']).toBe(days);
  const id = String(body['action_id']);
  await until('it has begun', async () => Number((await gateway.call('GET', `/action/${id}`)).body['done']) > 0);
  await gateway.restart();
  expect(await actionEnded(id)).toMatchObject({ matched: days, done: days, skipped: {}, failed: 0 });
  await until('its jobs have ended', async () => {
    const { body: page } = await gateway.call('GET', '/jobs?plugin=past&status=succeeded&limit=1');
    return page['total'] === days;
  });
  expect((await gateway.call('GET', '/jobs?plugin=past&limit=1')).body['total']).toBe(days);
  const { body: dry } = await order('long', 'backfill', { ...period, dry_run: true });
  expect(dry).toEqual({ matched: days, already_fired: days });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
});

test('a backfill of a schedule that is off goes by its present times, up to now', async () => {
  const at = (cron: string, enabled: boolean) => ({
    plugins: { seen },
    schedules: [{ id: 'daily', plugin: 'seen', cron, enabled }],
  });
  const { gateway, clock } = await startClocked('2027-11-01T10:30:00Z', at('0 11 * * *', true));
  clock.set('2027-11-01T11:00:00Z');
  await until('it has fired', async () => {
    const { body } = await gateway.call('GET', '/schedule/daily');
    return (body['history'] as Firing[] | undefined)?.[0]?.outcome === 'succeeded';
  });
  await gateway.reload(at('0 12 * * *', false));
  clock.set('2027-11-03T13:00:00Z');
  const days = { from: '2027-11-01T00:00:00Z', to: '2027-11-30T00:00:00Z' };
  const backfill = async (more = {}) =>
    (await gateway.call('POST', '/schedule/daily/backfill', { ...days, ...more })).body;
  expect(await backfill({ dry_run: true })).toEqual({ matched: 3, already_fired: 0 });
  const { action_id } = await backfill();
  await until('the action ends', async () => {
    const { body } = await gateway.call('GET', `/action/${action_id}`);
    return body['state'] === 'succeeded' && body['done'] === 3;
  });
  expect(await backfill({ dry_run: true })).toEqual({ matched: 3, already_fired: 3 });
});

test('a reload with other times does not change what a running backfill fires', async () => {
  const at = (often: string, rare: string) => ({
    plugins: { worker },
    schedules: [
      { id: 'often', plugin: 'worker', payload: { gate: 'both' }, cron: often },
      { id: 'rare', plugin: 'worker', payload: { gate: 'both' }, cron: rare },
    ],
    service: { max_queue_depth: 5 },
  });
  const { gateway } = await startClocked('2027-11-02T00:30:00Z', at('0 * * * *', '0 * * * *'));
  const day = { from: '2027-11-01T00:00:00Z', to: '2027-11-01T23:00:00Z' };
  const start = async (id: string) => {
    const { body } = await gateway.call('POST', `/schedule/${id}/backfill`, day);
    return async () => (await gateway.call('GET', `/action/${body['action_id']}`)).body;
  };
  const often = await start('often');
  await until('it has filled the queue', async () => (await often())['done'] === 5);
  const actions = [often, await start('rare')];
  await gateway.reload(at('* * * * *', '0 0 1 1 *'));
  gateway.open('both');
  for (const action of actions) {
    const ended = await until('it ends', async () => {
      const body = await action();
      return body['state'] !== 'running' && body;
    });
    expect(ended).toMatchObject({ state: 'succeeded', matched: 24, done: 24, skipped: {} });
  }
});

test('a job that outlives the record of its removed schedule leaves a later schedule with the same id as it is', async () => {
  const without = { plugins: { seen } };
  const daily = { ...without, schedules: [{ id: 'daily', plugin: 'seen', cron: '0 11 * * *' }] };
  const { gateway, clock } = await startClocked('2027-11-01T10:30:00Z', daily);
  const shown = () => gateway.call('GET', '/schedule/daily');
  await gateway.call('POST', '/control/plugin/seen/pause', {});
  clock.set('2027-11-01T11:00:00Z');
  const job = await until('it has fired', async () => {
    const { body } = await shown();
    return (body['history'] as Firing[] | undefined)?.[0]?.job_id;
  });
  await gateway.reload(without);
  clock.set('2027-12-15T00:10:00Z');
  await until('its history is gone', async () => (await shown()).status === 404);
  await gateway.reload(daily);
  await gateway.call('POST', '/control/plugin/seen/resume', {});
  expect((await gateway.settled(job)).status).toBe('succeeded');
  expect((await shown()).body).toMatchObject({ state: 'active', history: [] });
});

test('the failure of an occurrence counts, also if more than the history shows have begun since', async () => {
  const code = `
export const handle = ({ event: { schedule } }) =>
  schedule.due_at < '2027-11-01T10:04' ? { status: 'error', error: 'too early', retry: false } : {};
`;
  const { gateway, clock } = await startClocked('2027-11-01T10:00:30Z', {
    plugins: { early: code },
    instances: { one: { uses: 'early', parallelism: 1 } },
    schedules: [
      {
        id: 'often',
        plugin: 'one',
        cron: '* * * * *',
        catch_up: 'run_all',
        if_running: 'allow',
        pause_after_failures: 3,
      },
    ],
  });
  await until('it is loaded', async () => (await gateway.call('GET', '/schedule/often')).body['last_due_at']);
  clock.set('2027-11-01T10:25:30Z');
  await until('25 have ended', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=one&limit=50');
    const jobs = body['jobs'] as Job[];
    return jobs.length === 25 && jobs.every(({ completed_at }) => completed_at !== null);
  });
  expect((await gateway.call('GET', '/schedule/often')).body).toMatchObject({ state: 'paused' });
});
