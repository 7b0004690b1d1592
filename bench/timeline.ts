// Bench: how long reads of the timelines of large runs take, and how long jobs of another plugin take meanwhile.
import { atMost, type Bench, type Metric } from './bench.ts';
import type { Caller } from './caller.ts';
import { costMetrics } from './cost.ts';
import { fanPipeline, runFan } from './fan-run.ts';
import { momentUs } from './moment.ts';
import { percentile } from './percentile.ts';
import { type Single, singles } from './singles.ts';
import type { Stage } from './stage.ts';

type TimelineParameters = {
  readonly children: number;
  /** The number of children of the larger run. */
  readonly childrenMany: number;
  /** How often the timeline of each run is read, one read after the other. */
  readonly times: number;
  /** The number of jobs that are measured on the idle service, and again during reads. */
  readonly samples: number;
  /** The pause between two measured jobs. */
  readonly pauseMs: number;
};

type Timeline = {
  readonly count: number;
  readonly steps: readonly { readonly step: string; readonly count: number }[];
  readonly critical_path: readonly { readonly step: string }[];
};

export const timeline: Bench<TimelineParameters> = {
  name: 'timeline',
  purpose: 'the timelines of runs with 100,000 and 1,000,000 children, and jobs of another plugin meanwhile',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: {
    smoke: { children: 200, childrenMany: 1_000, times: 2, samples: 5, pauseMs: 2 },
    real: { children: 100_000, childrenMany: 1_000_000, times: 5, samples: 500, pauseMs: 5 },
  },

  async run({ children, childrenMany, times, samples, pauseMs }: TimelineParameters, stage: Stage) {
    const service = await stage.start({ pipelines: [fanPipeline] });
    const caller = service.caller();
    const few = await runFan(caller, children);
    const many = await runFan(caller, childrenMany);
    const reader = new TimelineReader(caller);
    await singles(caller, pauseMs, count => count >= samples);
    const idle = timesUs(await singles(caller, pauseMs, count => count >= samples));
    const fewMs = await reader.read(few.id, times);
    const manyMs = await reader.read(many.id, times);
    const endStretch = service.stretch();
    let isOver = false;
    const reading = reader.readUntil(many.id, () => isOver);
    const during = timesUs(await singles(caller, pauseMs, count => count >= samples));
    isOver = true;
    const reads = await reading;
    const cost = costMetrics([endStretch()], reads);
    const keptMs = await reader.readAgain(few.id, times);
    await service.stop();
    const [before, meanwhile] = [percentile(idle, 99), percentile(during, 99)];
    const metrics: Metric[] = [
      { name: 'timeline_ms', value: percentile(fewMs, 50), unit: 'ms', target: atMost(500) },
      { name: 'timeline_many_ms', value: percentile(manyMs, 50), unit: 'ms', target: atMost(3_000) },
      { name: 'timeline_kept_ms', value: percentile(keptMs, 50), unit: 'ms' },
      { name: 'idle_p50_us', value: percentile(idle, 50), unit: 'us' },
      { name: 'single_p50_us', value: percentile(during, 50), unit: 'us' },
      { name: 'idle_p99_us', value: before, unit: 'us' },
      { name: 'single_p99_us', value: meanwhile, unit: 'us' },
      { name: 'single_p99_ratio', value: meanwhile / before, unit: '', target: atMost(2) },
      ...cost,
    ];
    return { metrics, work: [few.result, many.result, reader.seen] };
  },
};

/** Reads timelines that the service does not keep in memory: each read asks for another number of buckets. */
class TimelineReader {
  readonly seen: unknown[] = [];
  readonly #caller: Caller;
  #buckets = 400;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Reads the timeline of a run `times` times. Resolves with the time of each read, in ms. */
  async read(run: string, times: number): Promise<number[]> {
    const timesMs: number[] = [];
    for (let n = 0; n < times; n++) {
      const startMs = performance.now();
      const { count, steps, critical_path: path } = await this.#one(run);
      timesMs.push(performance.now() - startMs);
      if (n > 0) continue;
      this.seen.push([count, steps.map(({ step, count }) => [step, count]), path.map(({ step }) => step)]);
    }
    return timesMs;
  }

  /** Reads the timeline that the service keeps in memory. Resolves with the time of each read, in ms. */
  async readAgain(run: string, times: number): Promise<number[]> {
    const path = `/job/${run}/timeline`;
    await this.#caller.read(path);
    const timesMs: number[] = [];
    for (let n = 0; n < times; n++) {
      const startMs = performance.now();
      await this.#caller.read(path);
      timesMs.push(performance.now() - startMs);
    }
    return timesMs;
  }

  /** Reads timelines of a run, one after the other, until `isOver` returns true. Resolves with the number of reads. */
  async readUntil(run: string, isOver: () => boolean): Promise<number> {
    let reads = 0;
    for (; !isOver() || reads === 0; reads++) await this.#one(run);
    return reads;
  }

  #one(run: string): Promise<Timeline> {
    // A request may ask for at most 2,000 buckets. After this many reads, the service no longer keeps the first
    // timelines.
    this.#buckets = this.#buckets === 2_000 ? 400 : this.#buckets + 1;
    return this.#caller.read<Timeline>(`/job/${run}/timeline?buckets=${this.#buckets}`);
  }
}

/** The time of each job from its creation to its completion, by its record. */
function timesUs(done: readonly Single[]): number[] {
  return done.map(({ job }) => momentUs(job.completed_at) - momentUs(job.created_at));
}
