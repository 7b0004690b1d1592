// Bench: reads over HTTP from many connections.
import { atLeast, type Bench, type Target } from './bench.ts';
import { costMetrics } from './cost.ts';
import { readMetrics, readOften } from './read-load.ts';
import type { Stage } from './stage.ts';

type HttpRead = { readonly connections: number; readonly seconds: number };

type Read = { readonly name: string; readonly path: string; readonly target: Target };

/** The targets are those of two cores that the client shares. */
const reads: readonly Read[] = [{ name: 'healthz', path: '/healthz', target: atLeast(90_000) }];

export const httpRead: Bench<HttpRead> = {
  name: 'http-read',
  purpose: 'GET requests at 128 connections',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: { smoke: { connections: 8, seconds: 1 }, real: { connections: 128, seconds: 10 } },

  async run({ connections, seconds }: HttpRead, stage: Stage) {
    const service = await stage.start();
    const before = service.usage();
    const metrics = [];
    let count = 0;
    for (const { name, path, target } of reads) {
      const result = await readOften(service, { path, connections, seconds }, stage);
      metrics.push(...readMetrics(name, result, target));
      count += result.perS * seconds;
    }
    const cost = costMetrics([{ before, after: service.usage() }], count);
    const health = (await (await fetch(new URL('/healthz', service.url))).json()) as { status: string };
    await service.stop();
    return { metrics: [...metrics, ...cost], work: { status: health.status, fields: Object.keys(health) } };
  },
};
