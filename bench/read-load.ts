// Reads one path from many connections as fast as it is answered, with wrk if it is installed, otherwise with the
// client in load/.
import type { Metric, Target } from './bench.ts';
import { runLoad } from './load/run.ts';
import { hasWrk, runWrk } from './load/wrk.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

export type ReadPlan = {
  readonly path: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: { readonly [name: string]: string };
  readonly status?: number;
};

export type ReadResult = { readonly perS: number; readonly p50Us: number; readonly p99Us: number };

/** Reads for a time. Throws if an answer does not have the wanted status; with wrk, every 2xx and 3xx is accepted. */
export async function readOften(service: Service, plan: ReadPlan, stage: Stage): Promise<ReadResult> {
  const { path, connections, seconds, headers = {}, status = 200 } = plan;
  if (hasWrk()) {
    const plan = { path, connections, seconds, directory: stage.directory, read: { headers } };
    return answered(path, await runWrk(service, plan));
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const result = await runLoad(service, {
    path,
    connections,
    read: { headers: lines.join('') },
    until: { kind: 'time', ms: seconds * 1000 },
    expect: { status },
    sampleEvery: 0,
  });
  return answered(path, { ...result, perS: (result.completed * 1000) / result.elapsedMs });
}

function answered<R extends { readonly completed: number }>(path: string, result: R): R {
  if (result.completed === 0) throw new Error(`${path}: nothing was answered`);
  return result;
}

/** The metrics of a kind of read, with its name as prefix: rate and latency. */
export function readMetrics(name: string, { perS, p50Us, p99Us }: ReadResult, target?: Target): Metric[] {
  return [
    { name: `${name}_per_s`, value: perS, unit: '1/s', ...(target && { target }) },
    { name: `${name}_p50_ms`, value: p50Us / 1000, unit: 'ms' },
    { name: `${name}_p99_ms`, value: p99Us / 1000, unit: 'ms' },
  ];
}
