// GET /job/{job_id}/timeline and `headgate job timeline`: the figures of runs agree with the times of their jobs.

import { expect, test } from 'vitest';
import { bucketsMax, namedMax } from '../../../actors/job/views/timeline.ts';
import { errorCharsMax } from '../../../actors/job/views/timeline-reading.ts';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { failing, step, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { percentileErrorMax } from '../../support/percentile-error.ts';
import { headgate } from '../cli/headgate.ts';

const treeToken = canary('token that may read trees');
const uses = (id: string, more: object = {}) => ({ id, uses: 'step', ...more });
const fan = { foreach: 'payload.list', on_error: 'continue' };

const gateway = shareGateway({
  plugins: { failing, step, worker },
  instances: {
    step: { retry: { max_attempts: 1 } },
    failing: { retry: { backoff_base: '20ms', backoff_max: '20ms' } },
  },
  pipelines: [
    {
      name: 'whole',
      on: 'whole',
      steps: [
        uses('first'),
        uses('each', fan),
        uses('all', { join: 'all' }),
        { id: 'calling', call: 'part', with: { list: [{}, { fail: 'inside' }] } },
        uses('last'),
      ],
    },
    { name: 'part', steps: [uses('inner', fan), uses('gathered', { join: 'all' })] },
    { name: 'told', on: 'news', steps: [uses('hear')] },
    { name: 'again', on: 'again', steps: [{ id: 'shaky', uses: 'failing' }] },
    { name: 'held', on: 'held', steps: [uses('first'), { id: 'holds', uses: 'worker' }] },
    { name: 'halfway', on: 'halfway', steps: [uses('first'), uses('fails')] },
    { name: 'phased', on: 'phased', steps: [uses('fails')], finally: [uses('clean')] },
    { name: 'skipped', on: 'skipped', if: { path: 'payload.go', op: 'eq', value: true }, steps: [uses('never')] },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'trees', token: treeToken, scopes: ['jobs:tree:ro'] },
      ],
    },
  },
});

type Percentiles = { readonly p50: number; readonly p95: number; readonly p99: number; readonly max: number };
type Step = {
  readonly pipeline: string | null;
  readonly step: string | null;
  readonly count: number;
  readonly by_status: { readonly [status: string]: number };
  readonly first_created: string;
  readonly last_created: string;
  readonly first_start: string | null;
  readonly last_end: string | null;
  readonly queue_us: Percentiles;
  readonly run_us: Percentiles;
  readonly buckets: readonly number[][];
  readonly slowest: readonly { readonly job_id: string; readonly run_us: number }[];
  readonly failed: readonly { readonly job_id: string; readonly status: string; readonly error?: string }[];
};
type PathStep = {
  readonly step: string | null;
  readonly job_id: string;
  readonly jobs: number;
  readonly from: string;
  readonly to: string;
  readonly handing_out_us: number;
  readonly waiting_us: number;
  readonly running_us: number;
  readonly retrying_us: number;
};
type Timeline = {
  readonly status: string;
  readonly from: string;
  readonly to: string;
  readonly duration_us: number;
  readonly bucket_us: number;
  readonly buckets_from?: string;
  readonly count: number;
  readonly reused?: number;
  readonly steps: readonly Step[];
  readonly critical_path: readonly PathStep[];
  readonly gaps: { readonly [gap: string]: number };
};

async function timeline(id: string, query = '', token = everythingToken): Promise<Timeline> {
  const { status, body } = await gateway.call('GET', `/job/${id}/timeline${query}`, undefined, { token });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as unknown as Timeline;
}

function us(text: unknown): number {
  const [, seconds, fraction] = /^(.*)\.(\d{6})Z$/.exec(String(text))!;
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction);
}

/** A job as GET /job/{job_id} shows it. */
type Shown = { readonly [field: string]: unknown };

async function jobsBelow(id: string): Promise<Shown[]> {
  const tree = await gateway.tree(id);
  return Promise.all(tree.slice(1).map(async ({ job_id }) => (await gateway.call('GET', `/job/${job_id}`)).body));
}

function expectPercentiles(given: Percentiles, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  expect(given.max).toBe(sorted.at(-1));
  for (const [name, part] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const exact = sorted[Math.ceil(part * sorted.length) - 1]!;
    expect(Math.abs(given[name] - exact)).toBeLessThanOrEqual(exact * percentileErrorMax + 1);
  }
}

/** The entries follow each other from the start of the run, each is the sum of its parts, and all parts together are the run's time. */
function expectConnected({ from, to, duration_us, critical_path: path, gaps }: Timeline): void {
  expect(path.map(entry => entry.from)).toEqual([from, ...path.map(entry => entry.to)].slice(0, path.length));
  for (const entry of path) {
    const parts = entry.handing_out_us + entry.waiting_us + entry.running_us + entry.retrying_us;
    expect(parts).toBe(us(entry.to) - us(entry.from));
  }
  expect(us(to) - us(from)).toBe(duration_us);
  const running = path.reduce((sum, { running_us }) => sum + running_us, 0);
  expect(Object.values(gaps).reduce((sum, gap) => sum + gap, running)).toBe(duration_us);
}

test('a run with a fan-out, a join, failures and a called run has the figures of its jobs', async () => {
  const list = [{ wait: 60 }, { fail: 'as asked' }, { emit: [{ type: 'news', payload: {} }] }, {}, {}, { fail: 'too' }];
  const run = await gateway.ran('whole', { result: { list } });
  expect(run.status).toBe('succeeded');
  const shown = await timeline(run.job_id, '?buckets=50');
  const below = await jobsBelow(run.job_id);
  const inside = below.filter(job => job['run_id'] !== null && job['pipeline'] !== 'told');
  expect(shown).toMatchObject({
    ...{ job_id: run.job_id, plugin: 'pipeline', command: 'whole', status: 'succeeded' },
    ...{ from: run.created_at, to: run.completed_at, count: inside.length },
  });
  expect(shown.steps.map(({ pipeline, step, count }) => [pipeline, step, count])).toEqual([
    ['whole', 'first', 1],
    ['whole', 'each', 6],
    ['whole', 'all', 1],
    ['whole', 'calling', 1],
    ['part', 'inner', 2],
    ['part', 'gathered', 1],
    ['whole', 'last', 1],
  ]);
  const widths = new Set(shown.steps.map(({ buckets }) => buckets.length));
  expect([...widths]).toEqual([Math.ceil(shown.duration_us / shown.bucket_us)]);
  expect(Math.max(...widths)).toBeLessThanOrEqual(50);
  for (const step of shown.steps) {
    const jobs = inside.filter(job => job['pipeline'] === step.pipeline && job['step_id'] === step.step);
    const statuses = jobs.map(job => job['status']);
    for (const [status, count] of Object.entries(step.by_status))
      expect(count).toBe(statuses.filter(each => each === status).length);
    const sorted = (name: string) => jobs.map(job => String(job[name])).sort();
    expect([step.first_created, step.last_created]).toEqual([sorted('created_at')[0], sorted('created_at').at(-1)]);
    expect([step.first_start, step.last_end]).toEqual([sorted('started_at')[0], sorted('completed_at').at(-1)]);
    expectPercentiles(
      step.queue_us,
      jobs.map(job => us(job['started_at']) - us(job['created_at'])),
    );
    const ran = jobs.map(job => ({ id: job['job_id'], us: us(job['completed_at']) - us(job['started_at']) }));
    expectPercentiles(
      step.run_us,
      ran.map(job => job.us),
    );
    expect(step.slowest.map(({ run_us }) => run_us)).toEqual(ran.map(job => job.us).sort((a, b) => b - a));
    for (const { job_id, run_us } of step.slowest) expect(ran).toContainEqual({ id: job_id, us: run_us });
    const sums = [0, 1, 2].map(place => step.buckets.reduce((sum, bucket) => sum + bucket[place]!, 0));
    expect(sums).toEqual([jobs.length, jobs.length, step.by_status['failed']]);
  }
  const [, each] = shown.steps;
  expect(each!.failed.map(({ status, error }) => [status, error]).sort()).toEqual([
    ['failed', 'as asked'],
    ['failed', 'too'],
  ]);
});

test('a part of the time has shorter buckets; the other figures stay those of the run', async () => {
  const run = await gateway.ran('whole', { result: { list: [{ wait: 60 }, {}] } });
  const all = await timeline(run.job_id, '?buckets=10');
  const from = all.steps.find(({ step }) => step === 'each')!.first_start!;
  const part = await timeline(run.job_id, `?buckets=10&from=${from}`);
  expect(us(part.buckets_from)).toBe(us(from) - part.bucket_us);
  expect(part.bucket_us).toBeLessThanOrEqual(all.bucket_us);
  const figuresOf = ({ steps }: Timeline) => steps.map(({ buckets, ...figures }) => figures);
  expect(figuresOf(part)).toEqual(figuresOf(all));
  const sumsOf = ({ steps }: Timeline) =>
    steps.map(({ buckets }) => [0, 1, 2].map(at => buckets.reduce((sum, bucket) => sum + bucket[at]!, 0)));
  expect(sumsOf(part)).toEqual(sumsOf(all));
});

test('the critical path goes through the slowest element and the called run, and is the time of the run', async () => {
  const run = await gateway.ran('whole', { result: { list: [{}, { wait: 80 }, {}] } });
  const shown = await timeline(run.job_id);
  expectConnected(shown);
  expect(shown.critical_path.map(({ step }) => step)).toEqual(['first', 'each', 'all', 'calling', 'last']);
  const jobs = await jobsBelow(run.job_id);
  const elements = jobs.filter(job => job['step_id'] === 'each');
  const lastEnd = Math.max(...elements.map(job => us(job['completed_at'])));
  // On a slow machine another element than the one that waits may end last, or several may end in one commit.
  const each = shown.critical_path[1]!;
  const latest = elements.find(job => job['job_id'] === each.job_id)!;
  expect([us(latest['completed_at']), each.jobs]).toEqual([lastEnd, 1]);
  expect(each.running_us).toBe(us(latest['completed_at']) - us(latest['started_at']));
  expect(Math.max(...elements.map(job => us(job['completed_at']) - us(job['started_at'])))).toBeGreaterThan(70_000);
  for (const { job_id, step, to } of shown.critical_path)
    expect(jobs.find(job => job['job_id'] === job_id)).toMatchObject({ step_id: step, completed_at: to });
  // The called run has a timeline of its own.
  const inner = await timeline(shown.critical_path[3]!.job_id);
  expectConnected(inner);
  expect(inner.critical_path.map(({ step }) => step)).toEqual(['inner', 'gathered']);
});

test('a retried job ran in all its attempts, and the time between them is told apart', async () => {
  const run = await gateway.ran('again', { times: 2 });
  const shown = await timeline(run.job_id);
  expectConnected(shown);
  const [shaky] = shown.steps;
  expect(shaky).toMatchObject({ step: 'shaky', count: 1, by_status: { succeeded: 1 }, failed: [] });
  const [entry] = shown.critical_path;
  expect(entry!.retrying_us).toBeGreaterThan(0);
  expect(shaky!.run_us.max).toBe(entry!.running_us);
  expect(shown.gaps['retrying_us']).toBe(entry!.retrying_us);
});

test('the phases of a run that failed are steps of their own, and end its critical path', async () => {
  const run = await gateway.ran('phased', { fail: 'at once' });
  expect(run.status).toBe('failed');
  const shown = await timeline(run.job_id);
  expectConnected(shown);
  expect(shown.steps).toMatchObject([
    { step: 'fails', by_status: { failed: 1 }, failed: [{ error: 'at once' }] },
    { step: 'clean', phase: 'finally', by_status: { succeeded: 1 } },
  ]);
  expect(shown.critical_path.map(({ step }) => step)).toEqual(['fails', 'clean']);
});

test('an open run shows what has happened so far; a cancelled one what became of its jobs', async () => {
  const id = await gateway.run('held', { result: { gate: 'never' } });
  const holds = await until('the second step runs', async () => {
    const job = (await gateway.tree(id)).find(({ plugin }) => plugin === 'worker');
    return job?.status === 'running' && job.job_id;
  });
  const open = await timeline(id);
  expect(open).toMatchObject({ status: 'running', count: 2, gaps: { commit_us: 0 } });
  expect(open.steps).toMatchObject([
    { step: 'first', by_status: { succeeded: 1 }, run_us: { max: expect.any(Number) } },
    { step: 'holds', by_status: { running: 1 }, last_end: null, run_us: { max: 0 }, slowest: [] },
  ]);
  expect(open.critical_path.map(({ step }) => step)).toEqual(['first']);
  await until('its end moves on', async () => us((await timeline(id)).to) > us(open.to));
  await gateway.call('POST', `/job/${id}/cancel`);
  const run = await gateway.settled(id);
  const ended = await timeline(id);
  expect(ended).toMatchObject({ status: 'cancelled', to: run.completed_at });
  expect(ended.steps[1]).toMatchObject({ step: 'holds', count: 1, by_status: { cancelled: 1 }, failed: [] });
  expect(ended.critical_path.at(-1)).toMatchObject({ step: 'holds', job_id: holds });
  expectConnected(ended);
  expect(await timeline(id)).toEqual(ended);
});

test('a rerun counts the jobs that it reuses, and has only its own in its steps', async () => {
  const failed = await gateway.ran('halfway', { result: { fail: 'again' } });
  const again = await gateway.call('POST', `/job/${failed.job_id}/rerun`, { from: 'failed' });
  const { job_id: id } = await gateway.settled(String(again.body['job_id']));
  const shown = await timeline(id);
  expectConnected(shown);
  expect(shown).toMatchObject({ reused: 1, count: 1, steps: [{ step: 'fails', by_status: { failed: 1 } }] });
});

test('a run without jobs has no steps; a job that is no run has itself as its step', async () => {
  const run = await gateway.ran('skipped');
  const empty = await timeline(run.job_id);
  expect(empty).toMatchObject({ count: 0, steps: [], critical_path: [] });
  expectConnected(empty);
  const job = await gateway.finished('step/handle', { fail: 'alone' });
  const shown = await timeline(job.job_id);
  expectConnected(shown);
  expect(shown).toMatchObject({
    ...{ status: 'failed', from: job.created_at, to: job.completed_at, count: 1 },
    steps: [{ pipeline: null, step: null, plugin: 'step', command: 'handle', failed: [{ job_id: job.job_id }] }],
    critical_path: [{ job_id: job.job_id, jobs: 1 }],
  });
});

test('ten jobs are named for a step, and errors only to those who may read results', async () => {
  const list = Array.from({ length: 12 }, (_, n) => ({ fail: `number ${n}${'!'.repeat(500)}\nmore` }));
  const run = await gateway.ran('part', { list });
  const { steps } = await timeline(run.job_id);
  expect([steps[0]!.slowest.length, steps[0]!.failed.length]).toEqual([namedMax, namedMax]);
  for (const { error } of steps[0]!.failed) expect(error).toMatch(/^number \d+!+$/);
  for (const { error } of steps[0]!.failed) expect(error).toHaveLength(errorCharsMax);
  const bare = await timeline(run.job_id, '', treeToken);
  expect(bare.steps[0]!.failed).toHaveLength(namedMax);
  expect(JSON.stringify(bare)).not.toContain('number');
});

const bucketRule = `the query parameter "buckets" must be a whole number from 1 to ${bucketsMax}`;
const partRule = 'the query parameter "from" must be before "to"';
const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

test.each([
  ['?buckets=0', bucketRule],
  [`?buckets=${bucketsMax + 1}`, bucketRule],
  ['?buckets=many', bucketRule],
  [`?from=${late}&to=${early}`, partRule],
  [`?from=${late}&to=${late}`, partRule],
])('%s is refused with the rule that it violates', async (query, rule) => {
  const job = await gateway.finished('step/handle', {});
  const { body } = await gateway.call('GET', `/job/${job.job_id}/timeline${query}`);
  expect(body).toMatchObject({ status: 400, code: 'invalid_query', detail: rule });
});

test('a job that does not exist is 404', async () => {
  const nowhere = '0198c0de-0000-7000-8000-000000000000';
  const { body } = await gateway.call('GET', `/job/${nowhere}/timeline`);
  expect(body).toMatchObject({ status: 404, code: 'unknown_job' });
});

test('headgate job timeline prints a row for each step, the critical path, and the first failures', async () => {
  const run = await gateway.ran('whole', { result: { list: [{}, { fail: 'as asked' }, { wait: 30 }] } });
  const words = ['job', 'timeline', run.job_id, '--url', gateway.url];
  const env = { HEADGATE_TOKEN: everythingToken };
  const { status, stdout } = await headgate(words, { env });
  expect(status).toBe(0);
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^pipeline\.whole succeeded \d.* from \d{4}-.*, 10 jobs$/);
  expect(lines[1]).toMatch(/^STEP +JOBS +FAILED +QUEUED P50 +P95 +RAN P50 +P95 +MAX +STARTS AND ENDS$/);
  expect(lines[3]).toMatch(/^each +3 +1 .* [·▁▂▃▄▅▆▇█×]*×[·▁▂▃▄▅▆▇█×]*$/);
  expect(stdout).toMatch(/\npart\/inner +2 +1 /);
  expect(stdout).toMatch(
    /\nCritical path\nSTEP +JOBS +HANDING OUT +WAITED +RAN +BETWEEN ATTEMPTS +LAST JOB\nfirst +1 /,
  );
  expect(stdout).toMatch(/\nno job of this path ran for .*: handing out .*, waiting for workers .*, last commit /);
  expect(stdout).toMatch(/\nFirst failures\nSTEP.*\neach .* failed +[0-9a-f-]{36} +as asked\n/);
  expect((await headgate([...words, '--json'], { env })).json).toEqual(await timeline(run.job_id));
  const fewer = await headgate([...words, '--json', '--buckets', '3'], { env });
  expect(fewer.json).toEqual(await timeline(run.job_id, '?buckets=3'));
  const nobody = await headgate(['job', 'timeline', 'nobody', '--url', gateway.url, '--json'], { env });
  expect([nobody.status, nobody.json.code]).toEqual([4, 'unknown_job']);
});
