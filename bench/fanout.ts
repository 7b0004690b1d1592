// Bench: a pipeline run with very many children by `foreach` and a join, and a small run of the same kind as its caller
// sees it.
import { atLeast, atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { costMetrics } from './cost.ts';
import { callFan, fanPipeline, runFan } from './fan-run.ts';
import { momentUs } from './moment.ts';
import { percentile } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import type { Stretch } from './usage.ts';

type Fanout = {
  readonly children: number;
  /** The number of runs. They take place one after the other, and the median counts. */
  readonly runs: number;
  readonly smallChildren: number;
  readonly smallRuns: number;
};

export const fanout: Bench<Fanout> = {
  name: 'fanout',
  purpose: 'a pipeline run with 100,000 children by foreach and a join; the same with 1,000',
  limitMs: { smoke: 100_000, real: 300_000 },
  parameters: {
    smoke: { children: 2_000, runs: 2, smallChildren: 50, smallRuns: 3 },
    real: { children: 100_000, runs: 5, smallChildren: 1_000, smallRuns: 50 },
  },

  async run({ children, runs, smallChildren, smallRuns }: Fanout, stage: Stage) {
    const service = await stage.start({ pipelines: [fanPipeline] });
    const caller = service.caller();
    const large: Run[] = [];
    for (let run = 0; run < runs; run++) large.push(await runOnce(service, caller, children));
    const cost = costMetrics(
      large.map(({ usage }) => usage),
      children * runs,
    );
    const small = await callOften(service, smallChildren, smallRuns);
    await service.stop();
    const perS = large.map(({ wholeUs }) => children / (wholeUs / 1e6));
    return {
      metrics: [
        { name: 'children_per_s', value: percentile(perS, 50), unit: '1/s', target: atLeast(100_000) },
        { name: 'children_per_s_first', value: perS[0]!, unit: '1/s' },
        { name: 'children_per_s_best', value: Math.max(...perS), unit: '1/s' },
        {
          name: 'children_per_s_after_make',
          value: percentile(
            large.map(({ childrenUs }) => children / (childrenUs / 1e6)),
            50,
          ),
          unit: '1/s',
        },
        { name: 'run_ms', value: percentile(small.timesMs, 50), unit: 'ms', target: atMost(20) },
        { name: 'run_p99_ms', value: percentile(small.timesMs, 99), unit: 'ms' },
        { name: 'run_recorded_ms', value: percentile(small.recordedMs, 50), unit: 'ms' },
        ...cost,
      ],
      work: { large: large.map(({ work }) => work), small: small.results },
    };
  },
};

type Run = {
  /** The time from the run's creation to its completion, by its record. */
  readonly wholeUs: number;
  /** The time from the end of `make` to the end of the last child. */
  readonly childrenUs: number;
  /** The usage during the run, before the tree is read. */
  readonly usage: Stretch;
  readonly work: unknown;
};

async function runOnce(service: Service, caller: Caller, children: number): Promise<Run> {
  const endStretch = service.stretch();
  const { id, wholeUs, result } = await runFan(caller, children);
  const usage = endStretch();
  const tree = await caller.tree(id);
  const make = tree.find(({ command }) => command === 'make');
  const works = tree.filter(({ command }) => command === 'work');
  const wrong = tree.find(({ status }) => status !== 'succeeded');
  if (!make || works.length !== children || tree.length !== children + 3 || wrong) {
    throw new Error(`the tree has ${tree.length} jobs, ${works.length} of them children, one is ${wrong?.status}`);
  }
  const lastUs = works.reduce((last, job) => Math.max(last, momentUs(job.completed_at)), 0);
  return {
    wholeUs,
    childrenUs: lastUs - momentUs(make.completed_at),
    usage,
    work: { result, results: works.map(({ result }) => JSON.stringify(result?.result)).sort() },
  };
}

/**
 * Makes synchronous calls, one at a time. Measures how long the caller waits, and how long the run takes by its record.
 */
async function callOften(service: Service, count: number, runs: number) {
  const connection = await service.connect();
  const timesMs: number[] = [];
  const recordedMs: number[] = [];
  const results: unknown[] = [];
  for (let run = 0; run < runs; run++) {
    const call = await callFan(service, connection, count);
    timesMs.push((call.answeredUs - call.sentUs) / 1000);
    recordedMs.push((call.completedUs - call.createdUs) / 1000);
    results.push(call.result);
  }
  connection.close();
  return { timesMs, recordedMs, results };
}
