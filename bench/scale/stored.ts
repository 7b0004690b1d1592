// Bench: the same work with more and more jobs stored.
import type { Bench } from '../bench.ts';
import { rssMb } from '../cost.ts';
import { runLoad } from '../load/run.ts';
import { emptied, queueUp } from '../queue.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { sizeMb } from './directory-size.ts';
import { measureDrains } from './drain-measures.ts';
import { growthOutcome, mb, ms, type Step, sizesBetween } from './growth.ts';

type Stored = {
  readonly from: number;
  /** The largest number of stored jobs; each size is ten times the one before. */
  readonly stored: number;
  /** The number of jobs that one round drains. */
  readonly jobs: number;
  readonly rounds: number;
  readonly connections: number;
  readonly reads: number;
};

const path = '/plugin/noop/run';
const bench = 'scale-stored';

export const scaleStored: Bench<Stored> = {
  name: bench,
  purpose: 'draining, accepting and GET /jobs with 10,000 to 1,000,000 jobs stored (--set stored=10000000 for more)',
  limitMs: { smoke: 30_000, real: 3_600_000 },
  parameters: {
    smoke: { from: 100, stored: 1_000, jobs: 200, rounds: 1, connections: 8, reads: 20 },
    real: { from: 10_000, stored: 1_000_000, jobs: 20_000, rounds: 3, connections: 128, reads: 500 },
  },

  async run({ from, stored, jobs, rounds, connections, reads }: Stored, stage: Stage) {
    const service = await stage.start();
    const steps: Step[] = [];
    for (const at of sizesBetween(from, stored, 10)) {
      const missing = at - (await countStored(service));
      if (missing > 0) await queueUp(service, { path, jobs: missing, connections, sampleEvery: 0 });
      await emptied(service.caller());
      const drains = await measureDrains(service, stage, { path, jobs, connections, sampleEvery: jobs - 1 }, rounds);
      const jobsP99 = await readJobs(service, reads);
      const measures = {
        ...drains,
        jobs_p99: ms(jobsP99 / 1000),
        rss: mb(rssMb(service.usage())),
        files: mb(sizeMb(stage.state)),
      };
      steps.push({ at, measures });
      const stored = await countStored(service);
      if (stored < at) throw new Error(`${stored} jobs are stored instead of ${at}`);
    }
    await service.stop();
    const growth = { bench, title: 'Work beside stored jobs', axis: 'stored jobs', steps };
    return { ...growthOutcome(growth), work: { sizes: steps.map(({ at }) => at), jobs, rounds } };
  },
};

function countStored(service: Service): Promise<number> {
  return service.caller().total('/jobs?status=succeeded&limit=1');
}

/** Reads the first page of the list, one request at a time; returns the p99 in µs. */
async function readJobs(service: Service, count: number): Promise<number> {
  const read = { path: '/jobs?limit=50', read: { headers: '' }, connections: 1, sampleEvery: 0 };
  const { p99Us } = await runLoad(service, {
    ...read,
    until: { kind: 'requests', count },
    expect: { status: 200, text: '"job_id"' },
  });
  return p99Us;
}
