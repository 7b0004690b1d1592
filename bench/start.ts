// Bench: the cost of a start until the first job has ended, in time and in CPU of all threads and hosts.
import type { Bench } from './bench.ts';
import { percentile } from './percentile.ts';
import { succeeded } from './queue.ts';
import type { Stage } from './stage.ts';
import { fineCpuUs } from './usage.ts';

type Start = { readonly starts: number };

export const start: Bench<Start> = {
  name: 'start',
  purpose: 'starts of the service: CPU and time until it is ready, and until its first job has ended',
  limitMs: { smoke: 30_000, real: 120_000 },
  parameters: { smoke: { starts: 2 }, real: { starts: 20 } },

  async run({ starts }: Start, stage: Stage) {
    const readyMs: number[] = [];
    const firstJobMs: number[] = [];
    const cpuMs: number[] = [];
    const results: unknown[] = [];
    for (let n = 0; n < starts; n++) {
      const service = await stage.start();
      const caller = service.caller();
      const job = await succeeded(caller, await caller.submit('/plugin/noop/run', { n }));
      firstJobMs.push(Date.parse(job.completed_at!) - service.spawnedAtMs);
      readyMs.push(service.readyMs);
      cpuMs.push(fineCpuUs(service.pid) / 1000);
      results.push(job.result?.result);
      await service.stop();
    }
    return {
      metrics: [
        { name: 'cpu_start_ms', value: percentile(cpuMs, 50), unit: 'ms' },
        { name: 'ready_ms', value: percentile(readyMs, 50), unit: 'ms' },
        { name: 'first_job_ms', value: percentile(firstJobMs, 50), unit: 'ms' },
      ],
      work: { starts, results },
    };
  },
};
