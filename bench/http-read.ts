// Bench: reads over HTTP from many connections, with many jobs stored.
import { atLeast, type Bench, type Target } from './bench.ts';
import { costMetrics } from './cost.ts';
import { readMetrics, readOften } from './read-load.ts';
import type { Stage } from './stage.ts';
import { storeJobs } from './stored-jobs.ts';

type HttpRead = { readonly jobs: number; readonly connections: number; readonly seconds: number };

type Read = { readonly name: string; readonly path: string; readonly target: Target };

/** The targets apply to two cores that service and client share. */
function reads(jobId: string): readonly Read[] {
  return [
    { name: 'healthz', path: '/healthz', target: atLeast(90_000) },
    { name: 'job', path: `/job/${jobId}`, target: atLeast(40_000) },
    { name: 'jobs', path: '/jobs?limit=50', target: atLeast(4_000) },
  ];
}

export const httpRead: Bench<HttpRead> = {
  name: 'http-read',
  purpose: 'GET requests at 128 connections, with 1,000,000 jobs stored',
  limitMs: { smoke: 30_000, real: 900_000 },
  parameters: {
    smoke: { jobs: 1_000, connections: 8, seconds: 0.25 },
    real: { jobs: 1_000_000, connections: 128, seconds: 10 },
  },

  async run({ jobs, connections, seconds }: HttpRead, stage: Stage) {
    const service = await stage.start();
    const [sample] = await storeJobs(service, jobs, connections, jobs);
    const endStretch = service.stretch();
    const metrics = [];
    let count = 0;
    for (const { name, path, target } of reads(sample!.jobId)) {
      const result = await readOften(service, { path, connections, seconds }, stage);
      metrics.push(...readMetrics(name, result, target));
      count += result.perS * seconds;
    }
    const cost = costMetrics([endStretch()], count);
    const health = (await (await fetch(new URL('/healthz', service.url))).json()) as { status: string };
    await service.stop();
    return { metrics: [...metrics, ...cost], work: { jobs, status: health.status, fields: Object.keys(health) } };
  },
};
