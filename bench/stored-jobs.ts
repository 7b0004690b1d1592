// Fills a service with jobs that have succeeded, for benches that read.
import type { LoadSample } from './load/plan.ts';
import { runLoad } from './load/run.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';

/** Runs no-op jobs, and resolves with a sample of their ids. The result of each job has the number of its request. */
export async function storeJobs(
  service: Service,
  jobs: number,
  connections: number,
  sampleEvery: number,
): Promise<readonly LoadSample[]> {
  const { samples } = await runLoad(service, {
    path: '/plugin/noop/run',
    connections,
    until: { kind: 'requests', count: jobs },
    expect: { status: 202 },
    sampleEvery,
  });
  const caller = service.caller();
  await until(async () => ((await caller.total('/jobs?status=succeeded&limit=1')) === jobs ? true : undefined), {
    everyMs: 20,
    withinMs: 600_000,
    what: `success of ${jobs} jobs`,
  });
  return samples;
}
