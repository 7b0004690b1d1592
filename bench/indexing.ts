// Bench: the CPU time of the indexer per job, for jobs that succeed and for jobs that fail.
import type { Bench, Metric } from './bench.ts';
import { pause } from './pause.ts';
import { emptied, queueUp } from './queue.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import { nicedThreadsUs } from './usage.ts';

type Indexing = {
  readonly jobs: number;
  /** The number of jobs of each kind that are indexed before the measurement, so that code is compiled. */
  readonly warmup: number;
  readonly connections: number;
};

/** The niceness of the indexer thread. No other thread of the service has it. */
const niceness = 10;
/**
 * If the indexer takes less CPU time than this in a second, it has nothing left to index. It polls four times a second.
 */
const idleUsMax = 20_000;
const paths = { succeeded: '/plugin/noop/run', failed: '/plugin/failing/run' };

export const indexing: Bench<Indexing> = {
  name: 'indexing',
  purpose: 'the CPU time of the indexer per job, for 100,000 jobs that succeed and as many that fail',
  limitMs: { smoke: 60_000, real: 600_000 },
  parameters: {
    smoke: { jobs: 1_000, warmup: 100, connections: 16 },
    real: { jobs: 100_000, warmup: 20_000, connections: 128 },
  },

  async run({ jobs, warmup, connections }: Indexing, stage: Stage) {
    const service = await stage.start();
    const metrics: Metric[] = [];
    for (const [status, path] of Object.entries(paths)) {
      await indexed(service, path, warmup, connections);
      const beforeUs = nicedThreadsUs(service.pid, niceness);
      await indexed(service, path, jobs, connections);
      const us = (nicedThreadsUs(service.pid, niceness) - beforeUs) / jobs;
      metrics.push({ name: `${status}_us`, value: us, unit: 'us' });
    }
    const failed = await service.caller().total('/jobs?status=failed&limit=1');
    await service.stop();
    return { metrics, work: { jobs, failed } };
  },
};

/** Runs the jobs. Resolves when all of them are indexed. */
async function indexed(service: Service, path: string, jobs: number, connections: number): Promise<void> {
  await queueUp(service, { path, jobs, connections, sampleEvery: jobs });
  await emptied(service.caller());
  for (let beforeUs = Number.NEGATIVE_INFINITY; ; ) {
    const us = nicedThreadsUs(service.pid, niceness);
    if (us - beforeUs < idleUsMax) return;
    beforeUs = us;
    await pause(1_000);
  }
}
