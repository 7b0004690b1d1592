// Bench: headgate beside a minimal gateway made of the same parts. The difference between them is what headgate could
// gain at most.
import { join } from 'node:path';
import { BareGateway } from './bare/bare-gateway.ts';
import { children } from './bare/protocol.ts';
import type { Bench, Metric } from './bench.ts';
import { callFan, fanPipeline } from './fan-run.ts';
import { closeGates, idle } from './gate.ts';
import { minimalAnswer, runAtOnce, runJobs, runPipelines, runsMany, threeSteps } from './latency.ts';
import { runAccepting } from './load/accepting.ts';
import type { LoadPlan } from './load/plan.ts';
import { type Loaded, runLoad } from './load/run.ts';
import { hasWrk } from './load/wrk.ts';
import { pause } from './pause.ts';
import { median } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Bare = {
  readonly rounds: number;
  /** The number of jobs that warm up each gateway. */
  readonly warmup: number;
  readonly samples: number;
  readonly pauseMs: number;
  readonly runs: number;
  readonly fans: number;
  /**
   * The number of connections for measuring how fast jobs are accepted. Parallel runs are measured on a quarter of
   * these connections, and on `runsMany` connections.
   */
  readonly connections: number;
  readonly seconds: number;
};

/** Times are in µs, rates per second. */
type Figures = {
  readonly start: number;
  readonly run: number;
  readonly fan: number;
  readonly runs: number;
  readonly manyRuns: number;
  readonly accepted: number;
};
type Round = { readonly least: Figures; readonly own: Figures & { readonly results: readonly unknown[] } };

const path = '/plugin/noop/run';
const names = {
  start: { metric: 'start_p50_us', unit: 'us' },
  run: { metric: 'run_p50_us', unit: 'us' },
  fan: { metric: `fanout_${children}_us`, unit: 'us' },
  runs: { metric: 'runs_per_s', unit: '1/s' },
  manyRuns: { metric: `runs_per_s_${runsMany}`, unit: '1/s' },
  accepted: { metric: 'accepted_per_s', unit: '1/s' },
} as const;

export const bare: Bench<Bare> = {
  name: 'bare',
  purpose: 'headgate beside a minimal gateway made of the same parts: how much could be gained at most',
  limitMs: { smoke: 30_000, real: 240_000 },
  parameters: {
    smoke: { rounds: 1, warmup: 20, samples: 10, pauseMs: 1, runs: 10, fans: 2, connections: 8, seconds: 0.25 },
    real: { rounds: 5, warmup: 10_000, samples: 300, pauseMs: 5, runs: 300, fans: 30, connections: 128, seconds: 3 },
  },

  async run(parameters: Bare, stage: Stage) {
    const service = await stage.start({ pipelines: [threeSteps, fanPipeline] });
    const least = await BareGateway.start(join(stage.directory, 'bare'), service.token);
    try {
      await load(least, '/start', { until: { kind: 'requests', count: parameters.warmup }, status: 202 });
      await load(service, path, { until: { kind: 'requests', count: parameters.warmup }, status: 202 });
      const rounds: Round[] = [];
      for (let round = 0; round < parameters.rounds; round++) {
        rounds.push({
          least: await leastFigures(least, parameters, stage),
          own: await figures(service, parameters, stage),
        });
      }
      await service.stop();
      const metrics = Object.keys(names).flatMap(name => metricsOf(name as keyof Figures, rounds));
      const work = rounds.map(({ own }) => own.results);
      return { metrics, work, circumstances: { client: hasWrk() ? 'wrk' : 'bundled' } };
    } finally {
      await least.stop();
    }
  },
};

async function leastFigures(least: BareGateway, plan: Bare, { directory }: Stage): Promise<Figures> {
  const { startUs } = await least.times('/start', plan.samples, 2 * plan.pauseMs);
  const { answerUs } = await least.times('/steps', plan.runs, 0);
  const fans = await least.times('/fan', plan.fans, plan.pauseMs);
  const until = { kind: 'time', ms: plan.seconds * 1000 } as const;
  const runs = await load(least, '/steps', { until, connections: runsFew(plan), status: 202 });
  const manyRuns = await load(least, '/steps', { until, connections: runsMany, status: 202 });
  const { perS } = await runAccepting(least, { path: '/accept', ...plan, directory });
  return {
    start: startUs.percentile(50),
    run: answerUs.percentile(50),
    fan: fans.answerUs.percentile(50),
    runs,
    manyRuns,
    accepted: perS,
  };
}

async function figures(service: Service, plan: Bare, stage: Stage): Promise<Round['own']> {
  const { requestUs, results: single } = await runJobs(service, plan.samples, plan.pauseMs);
  const { timesUs, results: alone } = await runPipelines(service, plan.runs, minimalAnswer);
  const fan = await fanUs(service, plan);
  const { perS: runs } = await runAtOnce(service, runsFew(plan), plan.seconds, minimalAnswer);
  const { perS: manyRuns } = await runAtOnce(service, runsMany, plan.seconds, minimalAnswer);
  await closeGates(service, stage);
  const { perS } = await runAccepting(service, { path, ...plan, directory: stage.directory });
  stage.openGates();
  await idle(service.caller());
  const results = [single, alone];
  const [start, run] = [requestUs.percentile(50), timesUs.percentile(50)];
  return { start, run, fan, runs, manyRuns, accepted: perS, results };
}

/** The median time of a fan-out in µs, from just before the request to the end of the run. */
async function fanUs(service: Service, { fans, pauseMs }: Bare): Promise<number> {
  const connection = await service.connect();
  const timesUs: number[] = [];
  for (let n = 0; n < fans; n++) {
    const { sentUs, completedUs } = await callFan(service, connection, children);
    timesUs.push(completedUs - sentUs);
    await pause(pauseMs);
  }
  connection.close();
  return median(timesUs);
}

function runsFew({ connections }: Bare): number {
  return connections / 4;
}

type Load = Pick<LoadPlan, 'until'> & {
  readonly connections?: number;
  readonly status: number;
};

/** Makes calls. Resolves with the number of answers per second. */
async function load(service: Loaded, at: string, { until, connections = 32, ...expect }: Load): Promise<number> {
  const { completed, elapsedMs } = await runLoad(service, { path: at, connections, until, expect, sampleEvery: 0 });
  return (completed * 1000) / elapsedMs;
}

/** The medians of the rounds. The metric `…_of_bare` is 100 % if headgate is as fast as the bare gateway. */
function metricsOf(name: keyof Figures, rounds: readonly Round[]): Metric[] {
  const { metric, unit } = names[name];
  const isTime = unit === 'us';
  const parts = rounds.map(({ least, own }) => (isTime ? least[name] / own[name] : own[name] / least[name]));
  return [
    { name: `bare_${metric}`, value: median(rounds.map(({ least }) => least[name])), unit },
    { name: metric, value: median(rounds.map(({ own }) => own[name])), unit },
    { name: `${metric}_of_bare`, value: 100 * median(parts), unit: '%' },
  ];
}
