// Bench: jobs with larger and larger payloads.
import type { Bench } from '../bench.ts';
import { rssMb } from '../cost.ts';
import type { Stage } from '../stage.ts';
import { sizeMb } from './directory-size.ts';
import { measureDrains } from './drain-measures.ts';
import { growthOutcome, mb, type Step, sizesBetween } from './growth.ts';

type Payload = {
  readonly from: number;
  readonly to: number;
  /** The number of jobs of each size. If their payloads would exceed `bytes` together, there are fewer jobs. */
  readonly jobs: number;
  readonly bytes: number;
  readonly rounds: number;
  readonly connections: number;
};

const bench = 'scale-payload';
const path = '/plugin/noop/run';

export const scalePayload: Bench<Payload> = {
  name: bench,
  purpose: 'draining and accepting jobs with payloads of 100 bytes, 10 KB, 1 MB',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { from: 100, to: 1_000_000, jobs: 200, bytes: 4_000_000, rounds: 1, connections: 4 },
    real: { from: 100, to: 1_000_000, jobs: 50_000, bytes: 100_000_000, rounds: 3, connections: 32 },
  },

  async run({ from, to, jobs, bytes, rounds, connections }: Payload, stage: Stage) {
    const service = await stage.start();
    const steps: Step[] = [];
    const counts: number[] = [];
    for (const at of sizesBetween(from, to, 100)) {
      const count = Math.min(jobs, Math.floor(bytes / at));
      const plan = { path, padBytes: at, jobs: count, connections, sampleEvery: count - 1 };
      const filesBefore = sizeMb(stage.state);
      const drains = await measureDrains(service, stage, plan, rounds);
      const megabytes = drains.accepted_per_s.value * (at / 1e6);
      const measures = {
        ...drains,
        accepted_mb_per_s: { value: megabytes, unit: 'MB/s' },
        rss: mb(rssMb(service.usage())),
        files_per_job: { value: ((sizeMb(stage.state) - filesBefore) * 1000) / (count * rounds), unit: 'KB' },
      };
      steps.push({ at, measures });
      counts.push(count);
    }
    await service.stop();
    const growth = { bench, title: 'Jobs with larger payloads', axis: 'bytes of payload', steps };
    return { ...growthOutcome(growth), work: { sizes: steps.map(({ at }) => at), counts } };
  },
};
