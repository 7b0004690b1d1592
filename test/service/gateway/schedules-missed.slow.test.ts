// What schedules do with the times that passed while the service was down, the schedule was paused, or the clock was set; and what a
// reload changes.
import { expect, test } from 'vitest';
import { missedMax } from '../../../actors/schedule/plan.ts';
import { queueMax } from '../../../actors/schedule/records/schedule.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { openSource } from '../../feature/events/reader.ts';
import { startClocked } from './clock.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { startGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const hourly = { plugin: 'echo', cron: '0 * * * *', if_running: 'allow' };

const settings: Settings = {
  plugins: { echo },
  schedules: [
    { id: 'once', ...hourly },
    { id: 'all', ...hourly, catch_up: 'run_all' },
    { id: 'none', ...hourly, catch_up: 'skip' },
    { id: 'recent', ...hourly, catch_up: 'run_all', catch_up_within: '90m' },
    { id: 'first', ...hourly, catch_up: 'run_all', if_running: 'skip' },
    { id: 'single', plugin: 'echo', at: '2027-11-01T12:00:00Z' },
  ],
};

type Firing = {
  readonly outcome: string;
  readonly reason?: string;
  readonly due_at: string | null;
  readonly last_due_at?: string;
  readonly missed?: number;
  readonly count?: number;
};
type Schedule = {
  readonly id: string;
  readonly state: string;
  readonly next: string[];
  readonly next_run_at: string;
  readonly history: Firing[];
};

async function startAt(time: string, given = settings) {
  const { gateway, clock } = await startClocked(time, given);
  const all = async (): Promise<{ readonly [id: string]: Schedule }> => {
    const { body } = await gateway.call('GET', '/schedules');
    return Object.fromEntries((body['schedules'] as Schedule[]).map(schedule => [schedule.id, schedule]));
  };
  /** The histories once no job is running, oldest first, as `outcome due (missed)` or `reason first count`. */
  const told = async (ids: readonly string[], isDone: (all: { [id: string]: Schedule }) => boolean = () => true) => {
    const schedules = await until('the schedules have fired', async () => {
      const found = await all();
      // Right after the start there may be no history yet.
      const isOver = Object.values(found).every(({ history }) =>
        history?.every(({ outcome }) => outcome !== 'running' && outcome !== 'queued'),
      );
      return isOver && isDone(found) ? found : null;
    });
    return Object.fromEntries(ids.map(id => [id, schedules[id]!.history.toReversed().map(line)]));
  };
  return { gateway, clock, all, told };
}

function line({ outcome, reason, due_at, missed, count }: Firing): string {
  const due = due_at?.slice(11, 16);
  return reason === undefined ? `${outcome} ${due} (${missed})` : `${reason} ${due} x${count}`;
}

test('after a time without the service, catch_up decides', async () => {
  const { gateway, clock, all, told } = await startAt('2027-11-01T10:10:00Z');
  // Times before a schedule was first loaded do not count as missed.
  expect(await told(['once', 'all'])).toEqual({ once: [], all: [] });
  await gateway.kill9();
  clock.set('2027-11-01T13:20:00Z');
  await gateway.start();
  expect(
    await told(['once', 'all', 'none', 'recent', 'first', 'single'], found => found['all']!.history.length === 3),
  ).toEqual({
    once: ['missed 11:00 x2', 'succeeded 13:00 (2)'],
    all: ['succeeded 11:00 (0)', 'succeeded 12:00 (0)', 'succeeded 13:00 (0)'],
    none: ['missed 11:00 x3'],
    recent: ['missed 11:00 x1', 'succeeded 12:00 (1)', 'succeeded 13:00 (0)'],
    first: ['succeeded 11:00 (0)', 'running 12:00 x2'],
    single: ['succeeded 12:00 (0)'],
  });
  expect((await all())['single']).toMatchObject({ state: 'finished', next: [] });
  // A second start finds nothing more to do.
  await gateway.restart();
  expect((await told(['once', 'all', 'none']))['once']).toEqual(['missed 11:00 x2', 'succeeded 13:00 (2)']);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

test('a clock that is set forward makes times missed, and one that is set back fires nothing twice', async () => {
  const { gateway, clock, told } = await startAt('2027-11-01T10:10:00Z');
  clock.set('2027-11-01T12:10:00Z');
  const forward = {
    once: ['missed 11:00 x1', 'succeeded 12:00 (1)'],
    all: ['succeeded 11:00 (0)', 'succeeded 12:00 (0)'],
    none: ['missed 11:00 x2'],
  };
  const ids = ['once', 'all', 'none'];
  expect(await told(ids, found => found['none']!.history.length > 0)).toEqual(forward);
  clock.set('2027-11-01T09:59:59Z');
  // A job shows that the service goes on.
  await gateway.finished('echo/handle');
  await gateway.kill9();
  clock.set('2027-11-01T09:59:59.9Z');
  await gateway.start();
  clock.set('2027-11-01T11:59:59.9Z');
  await gateway.finished('echo/handle');
  expect(await told(ids)).toEqual(forward);
  clock.set('2027-11-01T13:00:00Z');
  const once = await told(ids, found => found['once']!.history.length > 2);
  expect(once['once']).toEqual([...forward.once, 'succeeded 13:00 (0)']);
  // The next occurrence that fires counts those that did not, however long ago they were due.
  const none = await told(['none'], found => found['none']!.history.length > 1);
  expect(none['none']).toEqual([...forward.none, 'succeeded 13:00 (2)']);
});

test('schedules with many missed occurrences do not all share a turn', async () => {
  const zones = ['Berlin', 'Paris', 'Rome', 'Madrid', 'Vienna', 'Prague', 'Oslo', 'Warsaw'];
  const { gateway, clock } = await startAt('2027-11-01T10:10:00Z', {
    plugins: { echo },
    schedules: zones.map(zone => {
      return { id: zone, plugin: 'echo', cron: '* * * * * *', timezone: `Europe/${zone}`, catch_up: 'skip' };
    }),
  });
  const events = await openSource(gateway, '?types=schedule.missed');
  clock.set('2027-11-01T12:10:00Z');
  const told = await until('all have noticed', () => {
    const found = events.seen.filter(({ data }) => Number(data['count']) > missedMax / 2);
    return found.length === zones.length && found;
  });
  // All events of a turn have the time of that turn. A fast machine may decide on two schedules in a turn.
  expect(new Set(told.map(({ data }) => data['at'])).size).toBeGreaterThanOrEqual(zones.length / 2);
});

test('within its jitter an occurrence waits for its time, though the service restarts or the schedule is paused meanwhile', async () => {
  const spread = { ...hourly, jitter: '59m', catch_up: 'skip' };
  const { gateway, clock, all, told } = await startAt('2027-11-01T10:30:00Z', {
    plugins: { echo },
    schedules: [
      { id: 'restarted', ...spread },
      { id: 'paused', ...spread },
    ],
  });
  clock.set('2027-11-01T11:00:30Z');
  const before = ({ next_run_at: at }: Schedule) => new Date(Date.parse(at) - 2_000).toISOString();
  // The jitter of an occurrence is a hash of schedule and time, so it is known here.
  const { restarted, paused } = await all();
  expect([restarted, paused].map(schedule => schedule!.next_run_at.slice(0, 16))).toEqual([
    ...['2027-11-01T11:26', '2027-11-01T11:07'],
  ]);
  await gateway.call('POST', '/schedule/paused/pause', {});
  clock.set('2027-11-01T11:05:00Z');
  await gateway.restart();
  await gateway.call('POST', '/schedule/paused/resume', {});
  expect(await told(['restarted', 'paused'])).toEqual({ restarted: [], paused: [] });
  // The service has two seconds to notice the new time.
  clock.set(before(paused!));
  await told(['paused'], found => found['paused']!.history.length > 0);
  clock.set(before(restarted!));
  const fired = ['succeeded 11:00 (0)'];
  expect(await told(['restarted', 'paused'], found => found['restarted']!.history.length > 0)).toEqual({
    ...{ restarted: fired, paused: fired },
  });
});

test('what comes due while the service stops fires at the next start', async () => {
  const each = { id: 'each', plugin: 'echo', every: '1s', if_running: 'allow', catch_up: 'run_all' };
  const gateway = await startGateway({ plugins: { echo, worker }, schedules: [each] });
  const held = await gateway.submit('worker/handle', { gate: 'slow' });
  await gateway.noted('start', held);
  const ended = gateway.term();
  await until('new work is refused', async () => (await gateway.call('POST', '/plugin/echo/handle')).status === 503);
  const stoppingMs = Date.now();
  await until('three occurrences have come due', () => Date.now() > stoppingMs + 3_500);
  gateway.open('slow');
  await ended;
  await gateway.start();
  const history = await until('a later occurrence has fired', async () => {
    const { body } = await gateway.call('GET', '/schedule/each');
    const { history } = body as unknown as Schedule;
    return Date.parse(history[0]?.due_at ?? '') > stoppingMs + 4_000 ? history : null;
  });
  expect(history.filter(({ reason }) => reason !== undefined)).toEqual([]);
  const dues = history.map(({ due_at }) => Date.parse(due_at!));
  expect(dues).toEqual(dues.map((_, place) => dues[0]! - 1_000 * place));
});

test('for the times of a pause catch_up decides when it ends', async () => {
  const { gateway, clock, told } = await startAt('2027-11-01T10:10:00Z');
  const order = (id: string, what: string) => gateway.call('POST', `/schedule/${id}/${what}`, {});
  for (const id of ['once', 'none']) await order(id, 'pause');
  clock.set('2027-11-01T12:10:00Z');
  expect((await told(['all', 'once', 'none'], found => found['all']!.history.length === 2))['once']).toEqual([]);
  await gateway.restart();
  for (const id of ['once', 'none']) await order(id, 'resume');
  expect(await told(['once', 'none'], found => found['once']!.history.length > 0)).toEqual({
    once: ['missed 11:00 x1', 'succeeded 12:00 (1)'],
    none: ['missed 11:00 x2'],
  });
});

test('other times count from the reload, and what is removed keeps its history', async () => {
  const { gateway, clock, all, told } = await startAt('2027-11-01T10:10:00Z');
  clock.set('2027-11-01T11:10:00Z');
  await told(['once'], found => found['once']!.history.length === 1);
  const changed = settings.schedules!.filter(({ id }) => id !== 'all');
  await gateway.reload({
    ...settings,
    schedules: changed.map(schedule => (schedule['id'] === 'once' ? { ...schedule, cron: '5 * * * *' } : schedule)),
  });
  const after = await all();
  expect(after['once']).toMatchObject({ state: 'active', history: [{ due_at: '2027-11-01T11:00:00.000Z' }] });
  expect(after['once']!.next[0]).toBe('2027-11-01T12:05:00.000Z');
  expect(after['all']).toMatchObject({
    state: 'removed',
    next: [],
    history: [{ due_at: '2027-11-01T11:00:00.000Z' }],
  });
  expect((await gateway.call('GET', '/schedule/all')).body).toEqual(after['all']);
  const shown = await headgate(['schedule', 'show', 'all', '--url', gateway.url], {
    env: { HEADGATE_TOKEN: everythingToken },
  });
  expect(shown.stdout).toMatch(/^all removed\nfired {4}succeeded 2027-11-01 11:00:00\.000/);
  expect(await gateway.call('POST', '/schedule/all/run', {})).toMatchObject({ status: 404 });
  // A schedule that returns to the configuration has missed nothing meanwhile.
  await gateway.kill9();
  clock.set('2027-11-01T15:10:00Z');
  gateway.write(settings);
  await gateway.start();
  expect((await told(['all']))['all']).toEqual(['succeeded 11:00 (0)']);
  expect((await all())['all']!.next[0]).toBe('2027-11-01T16:00:00.000Z');
  await gateway.kill9();
  clock.set('2027-12-15T00:10:00Z');
  gateway.write({ ...settings, schedules: changed });
  await gateway.start();
  await until('its removal is stored', async () => 'removed_at' in (await all())['all']!);
  expect((await all())['all']).toMatchObject({ state: 'removed' });
  clock.set('2028-01-15T00:10:00Z');
  await until('its history is gone', async () => !Object.hasOwn(await all(), 'all'));
});

test('after a reload with another time, a backfill knows what has fired at the old time and at the new one', async () => {
  const at = (cron: string) => ({ plugins: { echo }, schedules: [{ id: 'daily', plugin: 'echo', cron }] });
  const { gateway, clock, told } = await startAt('2027-11-01T10:30:00Z', at('0 11 * * *'));
  const fired = (count: number) => told(['daily'], found => found['daily']!.history.length === count);
  clock.set('2027-11-01T11:00:00Z');
  await fired(1);
  await gateway.reload(at('0 12 * * *'));
  clock.set('2027-11-01T12:00:00Z');
  expect((await fired(2))['daily']).toEqual(['succeeded 11:00 (0)', 'succeeded 12:00 (0)']);
  const day = { from: '2027-11-01T00:00:00Z', to: '2027-11-01T23:00:00Z' };
  const { body } = await gateway.call('POST', '/schedule/daily/backfill', { ...day, dry_run: true });
  expect(body).toEqual({ matched: 1, already_fired: 1 });
});

test('a schedule that was off before it was removed keeps its history for 30 days from the removal', async () => {
  const { gateway, clock, all, told } = await startAt('2027-11-01T10:10:00Z');
  clock.set('2027-11-01T11:10:00Z');
  const history = await told(['all', 'none'], found => found['all']!.history.length === 1);
  const without = (...removed: string[]) => settings.schedules!.filter(({ id }) => !removed.includes(String(id)));
  const off = without('none').map(schedule => (schedule['id'] === 'all' ? { ...schedule, enabled: false } : schedule));
  await gateway.reload({ ...settings, schedules: off });
  expect(await all()).toMatchObject({ all: { state: 'disabled' }, none: { state: 'removed' } });
  await gateway.kill9();
  clock.set('2027-11-21T11:10:00Z');
  gateway.write({ ...settings, schedules: without('none', 'all') });
  await gateway.start();
  const removed = await until('its removal is stored', async () => {
    const { all: found } = await all();
    return 'removed_at' in found! && found;
  });
  expect(removed).toMatchObject({ state: 'removed', removed_at: expect.stringMatching(/^2027-11-21/) });
  clock.set('2027-12-11T11:10:00Z');
  await until('the one that was removed first is gone', async () => !Object.hasOwn(await all(), 'none'));
  expect((await told(['all']))['all']).toEqual(history['all']);
  clock.set('2027-12-22T11:10:00Z');
  await until('its history is gone', async () => !Object.hasOwn(await all(), 'all'));
});

test('occurrences that are refused are tried again, and passed over when the next one is due', async () => {
  const {
    gateway,
    clock,
    all: schedules,
    told,
  } = await startAt('2027-11-01T10:30:00Z', {
    plugins: { echo, worker },
    schedules: [
      { id: 'hour', ...hourly },
      { id: 'second', plugin: 'echo', every: '1s', catch_up: 'skip' },
    ],
    service: { max_queue_depth: 1 },
  });
  // This call fills the queue.
  await until('it is accepted', async () => {
    const { status } = await gateway.call('POST', '/plugin/worker/handle', { payload: { gate: 'full' } });
    return status === 202;
  });
  clock.set('2027-11-01T10:59:58Z');
  // A refusal of `second` after 11:00 shows that the hour has passed; the full queue has kept `hour` from firing.
  const isRefused = ({ history: [last] }: Schedule) =>
    last?.reason === 'refused' && last.last_due_at! > '2027-11-01T11:00:01';
  expect((await told(['hour'], found => isRefused(found['second']!)))['hour']).toEqual([]);
  gateway.open('full');
  const fired = await told(['hour'], found => found['hour']!.history.length > 0);
  expect(fired['hour']).toEqual(['succeeded 11:00 (0)']);
  // `second` goes on with its next occurrence, which counts the refused ones.
  const [passed, next] = await until('the other fires again', async () => {
    const history = (await schedules())['second']!.history.toReversed();
    const place = history.findLastIndex(({ reason }) => reason === 'refused') + 1;
    const fired = history.slice(0, place).findLastIndex(({ reason }) => reason === undefined);
    const next = history[place];
    return next && ([history.slice(fired + 1, place), next] as const);
  });
  const count = passed.reduce((sum, { count = 0 }) => sum + count, 0);
  expect(next).toMatchObject({ missed: Math.min(count, missedMax) });
});

test('a queue has at most 100 occurrences; what comes while it is full is skipped, and the others fire in order', async () => {
  const { gateway, clock, all, told } = await startAt('2027-11-01T10:00:30Z', {
    plugins: { worker },
    schedules: [
      {
        ...{ id: 'minute', plugin: 'worker', cron: '* * * * *', payload: { gate: 'queue' } },
        ...{ if_running: 'queue', catch_up: 'run_all' },
      },
    ],
  });
  type Queued = Schedule & { readonly queued: number };
  const queued = async () => ((await all())['minute'] as Queued).queued;
  const events = await openSource(gateway, '?types=schedule.skipped');
  // One runs, and 99 wait.
  clock.set('2027-11-01T11:40:30Z');
  await until('99 wait', async () => (await queued()) === 99);
  clock.set('2027-11-01T11:45:30Z');
  await until('four are skipped', () => events.seen.length === 4);
  expect(await queued()).toBe(queueMax);
  expect(events.seen[0]!.data).toMatchObject({
    ...{ schedule: 'minute', due_at: '2027-11-01T11:42:00.000Z', reason: 'queue_full' },
  });
  gateway.open('queue');
  await until('the queue is empty', async () => (await queued()) === 0);
  const { minute: ended } = await told(['minute']);
  // The history keeps the latest 20.
  const fired = Array.from({ length: 19 }, (_, n) => `succeeded 11:${23 + n} (0)`);
  expect(ended).toEqual([...fired, 'queue_full 11:42 x4']);
});

test('an event says what was missed, and another that a schedule has paused itself', async () => {
  const { gateway, clock } = await startAt('2027-11-01T10:10:00Z', {
    plugins: { echo, failing },
    instances: { failing: { retry: { max_attempts: 1 } } },
    schedules: [
      { id: 'none', ...hourly, catch_up: 'skip' },
      { id: 'fails', ...hourly, plugin: 'failing', pause_after_failures: 1 },
    ],
  });
  const events = await openSource(gateway, '?types=schedule.*');
  clock.set('2027-11-01T12:10:00Z');
  const of = (type: string, schedule: string) =>
    until(`${type} of ${schedule}`, () => {
      return events.seen.find(each => each.type === type && each.data['schedule'] === schedule)?.data;
    });
  expect(await of('schedule.missed', 'none')).toMatchObject({
    ...{ reason: 'missed', count: 2 },
    ...{ from: '2027-11-01T11:00:00.000Z', to: '2027-11-01T12:00:00.000Z' },
  });
  expect(await of('schedule.fired', 'fails')).toMatchObject({ due_at: '2027-11-01T12:00:00.000Z', missed: 1 });
  expect(await of('schedule.paused', 'fails')).toMatchObject({ by: 'schedule', reason: '1 failures in a row' });
});

test('a single time that has passed at the first load never fires, and the check of the configuration warns of it', async () => {
  const passed = { id: 'passed', plugin: 'echo', at: '2027-11-01T09:00:00Z' };
  const { gateway, clock, all } = await startAt('2027-11-01T10:10:00Z', { plugins: { echo }, schedules: [passed] });
  expect(gateway.log.some(({ msg }) => /schedules\[0\]\.at: is in the past/.test(String(msg)))).toBe(true);
  await gateway.restart();
  clock.set('2027-11-02T10:10:00Z');
  await gateway.finished('echo/handle');
  expect((await all())['passed']).toMatchObject({ state: 'finished', next: [], history: [] });
});

test('with replace, each occurrence that is made up cancels the one before it', async () => {
  const schedules = [{ id: '1', ...hourly, catch_up: 'run_all', if_running: 'replace', payload: { gate: '1' } }];
  const { gateway, clock } = await startAt('2027-11-01T10:10:00Z', { plugins: { echo: worker }, schedules });
  clock.set('2027-11-01T13:10:00Z');
  const path = '/jobs?status=cancelled';
  await until('the first two are cancelled', async () => (await gateway.call('GET', path)).body['total'] === 2);
});
