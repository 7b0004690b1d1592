// Bench: a queue of jobs of a command that does nothing, from the moment the plugin threads are let go until all have succeeded.
import { atLeast, type Bench } from './bench.ts';
import type { Caller, Job } from './caller.ts';
import { costMetrics } from './cost.ts';
import { closeGates } from './gate.ts';
import type { LoadSample } from './load/plan.ts';
import { runLoad } from './load/run.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Drain = {
  readonly jobs: number;
  /** Jobs that run before the gates close, so that code is compiled and the pace of the command known. */
  readonly warmup: number;
  readonly connections: number;
  readonly sampleEvery: number;
};

export const drain: Bench<Drain> = {
  name: 'drain',
  purpose: '200,000 queued jobs of a no-op worker command, run until none is left',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { jobs: 2_000, warmup: 100, connections: 16, sampleEvery: 100 },
    real: { jobs: 200_000, warmup: 20_000, connections: 128, sampleEvery: 1_000 },
  },

  async run({ jobs, warmup, connections, sampleEvery }: Drain, stage: Stage) {
    const service = await stage.start();
    const caller = service.caller();
    await queue(service, warmup, connections, warmup);
    await emptied(caller);
    await closeGates(service, stage);
    const samples = await queue(service, jobs, connections, sampleEvery);
    const depth = await caller.queueDepth();
    if (depth !== jobs) throw new Error(`${jobs} were accepted, and ${depth} are queued`);
    const endStretch = service.stretch();
    const startMs = performance.now();
    stage.openGates();
    await emptied(caller);
    await succeeded(caller, samples.at(-1)!.jobId);
    const elapsedMs = performance.now() - startMs;
    const cost = costMetrics([endStretch()], jobs);
    const results: unknown[] = [];
    for (const { n, jobId } of samples) results.push([n, (await succeeded(caller, jobId)).result?.result]);
    await service.stop();
    return {
      metrics: [
        { name: 'jobs_per_s', value: (jobs * 1000) / elapsedMs, unit: '1/s', target: atLeast(120_000) },
        { name: 'drained_ms', value: elapsedMs, unit: 'ms' },
        ...cost,
      ],
      work: { jobs, results },
    };
  },
};

async function queue(service: Service, count: number, connections: number, sampleEvery: number): Promise<LoadSample[]> {
  const { samples } = await runLoad(service, {
    path: '/plugin/noop/run',
    connections,
    until: { kind: 'requests', count },
    expect: { status: 202 },
    sampleEvery,
  });
  return [...samples];
}

async function emptied(caller: Caller): Promise<void> {
  await until(async () => ((await caller.queueDepth()) === 0 ? true : undefined), {
    everyMs: 5,
    withinMs: 120_000,
    what: 'an empty queue',
  });
}

async function succeeded(caller: Caller, id: string): Promise<Job> {
  return until(
    async () => {
      const job = await caller.job(id);
      return job.status === 'succeeded' ? job : undefined;
    },
    { everyMs: 2, withinMs: 10_000, what: `success of job ${id}` },
  );
}
