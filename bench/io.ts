// Bench: jobs that only wait, as calls to other services do, with many in flight in each thread.
import { atLeast, atMost, type Bench } from './bench.ts';
import { costMetrics } from './cost.ts';
import { emptied, queueUp, succeeded } from './queue.ts';
import type { Stage } from './stage.ts';

type Io = {
  readonly jobs: number;
  /** How long each job waits. */
  readonly waitMs: number;
  /** The maximum number of jobs in flight in each of the two threads. */
  readonly concurrency: number;
  readonly connections: number;
  readonly sampleEvery: number;
};

export const io: Bench<Io> = {
  name: 'io',
  purpose: '10,000 jobs that wait 100 ms each, 256 in flight in each of two threads',
  limitMs: { smoke: 30_000, real: 120_000 },
  parameters: {
    smoke: { jobs: 200, waitMs: 10, concurrency: 32, connections: 16, sampleEvery: 50 },
    real: { jobs: 10_000, waitMs: 100, concurrency: 256, connections: 64, sampleEvery: 500 },
  },

  async run({ jobs, waitMs, concurrency, connections, sampleEvery }: Io, stage: Stage) {
    const service = await stage.start({ instances: { await: { config: { ms: waitMs }, concurrency } } });
    const caller = service.caller();
    const path = '/plugin/await/run';
    // Warm-up: threads start, and code is compiled.
    await queueUp(service, { path, jobs: 4 * concurrency, connections, sampleEvery: 4 * concurrency });
    await emptied(caller);
    const endStretch = service.stretch();
    const startMs = performance.now();
    const accepted = await queueUp(service, { path, jobs, connections, sampleEvery });
    await emptied(caller);
    await succeeded(caller, accepted.samples.at(-1)!.jobId);
    const elapsedMs = performance.now() - startMs;
    const stretch = endStretch();
    const results: unknown[] = [];
    for (const { n, jobId } of accepted.samples) results.push([n, (await succeeded(caller, jobId)).result?.result]);
    await service.stop();
    return {
      metrics: [
        { name: 'jobs_per_s', value: (jobs * 1000) / elapsedMs, unit: '1/s', target: atLeast(4_000) },
        { name: 'drained_ms', value: elapsedMs, unit: 'ms' },
        ...costMetrics([stretch], jobs).map(metric =>
          metric.name === 'rss_host_mb' ? { ...metric, target: atMost(250) } : metric,
        ),
      ],
      work: { jobs, results },
    };
  },
};
