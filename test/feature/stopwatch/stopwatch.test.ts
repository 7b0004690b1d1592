// GET /stopwatch/{plugin} over HTTP: its steps, its percentiles against those of the job records, and who may see spans.
import { expect, test } from 'vitest';
import { percentileErrorMax } from '../../../actors/index/records/histogram.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { journal } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

const plugins = {
  waiter: `${journal}
export async function handle(request, { span }) {
  const end = span('nap');
  note(request, 'start');
  await pause(request.event.payload.ms ?? 0);
  end();
  return {};
}
export const quick = () => ({});
export const fail = () => { throw Object.assign(new Error('no'), { retry: false }); };`,
};
const tests = ['timed', 'stepped', 'paused', 'stopped', 'spanned', 'kept', 'bounded', 'asked'];
const line = (name: string) => ({ name, on: name, steps: [{ id: 'first', uses: name }, { uses: `${name}.quick` }] });
const scopes = ['jobs:status:ro', 'jobs:rw', 'jobs:ro', 'plugin:rw'];
const scoped = (name: string, scopes: readonly string[]) => ({ name, token: `token-${name}`, scopes });
/** Each test has an instance of its own, and a pipeline over it, by the same name: nothing else counts there. */
const gateway = shareGateway({
  plugins,
  instances: Object.fromEntries(tests.map(name => [name, { uses: 'waiter' }])),
  pipelines: tests.map(line),
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        scoped('seeing', ['jobs:status:ro', 'jobs:result:ro']),
        ...scopes.map(scope => scoped(scope, [scope])),
      ],
    },
  },
});

type Figures = { readonly sample_count: number; readonly [figure: string]: number };
type Shown = Figures & {
  readonly step: string;
  readonly trend_p95_ms: number[];
  readonly subs?: (Figures & { name: string })[];
};
type Watch = { readonly steps: readonly Shown[]; readonly [field: string]: unknown };

async function stopwatch(path: string, token = everythingToken): Promise<Watch> {
  const { status, body } = await gateway.call('GET', `/stopwatch/${path}`, undefined, { token });
  expect(status).toBe(200);
  return body as unknown as Watch;
}

function stepOf(watch: Watch, step: string): Shown {
  return watch.steps.find(shown => shown.step === step)!;
}

/** The figures once so many runs of the step are counted. */
function counted(path: string, step: string, count: number): Promise<Watch> {
  return until(`${count} samples of ${step}`, async () => {
    const watch = await stopwatch(path);
    return stepOf(watch, step).sample_count >= count ? watch : null;
  });
}

function us(text: string | null): number {
  const [, seconds, fraction] = /^(.*)\.(\d{6})Z$/.exec(text!)!;
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction);
}

function expectExact(shown: Shown, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  expect(shown.sample_count).toBe(sorted.length);
  for (const [name, part] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const exact = sorted[Math.ceil(part * sorted.length) - 1]!;
    const given = shown[`${name}_us`]!;
    expect(Math.abs(given - exact), `${shown.step} ${name}: ${given} for ${exact}`).toBeLessThanOrEqual(
      exact * percentileErrorMax + 1,
    );
    expect(shown[`${name}_ms`]).toBe(Math.round(given / 1000));
  }
  expect(shown['max_us']).toBe(sorted.at(-1));
}

test('queue, run and total of a command are those of the job records, within the error of the buckets', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) ids.push(await gateway.submit('timed/handle', { ms: n % 7 }));
  const jobs = await gateway.allSettled(ids);
  const watch = await counted('timed', 'handle.run', jobs.length);
  const times = jobs.map(job => [us(job.created_at), us(job.started_at), us(job.completed_at)] as const);
  expectExact(
    stepOf(watch, 'handle.queue'),
    times.map(([created, started]) => started - created),
  );
  expectExact(
    stepOf(watch, 'handle.run'),
    times.map(([, started, completed]) => completed - started),
  );
  expectExact(
    stepOf(watch, 'handle.total'),
    times.map(([created, , completed]) => completed - created),
  );
});

test('a job that was paused has waited until the end of the pause, and is queued from then on', async () => {
  await gateway.call('POST', '/control/plugin/paused/pause');
  const id = await gateway.submit('paused/handle');
  const resumedUs = Date.now() * 1000;
  await gateway.call('POST', '/control/plugin/paused/resume');
  const job = await gateway.settled(id);
  const free = await gateway.finished('paused/quick');
  const watch = await counted('paused', 'quick.run', 1);
  const [waited, queue] = [stepOf(watch, 'handle.waited'), stepOf(watch, 'handle.queue')];
  expect([waited.sample_count, queue.sample_count]).toEqual([1, 1]);
  const created = us(job.created_at);
  expect(waited['max_us']).toBeGreaterThanOrEqual(resumedUs - created);
  expect(waited['max_us']! + queue['max_us']!).toBeCloseTo(us(job.started_at) - created, 0);
  // A command that nothing has held is listed without.
  expect(stepOf(watch, 'quick.waited')).toBeUndefined();
  expect(stepOf(watch, 'quick.queue')['max_us']).toBeCloseTo(us(free.started_at) - us(free.created_at), 0);
});

test('a job that was cancelled before it started gives no sample, a stopped attempt one of its run', async () => {
  await gateway.call('POST', '/control/plugin/stopped/pause');
  const waiting = await gateway.submit('stopped/handle');
  await gateway.call('POST', `/job/${waiting}/cancel`);
  await gateway.call('POST', '/control/plugin/stopped/resume');
  const running = await gateway.submit('stopped/handle', { ms: 60_000 });
  await gateway.noted('start', running);
  await gateway.call('POST', `/job/${running}/cancel`);
  expect(await gateway.settled(running)).toMatchObject({ status: 'cancelled', attempt: 1 });
  const watch = await counted('stopped', 'handle.run', 1);
  const counts = ['run', 'queue', 'waited'].map(what => stepOf(watch, `handle.${what}`)?.sample_count);
  expect(counts).toEqual([1, 1, undefined]);
});

test('every command and pipeline step is a step; the trend has 24 buckets; failures count too', async () => {
  await gateway.ran('stepped', { ms: 3 });
  await gateway.finished('stepped/fail');
  const watch = await counted('stepped', 'fail.run', 1);
  expect(watch).toMatchObject({ plugin: 'stepped', window: '24h' });
  expect(Date.parse(String(watch['captured_at']))).toBeGreaterThan(Date.now() - 60_000);
  const counts = Object.fromEntries(watch.steps.map(({ step, sample_count }) => [step, sample_count]));
  const of = (command: string, count: number) => ['queue', 'run', 'total'].map(what => [`${command}.${what}`, count]);
  expect(counts).toEqual({
    ...Object.fromEntries([...of('handle', 1), ...of('quick', 1), ...of('fail', 1)]),
    'stepped/first': 1,
    'stepped/2': 1,
  });
  const first = stepOf(watch, 'stepped/first');
  expect(first.trend_p95_ms).toHaveLength(24);
  expect(first.trend_p95_ms.slice(0, 23)).toEqual(Array(23).fill(0));
  expect(first.trend_p95_ms[23]).toBe(first['p95_ms']);
  expect(first['p50_ms']).toBeGreaterThanOrEqual(3);
});

test('spans stand in their steps, for those who may see results', async () => {
  await gateway.ran('spanned', { ms: 5 });
  const watch = await counted('spanned?include_subs=true', 'quick.run', 1);
  for (const step of ['handle.run', 'spanned/first']) {
    expect(stepOf(watch, step).subs).toMatchObject([{ name: 'nap', sample_count: 1 }]);
    expect(stepOf(watch, step).subs![0]!['p50_us']).toBeGreaterThan(4_000);
  }
  expect(stepOf(watch, 'quick.run').subs).toEqual([]);
  const blind = await stopwatch('spanned?include_subs=true', 'token-jobs:status:ro');
  expect(blind['subs_unavailable']).toBe('insufficient_scope');
  expect(JSON.stringify(blind)).not.toContain('nap');
  expect(stepOf(await stopwatch('spanned?include_subs=true', 'token-seeing'), 'handle.run').subs).toHaveLength(1);
  expect(stepOf(await stopwatch('spanned'), 'handle.run')).not.toHaveProperty('subs');
});

test('what was measured is kept over restarts, and counted once', async () => {
  for (let n = 0; n < 5; n++) await gateway.finished('kept/quick');
  const before = await counted('kept', 'quick.run', 5);
  await gateway.restart();
  expect(stepOf(await counted('kept', 'quick.run', 5), 'quick.run')).toEqual(stepOf(before, 'quick.run'));
  await gateway.finished('kept/quick');
  expect(stepOf(await counted('kept', 'quick.run', 6), 'quick.run').sample_count).toBe(6);
});

test('what had ended before the call is counted', async () => {
  for (const count of [1, 2, 3]) {
    await gateway.finished('asked/quick');
    expect(stepOf(await stopwatch('asked'), 'quick.run').sample_count).toBe(count);
  }
});

test('since bounds the window, to the minute', async () => {
  await gateway.finished('bounded/quick');
  await counted('bounded', 'quick.run', 1);
  const later = new Date(Date.now() + 120_000).toISOString();
  const old = new Date(Date.now() - 90 * 60_000).toISOString();
  expect(await stopwatch(`bounded?since=${old}`)).toMatchObject({ window: '90m' });
  expect(stepOf(await stopwatch(`bounded?since=${later}`), 'quick.run').sample_count).toBe(0);
  const { status, body } = await gateway.call('GET', '/stopwatch/bounded?since=yesterday');
  expect([status, body['detail']]).toEqual([400, expect.stringContaining('"since"')]);
});

test('404 for an unknown plugin; needs jobs:status:ro, jobs:rw or *', async () => {
  const status = async (scope: string, plugin: string) =>
    (await gateway.call('GET', `/stopwatch/${plugin}`, undefined, { token: `token-${scope}` })).status;
  expect(await Promise.all(scopes.map(scope => status(scope, 'waiter')))).toEqual([200, 200, 403, 403]);
  expect(await status('jobs:rw', 'nobody')).toBe(404);
});
