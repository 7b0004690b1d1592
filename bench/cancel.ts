// Bench: a run with very many waiting jobs is cancelled. Measures the cancel, and how long single jobs of another
// plugin take meanwhile.
import { atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { costMetrics } from './cost.ts';
import { fanSteps } from './fan-run.ts';
import { momentUs, nowUs } from './moment.ts';
import { until } from './pause.ts';
import { percentile } from './percentile.ts';
import { isOver, singles, timesMs } from './singles.ts';
import type { Stage } from './stage.ts';
import { measureSync } from './sync-floor.ts';

type Cancel = {
  /** The number of runs that the cancelled run has called. */
  readonly runs: number;
  /** The number of elements in the fan-out of each called run. */
  readonly elements: number;
  /** The pause between two single jobs, before the cancel and during it. */
  readonly pauseMs: number;
  readonly idleSamples: number;
};

/** The maximum number of unsettled jobs of a run (`unsettledMax` in actors/pipeline/fanout/expansion.ts). */
const waitingMax = 16_384;
const pipelines = [
  {
    name: 'outer',
    on: 'bench.outer',
    steps: [{ id: 'call', call: 'inner', foreach: 'payload.runs', with: { count: '{payload.item.count}' } }],
  },
  { name: 'inner', on: 'bench.inner', steps: fanSteps('held') },
];

export const cancel: Bench<Cancel> = {
  name: 'cancel',
  purpose:
    'the cancel of a run with a million waiting jobs and a million elements left, beside single jobs of another plugin',
  limitMs: { smoke: 60_000, real: 300_000 },
  parameters: {
    smoke: { runs: 4, elements: 20_000, pauseMs: 5, idleSamples: 20 },
    real: { runs: 64, elements: 32_000, pauseMs: 10, idleSamples: 300 },
  },

  async run({ runs, elements, pauseMs, idleSamples }: Cancel, stage: Stage) {
    const service = await stage.start({ pipelines, instances: { held: { uses: 'fan' } } });
    const caller = service.caller();
    await caller.post('/control/plugin/held/pause', {});
    const list = Array.from({ length: runs }, () => ({ count: elements }));
    const run = await caller.submit('/pipeline/outer?async=true', { runs: list });
    const jobs = runs * Math.min(elements, waitingMax);
    await until(async () => ((await pausedJobs(caller)) >= jobs ? true : undefined), {
      everyMs: 50,
      withinMs: 120_000,
      what: `${jobs} waiting jobs`,
    });
    const idle = timesMs(await singles(caller, pauseMs, count => count >= idleSamples));
    const endStretch = service.stretch();
    const startMs = performance.now();
    const startUs = nowUs();
    const isEnded = async () => isOver((await caller.job(run)).status);
    const [answerMs, during] = await Promise.all([
      caller.post(`/job/${run}/cancel`, {}).then(() => performance.now() - startMs),
      singles(caller, pauseMs, isEnded).then(timesMs),
    ]);
    const cost = costMetrics([endStretch()], jobs);
    const root = await caller.job(run);
    const ended = await caller.total('/jobs?plugin=held&status=cancelled');
    if (root.status !== 'cancelled') throw new Error(`the run is ${root.status}: ${root.last_error}`);
    if (ended !== jobs) throw new Error(`${ended} jobs are cancelled, not ${jobs}`);
    const floor = await measureSync(idleSamples, pauseMs);
    await service.stop();
    const ms = (name: string, value: number) => ({ name, value, unit: 'ms' });
    const [idleP99, duringP99] = [percentile(idle, 99), percentile(during, 99)];
    return {
      metrics: [
        { ...ms('cancel_answer_ms', answerMs), target: atMost(20) },
        { name: 'cancel_ended_s', value: (momentUs(root.completed_at) - startUs) / 1e6, unit: 's', target: atMost(15) },
        ms('idle_p50_ms', percentile(idle, 50)),
        ms('idle_p99_ms', idleP99),
        ms('single_p50_ms', percentile(during, 50)),
        ms('single_p99_ms', duringP99),
        ms('single_max_ms', Math.max(...during)),
        { name: 'single_p99_ratio', value: duringP99 / idleP99, unit: '', target: atMost(2) },
        { name: 'singles', value: during.length, unit: '' },
        ms('sync_floor_p99_ms', floor.percentile(99) / 1000),
        ...cost,
      ],
      work: { cancelled: ended },
    };
  },
};

async function pausedJobs(caller: Caller): Promise<number> {
  return (await caller.queue())['paused_count']!;
}
