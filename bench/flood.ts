// Bench: how long single jobs of one plugin take while another plugin runs a fan-out over a million elements.
import { atMost, type Bench } from './bench.ts';
import { costMetrics } from './cost.ts';
import { fanSteps } from './fan-run.ts';
import { percentile } from './percentile.ts';
import { isOver, singles, timesMs } from './singles.ts';
import type { Stage } from './stage.ts';

type Flood = {
  readonly children: number;
  /** The pause between two single jobs, on the idle service and during the flood. */
  readonly pauseMs: number;
  readonly idleSamples: number;
};

const pipeline = { name: 'flood', on: 'bench.flood', steps: fanSteps() };

export const flood: Bench<Flood> = {
  name: 'flood',
  purpose: "single jobs of one plugin while another's fan-out over a million elements begins, runs and is joined",
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { children: 20_000, pauseMs: 5, idleSamples: 20 },
    real: { children: 1_000_000, pauseMs: 10, idleSamples: 300 },
  },

  async run({ children, pauseMs, idleSamples }: Flood, stage: Stage) {
    const service = await stage.start({ pipelines: [pipeline] });
    const caller = service.caller();
    const idle = timesMs(await singles(caller, pauseMs, count => count >= idleSamples));
    const endStretch = service.stretch();
    const run = await caller.submit('/pipeline/flood?async=true', { count: children });
    const isJoined = async () => isOver((await caller.job(run)).status);
    const during = timesMs(await singles(caller, pauseMs, isJoined));
    const cost = costMetrics([endStretch()], children);
    const root = await caller.job(run);
    if (root.status !== 'succeeded') throw new Error(`the flood is ${root.status}: ${root.last_error}`);
    await service.stop();
    const ms = (name: string, value: number) => ({ name, value, unit: 'ms' });
    return {
      metrics: [
        ms('idle_p50_ms', percentile(idle, 50)),
        ms('idle_p99_ms', percentile(idle, 99)),
        ms('single_p50_ms', percentile(during, 50)),
        ms('single_p99_ms', percentile(during, 99)),
        { ...ms('delay_p99_ms', percentile(during, 99) - percentile(idle, 50)), target: atMost(50) },
        ms('single_max_ms', Math.max(...during)),
        { name: 'singles', value: during.length, unit: '' },
        ...cost,
      ],
      work: { result: root.result },
    };
  },
};
