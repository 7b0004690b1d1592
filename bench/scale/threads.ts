// Bench: draining with one thread of the plugin host, and with more.
import type { Bench } from '../bench.ts';
import { rssMb } from '../cost.ts';
import { emptied, queueUp } from '../queue.ts';
import type { Stage } from '../stage.ts';
import { measureDrains } from './drain-measures.ts';
import { growthOutcome, mb, type Step, sizesBetween } from './growth.ts';

type Threads = {
  readonly threads: number;
  readonly jobs: number;
  readonly rounds: number;
  readonly connections: number;
};

const bench = 'scale-threads';
const path = '/plugin/noop/run';

export const scaleThreads: Bench<Threads> = {
  name: bench,
  purpose: 'draining with 1 and 2 threads of the plugin host (--set threads=8 for more)',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { threads: 1, jobs: 200, rounds: 1, connections: 8 },
    real: { threads: 2, jobs: 50_000, rounds: 4, connections: 128 },
  },

  async run({ threads, jobs, rounds, connections }: Threads, stage: Stage) {
    const steps: Step[] = [];
    for (const at of sizesBetween(1, threads, 2)) {
      stage.clear();
      const service = await stage.start({ threads: at });
      const plan = { path, jobs, connections, sampleEvery: jobs - 1 };
      await queueUp(service, plan);
      await emptied(service.caller());
      const drains = await measureDrains(service, stage, { ...plan, threads: at }, rounds);
      steps.push({ at, measures: { ...drains, rss: mb(rssMb(service.usage())) } });
      await service.stop();
    }
    const growth = { bench, title: 'Threads of the plugin host', axis: 'threads', steps };
    return { ...growthOutcome(growth), work: { sizes: steps.map(({ at }) => at), jobs, rounds } };
  },
};
