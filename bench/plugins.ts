// Bench: a no-op command in every kind of plugin. Measures jobs per second, and the time of a single job.
import { join } from 'node:path';
import { atLeast, type Bench, type Metric } from './bench.ts';
import type { Caller, Job } from './caller.ts';
import { closeGates, type Gate } from './gate.ts';
import { runLoad } from './load/run.ts';
import { momentUs } from './moment.ts';
import { until } from './pause.ts';
import { percentile } from './percentile.ts';
import { pluginRoot } from './project.ts';
import type { Service } from './service.ts';
import { spawnLoop } from './spawn-loop.ts';
import { type Stage, workers } from './stage.ts';

type Plugins = {
  readonly workerJobs: number;
  readonly persistentJobs: number;
  readonly shJobs: number;
  readonly pythonJobs: number;
  /** The number of jobs that run one at a time. */
  readonly singles: number;
};

/** The time between two polls of the queue. Each poll takes half a millisecond of CPU from the plugins. */
const lookMs = 20;
/**
 * The number of warm-up jobs as a fraction of the jobs. They warm up hosts, persistent processes and the size of
 * frames.
 */
const warmupPart = 0.2;

export const plugins: Bench<Plugins> = {
  name: 'plugins',
  purpose: 'a no-op in every kind of plugin, beside a bare loop that starts processes',
  limitMs: { smoke: 60_000, real: 300_000 },
  parameters: {
    smoke: { workerJobs: 200, persistentJobs: 200, shJobs: 10, pythonJobs: 2, singles: 2 },
    real: { workerJobs: 200_000, persistentJobs: 100_000, shJobs: 5_000, pythonJobs: 100, singles: 30 },
  },

  async run({ workerJobs, persistentJobs, shJobs, pythonJobs, singles }: Plugins, stage: Stage) {
    const service = await stage.start();
    const kinds = [
      { plugin: 'noop', gate: 'gate', jobs: workerJobs, perSMin: 120_000 },
      { plugin: 'persistent-python', gate: 'persistent-gate', jobs: persistentJobs, perSMin: 25_000 },
      { plugin: 'persistent-node', gate: 'persistent-gate', jobs: persistentJobs, perSMin: 25_000 },
      { plugin: 'each-sh', gate: 'program-gate', jobs: shJobs },
      { plugin: 'each-python', gate: 'program-gate', jobs: pythonJobs },
    ] as const;
    const metrics: Metric[] = [];
    const work: unknown[] = [];
    for (const { plugin, gate, jobs, ...aim } of kinds) {
      const name = (plugin === 'noop' ? 'worker' : plugin).replace('-', '_');
      const { perS, last } = await drainOf(service, stage, plugin, gate, jobs);
      const target = 'perSMin' in aim ? { target: atLeast(aim.perSMin) } : {};
      metrics.push({ name: `${name}_per_s`, value: perS, unit: '1/s', ...target });
      metrics.push({ name: `${name}_p50_us`, value: await singleUs(service.caller(), plugin, singles), unit: 'us' });
      work.push([plugin, jobs, last]);
    }
    const perS = (name: string) => Number(metrics.find(metric => metric.name === name)!.value);
    for (const [name, file, jobs] of [
      ['sh', 'each-sh/main.sh', shJobs],
      ['python', 'each-python/main.py', pythonJobs],
    ] as const) {
      const program = join(pluginRoot, file);
      const bare = await spawnLoop({ program, request: requestOf(1), count: jobs, atOnce: workers });
      const percent = (100 * perS(`each_${name}_per_s`)) / bare;
      metrics.push({ name: `bare_${name}_per_s`, value: bare, unit: '1/s' });
      metrics.push({ name: `each_${name}_of_bare`, value: percent, unit: '%', target: atLeast(85) });
    }
    await service.stop();
    return { metrics, work };
  },
};

/** Queues all jobs while the gates are closed, and measures how fast they are drained. */
async function drainOf(service: Service, stage: Stage, plugin: string, gate: Gate, jobs: number) {
  const caller = service.caller();
  await queue(service, plugin, Math.max(1, Math.round(jobs * warmupPart)));
  await closeGates(service, stage, workers, gate);
  const { samples } = await queue(service, plugin, jobs);
  const startMs = performance.now();
  stage.openGates();
  await emptied(caller);
  const perS = (jobs * 1000) / (performance.now() - startMs);
  stage.renewGates();
  const last = samples.at(-1)!;
  const { result } = await ended(caller, last.jobId);
  return { perS, last: [last.n, result?.result] };
}

function queue(service: Service, plugin: string, count: number) {
  return runLoad(service, {
    path: `/plugin/${plugin}/run`,
    connections: 128,
    until: { kind: 'requests', count },
    expect: { status: 202 },
    sampleEvery: count,
  });
}

/** The median time of a job from its creation to its completion, by its record, in µs. */
async function singleUs(caller: Caller, plugin: string, count: number): Promise<number> {
  const timesUs: number[] = [];
  for (let n = 0; n < count; n++) {
    const job = await ended(caller, await caller.submit(`/plugin/${plugin}/run`, { n }));
    timesUs.push(momentUs(job.completed_at) - momentUs(job.created_at));
  }
  return percentile(timesUs, 50);
}

function ended(caller: Caller, id: string): Promise<Job> {
  const look = async () => {
    const job = await caller.job(id);
    if (job.status === 'queued' || job.status === 'running') return undefined;
    if (job.status !== 'succeeded') throw new Error(`job ${id} is ${job.status}: ${job.last_error}`);
    return job;
  };
  return until(look, { everyMs: 2, withinMs: 30_000, what: `end of job ${id}` });
}

function emptied(caller: Caller): Promise<true> {
  const look = async () => ((await caller.queueDepth()) === 0 ? (true as const) : undefined);
  return until(look, { everyMs: lookMs, withinMs: 120_000, what: 'an empty queue' });
}

/** A request like those that the gateway sends. It is as long as a real one, because a shell reads it byte by byte. */
function requestOf(n: number): string {
  const asked = { protocol: 2, job_id: '00000000-0000-0000-0000-000000000000', attempt: 1, command: 'run', config: {} };
  const context = { pipeline: null, step_id: null, depth: 0 };
  return JSON.stringify({ ...asked, state: {}, payload: { n }, context, deadline_at: new Date().toISOString() });
}
