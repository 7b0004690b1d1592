// Bench: fan-outs of more and more children, with their join.
import type { Bench } from '../bench.ts';
import { rssMb } from '../cost.ts';
import { fanPipeline, runFan } from '../fan-run.ts';
import { percentile } from '../percentile.ts';
import type { Stage } from '../stage.ts';
import { growthOutcome, mb, ms, perSecond, type Step, sizesBetween } from './growth.ts';

type Fanout = {
  readonly from: number;
  readonly children: number;
  /**
   * Sets the number of runs of each size: their children together are at most this many. There is at least one run, and
   * there are at most `runs`.
   */
  readonly childrenInAll: number;
  readonly runs: number;
};

const bench = 'scale-fanout';

export const scaleFanout: Bench<Fanout> = {
  name: bench,
  purpose: 'fan-outs of 10 to 1,000,000 children with a join',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { from: 10, children: 100, childrenInAll: 200, runs: 2 },
    real: { from: 10, children: 1_000_000, childrenInAll: 300_000, runs: 50 },
  },

  async run({ from, children, childrenInAll, runs }: Fanout, stage: Stage) {
    const service = await stage.start({ pipelines: [fanPipeline] });
    const caller = service.caller();
    const steps: Step[] = [];
    const results: unknown[] = [];
    for (const at of sizesBetween(from, children, 10)) {
      const count = Math.min(runs, Math.max(1, Math.floor(childrenInAll / at)));
      const timesMs: number[] = [];
      for (let run = 0; run < count; run++) {
        const { wholeUs, result } = await runFan(caller, at);
        timesMs.push(wholeUs / 1000);
        if (run === 0) results.push(result);
      }
      const medianMs = percentile(timesMs, 50);
      const measures = {
        children_per_s: perSecond((at * 1000) / medianMs),
        run_p50: ms(medianMs),
        run_p99: ms(percentile(timesMs, 99)),
        rss: mb(rssMb(service.usage())),
      };
      steps.push({ at, measures });
    }
    await service.stop();
    const growth = { bench, title: 'Fan-outs with a join', axis: 'children', steps };
    return { ...growthOutcome(growth), work: results };
  },
};
