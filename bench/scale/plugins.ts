// Bench: the same number of jobs, spread over more and more plugins.
import type { Bench } from '../bench.ts';
import { rssMb } from '../cost.ts';
import type { Stage } from '../stage.ts';
import { measureDrains } from './drain-measures.ts';
import { growthOutcome, mb, type Step, sizesBetween } from './growth.ts';

type Plugins = {
  readonly plugins: number;
  readonly jobs: number;
  readonly rounds: number;
  readonly connections: number;
};

const bench = 'scale-plugins';

export const scalePlugins: Bench<Plugins> = {
  name: bench,
  purpose: 'draining and accepting jobs of 1 to 64 plugins',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { plugins: 4, jobs: 200, rounds: 1, connections: 8 },
    real: { plugins: 64, jobs: 50_000, rounds: 3, connections: 128 },
  },

  async run({ plugins, jobs, rounds, connections }: Plugins, stage: Stage) {
    const names = Array.from({ length: plugins }, (_, n) => `noop-${n}`);
    const service = await stage.start({ instances: Object.fromEntries(names.map(name => [name, { uses: 'noop' }])) });
    const steps: Step[] = [];
    for (const at of sizesBetween(1, plugins, 4)) {
      const path = names.slice(0, at).map(name => `/plugin/${name}/run`);
      const drains = await measureDrains(service, stage, { path, jobs, connections, sampleEvery: jobs - 1 }, rounds);
      steps.push({ at, measures: { ...drains, rss: mb(rssMb(service.usage())) } });
    }
    await service.stop();
    const growth = { bench, title: 'Jobs of several plugins', axis: 'plugins', steps };
    return { ...growthOutcome(growth), work: { sizes: steps.map(({ at }) => at), jobs, rounds } };
  },
};
