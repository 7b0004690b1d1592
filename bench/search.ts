// Bench: searches among stored logs, for a word in one log, for a word in all logs, for both, for a prefix, and with a
// filter.
import { atMost, type Bench, type Metric } from './bench.ts';
import { Connection } from './load/connection.ts';
import { numberText, requestBytes } from './load/request.ts';
import { until } from './pause.ts';
import { Samples } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import { storeJobs } from './stored-jobs.ts';

type Search = {
  readonly jobs: number;
  readonly connections: number;
  readonly warmup: number;
  readonly searches: number;
};

export const search: Bench<Search> = {
  name: 'search',
  purpose: 'full-text search among 1,000,000 logs: rare and common words, a prefix, a filter',
  limitMs: { smoke: 30_000, real: 900_000 },
  parameters: {
    smoke: { jobs: 2_000, connections: 8, warmup: 5, searches: 30 },
    real: { jobs: 1_000_000, connections: 128, warmup: 50, searches: 1_000 },
  },

  async run({ jobs, connections, warmup, searches }: Search, stage: Stage) {
    const service = await stage.start();
    const startMs = performance.now();
    await storeJobs(service, jobs, connections, 0);
    const storedMs = performance.now();
    const caller = service.caller();
    // Every result has a field with the name n.
    await until(async () => ((await caller.total('/job-logs?query=n&limit=1')) === jobs ? true : undefined), {
      everyMs: 50,
      withinMs: 600_000,
      what: 'indexing of all logs',
    });
    const indexedMs = performance.now();
    const asked = async (query: (k: number) => string, total: number): Promise<Samples> => {
      await ask(service, query, total, warmup);
      return ask(service, query, total, searches);
    };
    const numberOf = (k: number) => numberText((k * 7919) % jobs);
    const prefixed = Math.min(jobs, 1_000);
    const rare = await asked(numberOf, 1);
    const common = await asked(() => 'n', jobs);
    const both = await asked(k => `n+${numberOf(k)}`, 1);
    const prefix = await asked(() => `${numberText(0).slice(0, 6)}*`, prefixed);
    const filtered = await asked(() => 'n&plugin=noop&status=ok', jobs);
    await service.stop();
    const ms = (name: string, samples: Samples, percent: number): Metric => {
      return { name: `${name}_p${percent}_ms`, value: samples.percentile(percent) / 1000, unit: 'ms' };
    };
    return {
      metrics: [
        { name: 'stored_per_s', value: (jobs * 1000) / (storedMs - startMs), unit: '1/s' },
        { name: 'index_behind_ms', value: indexedMs - storedMs, unit: 'ms' },
        ms('rare', rare, 50),
        { ...ms('rare', rare, 99), target: atMost(50) },
        ms('common', common, 50),
        { ...ms('common', common, 99), target: atMost(100) },
        ms('both', both, 99),
        ms('prefix', prefix, 99),
        ms('filtered', filtered, 99),
      ],
      work: { jobs, prefixed },
    };
  },
};

async function ask(service: Service, query: (k: number) => string, total: number, count: number): Promise<Samples> {
  const { hostname, port, host } = service.url;
  const connection = await Connection.open(hostname, Number(port));
  const timesUs = new Samples();
  for (let k = 0; k < count; k++) {
    const path = `/job-logs?query=${query(k)}`;
    const startMs = performance.now();
    const reply = await connection.ask(requestBytes({ method: 'GET', path, host, token: service.token }));
    timesUs.add((performance.now() - startMs) * 1000);
    const found = reply.status === 200 ? (JSON.parse(reply.body.toString()) as { total: number }).total : -1;
    if (found !== total) throw new Error(`${path} was answered ${reply.status}: ${found} logs, not ${total}`);
  }
  connection.close();
  return timesUs;
}
