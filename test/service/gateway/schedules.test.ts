// Schedules as users see them: what they fire, what they skip, and what pausing, running by hand and backfilling does.
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSource, type Seen } from '../../feature/events/reader.ts';
import { statuses, untilClosed } from '../../unit/http/raw.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type Answer, type Job, shareGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const never = { at: '2999-01-01T00:00:00Z' };
const each = { every: '1s' };
const tags = { tenant: 'acme' };

const settings: Settings = {
  plugins: {
    echo: `${echo}
export const poll = ({ payload, context }) => ({ result: { payload, context } });
export const event = ({ event }) => ({ result: event });
`,
    seen: 'export const handle = ({ event, context }) => ({ result: { event, context } });',
    failing,
    worker,
    slow: worker,
  },
  instances: {
    failing: { retry: { max_attempts: 1 } },
    echo: {
      schedules: [
        { every: '1h', payload: { n: 1 } },
        { id: 'second', cron: '0 3 * * *', if_running: 'cancel' },
      ],
    },
  },
  pipelines: [
    { name: 'two', on: 'numbers.came', steps: [{ id: 'first', uses: 'seen' }] },
    { name: 'none', if: { path: 'payload.n', op: 'gt', value: 1 }, steps: [{ id: 'first', uses: 'seen' }] },
  ],
  schedules: [
    { id: 'ticks', plugin: 'seen', ...each, payload: { n: 7 }, if_running: 'allow' },
    { id: 'runs', pipeline: 'two', ...each, payload: { n: 8 }, tags: { tenant: 'acme', kind: 'run' } },
    { id: 'ends-at-once', pipeline: 'none', ...each, payload: { n: 0 } },
    { id: 'fails', plugin: 'failing', ...each, pause_after_failures: 2 },
    { id: 'skips', plugin: 'worker', ...each, payload: { gate: 'skips' } },
    { id: 'queues', plugin: 'worker', ...each, payload: { gate: 'queues' }, if_running: 'queue' },
    { id: 'replaces', plugin: 'slow', ...each, payload: { gate: 'never' }, if_running: 'replace' },
    { id: 'manual', plugin: 'seen', ...never, payload: { by: 'hand' }, tags },
    { id: 'read', plugin: 'echo', command: 'say', ...never },
    { id: 'daily', plugin: 'seen', cron: '0 0 * * *', timezone: 'Europe/Berlin', tags },
    { id: 'off', plugin: 'seen', ...each, enabled: false },
  ],
  service: { max_workers: 8 },
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'looker', token: 'a-token-that-looks', scopes: ['control:ro', 'jobs:ro'] },
        { name: 'ops', token: 'a-token-for-control', scopes: ['control:rw'] },
        { name: 'reader', token: 'a-token-that-reads', scopes: ['control:rw', 'plugin:ro'] },
      ],
    },
  },
};
const gateway = shareGateway(settings);

type Firing = {
  readonly outcome: string;
  readonly reason?: string;
  readonly job_id?: string;
  readonly due_at: string | null;
  readonly late_ms?: number;
  readonly missed?: number;
  readonly count?: number;
};
type Schedule = {
  readonly id: string;
  readonly state: string;
  readonly next: readonly string[];
  readonly queued: number;
  readonly failures: number;
  readonly paused?: { readonly by: string; readonly reason?: string };
  readonly history: readonly Firing[];
};

async function show(id: string): Promise<Schedule> {
  const { status, body } = await gateway.call('GET', `/schedule/${id}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as unknown as Schedule;
}

function order(id: string, what: string, body: object = {}, token = everythingToken, headers = {}): Promise<Answer> {
  return gateway.call('POST', `/schedule/${id}/${what}`, body, { token, headers });
}

/** The firings of a schedule, oldest first, once `count` of them have ended. */
async function firings(id: string, count = 1): Promise<readonly Firing[]> {
  return until(`${id} has fired ${count} times`, async () => {
    const ended = (await show(id)).history.filter(({ outcome }) => outcome === 'succeeded').toReversed();
    return ended.length >= count ? ended : null;
  });
}

type Detailed = Job & {
  readonly schedule?: { readonly id: string; readonly due_at: string | null };
  readonly event?: { readonly schedule: object };
};

describe('a firing', () => {
  test('is a job whose event and context have the occurrence', async () => {
    const [fired] = await firings('ticks');
    const job = (await gateway.job(fired!.job_id!)) as Detailed;
    expect(job).toMatchObject({
      ...{ plugin: 'seen', command: 'handle', submitted_by: 'schedule:ticks', status: 'succeeded' },
      schedule: { id: 'ticks', due_at: fired!.due_at },
      payload: { n: 7 },
    });
    const occurrence = { id: 'ticks', missed: fired!.missed, fired_at: expect.any(String) };
    const { event, context } = job.result!.result as { readonly event: object; readonly context: object };
    expect(event).toMatchObject({
      ...{ type: 'schedule.ticks', source: 'schedule:ticks', payload: { n: 7 } },
      schedule: occurrence,
    });
    expect(context).toMatchObject({ schedule: occurrence });
    expect(job.event).toMatchObject({ schedule: occurrence });
    expect(Date.parse((event as { schedule: { due_at: string } }).schedule.due_at)).toBe(Date.parse(fired!.due_at!));
  });

  test('comes each second, on time', async () => {
    const dues = async () => {
      const onTime = (await show('ticks')).history.filter(({ late_ms: lateMs = Infinity }) => lateMs < 1_000);
      return onTime.map(({ due_at: at }) => Date.parse(at!));
    };
    // On a busy machine some fire late.
    await until('three in a row fire on time', async () => {
      const found = await dues();
      return found.some(due => found.includes(due - 1_000) && found.includes(due - 2_000));
    });
    const found = await dues();
    for (const due of found) expect(Math.abs(due - found[0]!) % 1_000).toBe(0);
    expect(new Set(found).size).toBe(found.length);
  });

  test('starts a run, whose first step gets the event of the schedule', async () => {
    const [fired] = await firings('runs');
    const tree = await gateway.tree(fired!.job_id!);
    expect(tree.map(({ plugin, command }) => `${plugin}/${command}`)).toEqual(['pipeline/two', 'seen/handle']);
    const child = await gateway.job(tree[1]!.job_id);
    expect(child.result!.result).toMatchObject({
      event: { source: 'schedule:runs', schedule: { id: 'runs' } },
      context: { schedule: { id: 'runs' } },
    });
    const tagged = { tags: { tenant: 'acme', kind: 'run' } };
    expect(await gateway.job(fired!.job_id!)).toMatchObject({ schedule: { id: 'runs' }, ...tagged });
    expect(child).toMatchObject(tagged);
    // Only the root of the tree is the job of the schedule.
    expect(child).not.toHaveProperty('schedule');
  });

  test('ends where the run of a pipeline ends at once, and does not hold up the next one', async () => {
    expect((await firings('ends-at-once', 2)).length).toBeGreaterThanOrEqual(2);
  });

  test('is told as an event', async () => {
    const reader = await openSource(gateway, '?types=schedule.*');
    const isOfTicks = ({ type, data }: Seen) => type === 'schedule.fired' && data['schedule'] === 'ticks';
    const fired = await until('a firing is told', () => reader.seen.find(isOfTicks));
    const number = expect.any(Number);
    const data = { job_id: expect.any(String), due_at: expect.any(String), late_ms: number, missed: number };
    expect(fired).toMatchObject({ data });
  });
});

describe('while the job before has not ended', () => {
  test('skip fires nothing, and tells of it', async () => {
    const reader = await openSource(gateway, '?types=schedule.skipped');
    await until(
      'occurrences are skipped',
      () => reader.seen.filter(({ data }) => data['schedule'] === 'skips').length > 1,
    );
    expect(reader.seen[0]!.data).toMatchObject({ reason: 'running', due_at: expect.any(String) });
    const { history } = await show('skips');
    expect(history.filter(({ outcome }) => outcome === 'running')).toHaveLength(1);
    expect(history[0]).toMatchObject({ outcome: 'skipped', reason: 'running', count: expect.any(Number) });
    gateway.open('skips');
    await firings('skips', 2);
  });

  test('queue fires when it has ended, in order', async () => {
    await until('three wait', async () => (await show('queues')).queued >= 3);
    expect((await show('queues')).history.filter(({ outcome }) => outcome === 'running')).toHaveLength(1);
    gateway.open('queues');
    const fired = await firings('queues', 4);
    const dues = fired.map(({ due_at }) => due_at!);
    expect(dues).toEqual(dues.toSorted());
    expect(new Set(dues).size).toBe(dues.length);
  });

  test('replace cancels it', async () => {
    const ended = await until('one is replaced', async () => {
      return (await show('replaces')).history.find(({ outcome }) => outcome === 'cancelled');
    });
    expect(await gateway.job(ended.job_id!)).toMatchObject({
      status: 'cancelled',
      cancel: { by: 'schedule:replaces', reason: 'replaced by a newer occurrence' },
    });
    await order('replaces', 'pause');
  });
});

test('too many failures in a row pause a schedule, and resuming it begins again', async () => {
  const paused = await until('it is paused', async () => {
    const schedule = await show('fails');
    return schedule.state === 'paused' ? schedule : null;
  });
  expect(paused).toMatchObject({
    ...{ failures: 2, next: [] },
    paused: { by: 'schedule', reason: '2 failures in a row' },
  });
  expect((await order('fails', 'resume')).body).toEqual({ id: 'fails', resumed: true });
  expect((await order('fails', 'pause')).status).toBe(200);
  expect((await order('fails', 'resume')).body).toEqual({ id: 'fails', resumed: true });
  expect((await order('ticks', 'resume')).body).toEqual({ id: 'ticks', resumed: false });
  await order('fails', 'pause', { reason: 'enough' });
  expect((await show('fails')).paused).toMatchObject({ by: 'api:test', reason: 'enough' });
});

describe('run by hand', () => {
  test('it starts a job that the schedule does not count', async () => {
    const { status, body } = await order('manual', 'run');
    expect(status).toBe(202);
    expect(body).toMatchObject({ plugin: 'seen', command: 'handle', schedule: { id: 'manual', due_at: null } });
    const job = (await gateway.settled(String(body['job_id']))) as Detailed;
    expect(job).toMatchObject({ submitted_by: 'schedule:manual', schedule: { id: 'manual', due_at: null }, tags });
    expect(await show('manual')).toMatchObject({
      state: 'active',
      history: [{ outcome: 'succeeded', due_at: null, job_id: body['job_id'] }],
    });
  });

  test('a repeated call with an Idempotency-Key starts nothing', async () => {
    const key = { 'Idempotency-Key': 'by hand once' };
    const first = await order('manual', 'run', {}, everythingToken, key);
    expect((await order('manual', 'run', {}, everythingToken, key)).body).toEqual(first.body);
    expect((await order('daily', 'run', {}, everythingToken, key)).status).toBe(422);
  });

  test('a pause that refuses calls refuses it, but not what the schedule fires', async () => {
    onTestFinished(async () => void (await gateway.call('POST', '/control/plugin/seen/resume', {})));
    await gateway.call('POST', '/control/plugin/seen/pause', { reject: true });
    expect((await order('manual', 'run')).body).toMatchObject({ code: 'paused' });
    // The newest may still run if it fired just before the pause.
    const waiting = await until('a firing waits', async () => {
      const newest = (await show('ticks')).history.find(({ outcome }) => outcome === 'running');
      const { body } = await gateway.call('GET', `/job/${newest?.job_id}`);
      return (body['waits_for'] as { readonly reason?: string } | undefined)?.reason === 'paused' && body;
    });
    expect(waiting).toMatchObject({ status: 'queued', submitted_by: 'schedule:ticks' });
  });

  test('needs the scope of its target', async () => {
    expect((await order('manual', 'run', {}, 'a-token-for-control')).body).toMatchObject({ code: 'forbidden' });
    expect((await order('manual', 'run', {}, 'a-token-that-reads')).body).toMatchObject({ code: 'forbidden' });
    expect((await order('manual', 'run', {}, 'a-token-that-looks')).body).toMatchObject({ code: 'forbidden' });
    expect((await order('nobody', 'run')).body).toMatchObject({
      code: 'unknown_schedule',
      detail: 'there is no schedule "nobody"',
    });
    // The server `uws` refuses a request head of this length with 431.
    expect([404, 431]).toContain((await gateway.call('GET', `/schedule/${'a'.repeat(9_000)}`)).status);
  });
});

test('a call whose connection closes without an answer starts no job and no action', async () => {
  const behind = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  const post = (path: string, body: object) => {
    const text = JSON.stringify(body);
    const head = ['Host: x', `Authorization: Bearer ${everythingToken}`, `Content-Length: ${text.length}`];
    return `${[`POST ${path} HTTP/1.1`, ...head].join('\r\n')}\r\n\r\n${text}`;
  };
  const counts = async () => {
    const { body } = await gateway.call('GET', '/actions');
    return [(await show('manual')).history.length, Number(body['total'])] as const;
  };
  const action = { do: 'cancel', where: { plugin: 'nobody' } };
  const days = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
  const [runs, actions] = await counts();
  for (const call of [
    post('/schedule/manual/run', {}),
    post('/schedule/manual/backfill', days),
    post('/actions', action),
  ]) {
    // uWebSockets.js closes the connection, because the second request comes in the packet of the first.
    const { text, isClosed } = await untilClosed(Number(new URL(gateway.url).port), call + behind);
    expect([statuses(text), isClosed]).toEqual([[], true]);
  }
  // These calls reach the ledger after anything that the closed connections may have sent.
  expect((await order('manual', 'run')).status).toBe(202);
  expect((await gateway.call('POST', '/actions', action)).status).toBe(202);
  expect(await counts()).toEqual([runs + 1, actions + 1]);
});

describe('lists', () => {
  test('of schedules, page by page', async () => {
    const looker = { token: 'a-token-that-looks' };
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await gateway.call('GET', `/schedules?limit=4${cursor}`, undefined, looker);
      expect(body['total']).toBe(13);
      seen.push(...(body['schedules'] as Schedule[]).map(({ id }) => id));
      cursor = body['next_cursor'] ? `&cursor=${body['next_cursor']}` : '';
    } while (cursor !== '');
    expect(seen).toEqual([...settings.schedules!.map(({ id }) => id), 'echo.0', 'echo.1']);
    expect(await show('off')).toMatchObject({ state: 'disabled', next: [] });
    expect(await show('daily')).toMatchObject({ state: 'active', cron: '0 0 * * *', timezone: 'Europe/Berlin' });
    expect((await show('daily')).next).toHaveLength(5);
    expect(await show('manual')).toMatchObject({ next: ['2999-01-01T00:00:00.000Z'], tags });
    expect(await show('ticks')).not.toHaveProperty('tags');
  });

  test('in the form of ductile', async () => {
    const { body } = await gateway.call('GET', '/scheduler/jobs');
    const jobs = body['jobs'] as readonly object[];
    expect(jobs).toHaveLength(13);
    expect(jobs.slice(-2)).toMatchObject([
      {
        ...{ plugin: 'echo', schedule_id: 'default', command: 'poll', mode: 'every', status: 'active' },
        ...{ reason: null, timezone: 'UTC', next_run_at: expect.any(String) },
      },
      { plugin: 'echo', schedule_id: 'second', command: 'poll', mode: 'cron' },
    ]);
    expect(jobs[1]).toMatchObject({ plugin: 'pipeline', command: 'two', schedule_id: 'runs' });
  });
});

describe('a backfill', () => {
  const days = { from: '2026-01-01T00:00:00Z', to: '2026-01-04T12:00:00Z' };
  const count = 3;
  const ended = (id: string) =>
    until('the backfill ends', async () => {
      const { body } = await gateway.call('GET', `/action/${id}`);
      return body['state'] === 'succeeded' ? body : null;
    });

  test('fires what has not fired, once, and leaves the schedule as it is', async () => {
    const before = await show('daily');
    expect((await order('daily', 'backfill', { ...days, dry_run: true })).body).toEqual({
      matched: count,
      already_fired: 0,
    });
    const { status, body } = await order('daily', 'backfill', { ...days, reason: 'the warehouse was closed' });
    expect(status).toBe(202);
    expect(body).toMatchObject({ matched: count });
    expect(await ended(String(body['action_id']))).toMatchObject({
      ...{ do: 'backfill', schedule: 'daily', matched: count, done: count, skipped: {}, failed: 0, by: 'api:test' },
      reason: 'the warehouse was closed',
    });
    const { body: logs } = await until('the jobs have ended', async () => {
      const answer = await gateway.call('GET', '/job-logs?submitted_by=schedule:daily');
      return answer.body['total'] === count ? answer : null;
    });
    const jobs = await Promise.all((logs['logs'] as readonly Job[]).map(({ job_id }) => gateway.job(job_id)));
    expect(jobs).toMatchObject(Array(count).fill({ tags }));
    // Midnight in Berlin.
    expect(jobs.map(job => (job as Detailed).schedule?.due_at).toSorted()).toEqual([
      '2026-01-01T23:00:00.000Z',
      '2026-01-02T23:00:00.000Z',
      '2026-01-03T23:00:00.000Z',
    ]);
    const after = await show('daily');
    expect({ ...after, next: [] }).toEqual({ ...before, next: [] });
    expect((await order('daily', 'backfill', { ...days, dry_run: true })).body).toEqual({
      matched: count,
      already_fired: count,
    });
    const again = await order('daily', 'backfill', days);
    expect(await ended(String(again.body['action_id']))).toMatchObject({ done: 0, skipped: { already_fired: count } });
  });

  test('has a beginning and an end that fit', async () => {
    const refused = async (body: object) => (await order('daily', 'backfill', body)).body['detail'];
    expect(await refused({ from: 'yesterday', to: days.to })).toContain('/from must be an RFC 3339 time');
    expect(await refused({ from: days.to, to: days.from })).toBe('/to must not be before "from"');
    expect(await refused({ from: '1900-01-01T00:00:00Z', to: days.to })).toBe('/from must not be before 1970');
    expect(await refused({ from: days.from })).toBe('/to is required');
    expect(await refused({ from: '1970-01-01T00:00:00Z', to: days.to })).toContain('more than 10000 occurrences');
  });

  test('leaves out what the schedule has fired itself, and what is still to come', async () => {
    const fired = await firings('ticks', 3);
    const { body } = await order('ticks', 'backfill', {
      from: fired.at(-3)!.due_at,
      to: '2999-01-01T00:00:00Z',
      dry_run: true,
    });
    expect(body['already_fired']).toBe(body['matched']);
    expect(body['matched']).toBeGreaterThanOrEqual(3);
  });
});
