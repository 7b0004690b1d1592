// GET /stopwatch/{plugin} over HTTP: its steps, its percentiles against those of the job records, and who may see spans.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { journal } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { percentileErrorMax } from '../../support/percentile-error.ts';
import { headgate } from '../cli/headgate.ts';

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
  falling: `import { setTimeout as pause } from 'node:timers/promises';
export const fall = () => pause(20).then(() => Promise.reject(new Error('no')));`,
};
const tests = 'timed stepped paused stopped spanned kept bounded asked plotted rebuilt typed seen'.split(' ');
const line = (name: string) => ({ name, on: name, steps: [{ id: 'first', uses: name }, { uses: `${name}.quick` }] });
const scopes = ['jobs:status:ro', 'jobs:rw', 'jobs:ro', 'plugin:rw'];
const scoped = (name: string, scopes: readonly string[]) => ({ name, token: `token-${name}`, scopes });
/** Each test has an instance, and a pipeline of the same name that uses it, so that no other test counts there. */
const gateway = shareGateway({
  plugins,
  instances: {
    ...Object.fromEntries([...tests, 'crowded'].map(name => [name, { uses: 'waiter' }])),
    falling: { retry: { backoff_base: '1h', backoff_max: '1h' } },
  },
  pipelines: [...tests.map(line), { name: 'crowd', steps: Array(100).fill({ uses: 'crowded.quick' }) }],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        scoped('seeing', ['jobs:status:ro', 'jobs:result:ro']),
        scoped('listing', ['jobs:status:ro', 'jobs:ro']),
        ...scopes.map(scope => scoped(scope, [scope])),
      ],
    },
  },
});

type Figures = { readonly sample_count: number; readonly [figure: string]: number };
type Exemplar = { readonly job_id: string; readonly us: number };
type Cell = Figures & { readonly at: string; readonly exemplars?: Exemplar[] };
type Shown = Figures & {
  readonly step: string;
  readonly trend_p95_ms: number[];
  readonly series?: (Figures & { readonly at: string })[];
  readonly heat?: Cell[];
  readonly exemplars?: Exemplar[];
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

/** The stopwatch, once it has counted `count` samples of the step. */
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
  // A command whose jobs were never held has no step `waited`.
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

test('a job that was stopped between two attempts has a total time, and only the attempt that ran has a time', async () => {
  const call = async (body: object) =>
    String((await gateway.call('POST', '/plugin/falling/fall', body)).body['job_id']);
  const [late, cancelled] = [await call({ deadline: '5s' }), await call({})];
  await gateway.waiting(cancelled, 'retry');
  await gateway.call('POST', `/job/${cancelled}/cancel`);
  for (const [id, status] of [
    [cancelled, 'cancelled'],
    [late, 'timed_out'],
  ] as const)
    expect(await gateway.settled(id)).toMatchObject({ status, attempt: 2 });
  const watch = await counted('falling', 'fall.total', 2);
  const run = stepOf(watch, 'fall.run');
  expect([run.sample_count, stepOf(watch, 'fall.queue').sample_count]).toEqual([2, 2]);
  expect(run['p50_us']).toBeGreaterThan(19_000);
  const metrics = String((await gateway.call('GET', '/metrics')).body['text']);
  for (const name of ['attempt_seconds', 'job_total_seconds'])
    expect(metrics).toContain(`headgate_${name}_count{plugin="falling",command="fall"} 2\n`);
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

test('series and heat have the samples of their buckets and cells, and lead to the jobs with the longest times', async () => {
  const jobs = [];
  for (let n = 0; n < 30; n++) jobs.push(await gateway.finished('plotted/handle', { ms: n % 10 === 7 ? 70 : 3 }));
  const ran = new Map(jobs.map(job => [job.job_id, us(job.completed_at) - us(job.started_at)]));
  await counted('plotted', 'handle.run', jobs.length);
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const watch = await stopwatch(`plotted?from=${from}&series=true&heat=true&buckets=1`);
  expect(watch).toMatchObject({ from: `${from.slice(0, 16)}:00.000000Z`, window: '1h', to: watch['captured_at'] });
  expect(watch['bucket_minutes']).toBeGreaterThanOrEqual(60);
  const shown = stepOf(watch, 'handle.run');
  const at = watch['from'];
  const figures = ['sample_count', 'p50_us', 'p95_us', 'p99_us', 'max_us'].map(name => [name, shown[name]] as const);
  expect(shown.series).toEqual([{ at, ...Object.fromEntries(figures) }]);
  const cells = shown.heat!.map(cell => {
    const inside = [...ran.values()].filter(time => time >= cell['from_us']! && time < cell['to_us']!);
    for (const { job_id, us } of cell.exemplars!) expect([us, inside.includes(us)]).toEqual([ran.get(job_id), true]);
    expect(cell).toMatchObject({ at, sample_count: inside.length });
    expect(cell.exemplars!.length).toBeGreaterThan(0);
    return cell.sample_count;
  });
  expect(cells.length).toBeGreaterThan(1);
  expect(cells.reduce((sum, count) => sum + count)).toBe(jobs.length);
  // The longest ones are among those that slept for long.
  const [longest] = shown.exemplars!;
  expect(longest!.us).toBeGreaterThanOrEqual(shown['max_us']! * (1 - 2 * percentileErrorMax));
  expect(await gateway.job(longest!.job_id)).toMatchObject({ plugin: 'plotted', command: 'handle' });
});

test('a series has a bucket for each part of the window that has samples, in whole minutes', async () => {
  const from = new Date(Date.now() - 6 * 3_600_000).toISOString();
  await gateway.finished('plotted/quick');
  await counted('plotted', 'quick.run', 1);
  const watch = await stopwatch(`plotted?from=${from}&series=true`);
  // The window has 361 minutes, with the current one, in at most 48 buckets.
  expect(watch['bucket_minutes']).toBe(8);
  const { series, ...rest } = stepOf(watch, 'quick.run');
  expect(series).toHaveLength(1);
  expect((Date.parse(series![0]!.at) - Date.parse(String(watch['from']))) / 60_000).toBe(45 * 8);
  expect(rest).not.toHaveProperty('heat');
  expect(stepOf(watch, 'fail.run').series).toEqual([]);
  const whole = await stopwatch('plotted?since=2026-01-01T00:00:00Z&heat=true&buckets=400');
  expect(whole).toMatchObject({ window: '168h', bucket_minutes: 26 });
  expect(stepOf(whole, 'quick.run')).not.toHaveProperty('series');
  expect(stepOf(whole, 'quick.run').heat).toHaveLength(1);
});

test('from and to bound the window: windows that follow each other share no sample', async () => {
  await gateway.finished('bounded/fail');
  await counted('bounded', 'fail.run', 1);
  const minute = (ago: number) => new Date((Math.floor(Date.now() / 60_000) - ago) * 60_000).toISOString();
  const [earlier, cut, future] = [minute(90), minute(30), minute(-30)];
  const countIn = async (query: string) => {
    const watch = await stopwatch(`bounded?${query}`);
    return [watch['window'], stepOf(watch, 'fail.run').sample_count];
  };
  expect(await countIn(`from=${earlier}&to=${cut}`)).toEqual(['1h', 0]);
  expect(await countIn(`from=${cut}&to=${future}`)).toEqual([expect.stringMatching(/^3[01]m$/), 1]);
  expect(await countIn(`to=${cut}`)).toEqual(['24h', 0]);
  expect(await countIn(`to=${future}`)).toEqual(['24h', 1]);
  expect(await countIn('from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z')).toEqual(['0m', 0]);
  expect(await stopwatch(`bounded?from=${earlier}&to=${cut}`)).toMatchObject({
    from: earlier.replace('.000Z', '.000000Z'),
    to: cut.replace('.000Z', '.000000Z'),
  });
});

test('step selects steps of the configuration', async () => {
  const names = async (query: string) => (await stopwatch(`timed?${query}`)).steps.map(({ step }) => step);
  expect(await names('step=quick.run&step=timed/first')).toEqual(['quick.run', 'timed/first']);
  expect(await names('step=handle.waited')).toEqual(['handle.waited']);
});

const day = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'] as const;
test.each([
  [`from=${day[1]}&to=${day[0]}`, 'the query parameter "from" must be before "to"'],
  [`since=${day[0]}&to=${day[0]}`, 'the query parameter "since" must be before "to"'],
  [`since=${day[0]}&from=${day[1]}`, '"since" and "from" mean the same; give one of them'],
  ['to=tomorrow', '"to" must be an RFC 3339 time, such as 2026-01-31T12:00:00Z'],
  ['series=yes', '"series" must be true or false'],
  ['buckets=7', '"buckets" needs "series=true" or "heat=true"'],
  ['heat=true&buckets=401', '"buckets" must be a whole number from 1 to 400'],
  ['step=handle.rum', '"step" must be a step of "timed", and not "handle.rum"; without "step" all are listed'],
  [Array(21).fill('step=quick.run').join('&'), '"step" is given more than 20 times'],
])('400 for %s', async (query, told) => {
  const { status, body } = await gateway.call('GET', `/stopwatch/timed?${query}`);
  expect([status, body['code'], body['detail']]).toEqual([400, 'invalid_query', expect.stringContaining(told)]);
});

test('an answer has at most 5,000 points', async () => {
  const answer = (query: string) => gateway.call('GET', `/stopwatch/crowded?series=true${query}`);
  const { status, body } = await answer('');
  const limit = '109 steps in 48 buckets are more than 5000 points';
  const told = `${limit}: "buckets" must be at most 45, or "step" must select fewer steps`;
  expect([status, body['code'], body['detail']]).toEqual([400, 'invalid_query', told]);
  expect((await answer('&buckets=45')).status).toBe(200);
  expect((await answer('&buckets=400&step=crowd/99')).status).toBe(200);
});

test('jobs are named to those only who may list jobs', async () => {
  const { job_id: id } = await gateway.finished('seen/quick');
  await counted('seen', 'quick.run', 1);
  const query = 'seen?series=true&heat=true&step=quick.run';
  for (const token of ['token-listing', 'token-jobs:rw'])
    expect(stepOf(await stopwatch(query, token), 'quick.run').exemplars).toMatchObject([{ job_id: id }]);
  for (const token of ['token-seeing', 'token-jobs:status:ro']) {
    const blind = await stopwatch(query, token);
    expect(blind).toMatchObject({
      exemplars_unavailable: 'insufficient_scope',
      steps: [{ heat: [{ sample_count: 1 }] }],
    });
    expect(JSON.stringify(blind)).not.toContain(id);
  }
  const plain = stepOf(await stopwatch('seen'), 'quick.run');
  for (const more of ['exemplars', 'series', 'heat']) expect(plain).not.toHaveProperty(more);
});

test('an index that is built again has the same series, cells and exemplars', async () => {
  for (let n = 0; n < 8; n++) await gateway.finished('rebuilt/handle', { ms: 2 ** (n % 4) });
  await counted('rebuilt', 'handle.run', 8);
  const from = new Date(Date.now() - 600_000).toISOString();
  const seen = async () => (await stopwatch(`rebuilt?from=${from}&series=true&heat=true&buckets=1`)).steps;
  const before = await seen();
  expect(before.find(({ step }) => step === 'handle.run')!.exemplars!.length).toBeGreaterThan(1);
  await gateway.term();
  rmSync(join(gateway.directory, 'data/search'), { recursive: true });
  await gateway.start();
  await counted('rebuilt', 'handle.run', 8);
  expect(await seen()).toEqual(before.map(step => ({ ...step, trend_p95_ms: expect.any(Array) })));
});

test('headgate stopwatch plots a series with the jobs that took longest, and compares two windows', async () => {
  const { job_id: id } = await gateway.finished('typed/handle', { ms: 60 });
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken };
  const call = (...words: string[]) => headgate(['stopwatch', 'typed', ...words], { env });
  const series = (await call('--step', 'handle.run', '--from', '2h', '--series')).stdout;
  expect(series).toMatch(/^typed, [-\d]+ [\d:]+ to [-\d]+ [\d:]+ \(UTC\)\nSTEP +EACH COLUMN 3m 00s +MOST\n/);
  expect(series).toMatch(/\nhandle\.run +count +·+█ +1\n +p50 +·+█ +[\d.]+ ms\n/);
  expect(series).toMatch(new RegExp(`\\n +longest +${id} +[\\d.]+ ms\\n$`));
  const { status, json } = await call('--step', 'handle.run', '--compare', '2h..1h', '--json');
  expect([status, json.plugin, json.before.to]).toEqual([0, 'typed', json.after.from]);
  expect(json.steps).toMatchObject([
    { step: 'handle.run', before: { sample_count: 0 }, after: { sample_count: 1 }, p50: null },
  ]);
  const shown = (await call('--compare', '2h..1h')).stdout;
  expect(shown).toMatch(/^typed, .* \(UTC\) against .* \(UTC\)\nSTEP +COUNT +P50 .*\nhandle\.run +0 → 1 +- → \d/s);
  const [ago, ahead] = [-2, 2].map(hours => new Date(Date.now() + hours * 3_600_000).toISOString());
  const same = await call('--step', 'handle.run', '--compare', `${ago}..${ahead}`, '--from', '2h', '--json');
  expect(same.json.steps[0].p50).toEqual({ difference_us: 0, ratio: 1, stands_out: false });
  for (const [wrong, code] of Object.entries({ '--compare 1h..2h': 'usage', '--step handle.rum': 'invalid_query' }))
    expect(await call(...wrong.split(' '), '--json')).toMatchObject({ status: 2, json: { code } });
});

test('404 for an unknown plugin; needs jobs:status:ro, jobs:rw or *', async () => {
  const status = async (scope: string, plugin: string) =>
    (await gateway.call('GET', `/stopwatch/${plugin}`, undefined, { token: `token-${scope}` })).status;
  expect(await Promise.all(scopes.map(scope => status(scope, 'waiter')))).toEqual([200, 200, 403, 403]);
  expect(await status('jobs:rw', 'nobody')).toBe(404);
});
