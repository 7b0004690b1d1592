// Bench: draining a queue of no-op jobs, from the moment the plugin threads are released until all jobs have succeeded.
import { atLeast, type Bench } from './bench.ts';
import { costMetrics } from './cost.ts';
import { drainQueue, emptied, queueUp, succeeded } from './queue.ts';
import type { Stage } from './stage.ts';

type Drain = {
  readonly jobs: number;
  /** The number of jobs that run before the gates close, so that code is compiled and frames have their final size. */
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
    const path = '/plugin/noop/run';
    await queueUp(service, { path, jobs: warmup, connections, sampleEvery: warmup });
    await emptied(caller);
    const { accepted, elapsedMs, stretch } = await drainQueue(service, stage, { path, jobs, connections, sampleEvery });
    const cost = costMetrics([stretch], jobs);
    const results: unknown[] = [];
    for (const { n, jobId } of accepted.samples) results.push([n, (await succeeded(caller, jobId)).result?.result]);
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
