// Bench: an hour of mixed load with reloads, retention and misbehaving plugins, to see whether anything grows, slows down or is lost.
import { atMost, type Bench, type Metric } from '../bench.ts';
import type { Caller } from '../caller.ts';
import { momentUs } from '../moment.ts';
import { pause } from '../pause.ts';
import { median, percentile } from '../percentile.ts';
import { drawPlot } from '../plot.ts';
import type { Service } from '../service.ts';
import { singles } from '../singles.ts';
import type { Stage } from '../stage.ts';
import { Mix, pipeline } from './mix.ts';
import { checkpointNumber, held, type Sample } from './sample.ts';

type Soak = {
  readonly minutes: number;
  /** The load as a fraction of the service's capacity with the same mix. */
  readonly load: number;
  /** How long the capacity of the service is measured. */
  readonly measureSeconds: number;
  readonly reloadSeconds: number;
  readonly wildSeconds: number;
  readonly jobsKept: number;
};

/** The number of samples over the whole time. */
const samplesCount = 100;
/** The number of points in the plot. Each is the median of a group of samples. */
const plotPoints = 20;
const singlesPauseMs = 20;
const atOnce = 64;
const stillMsMax = 60_000;
const wilds = [
  '/plugin/wild-worker/loop',
  '/plugin/wild-program/crash',
  '/plugin/wild-worker/exit',
  '/plugin/wild-program/loop',
  '/plugin/wild-worker/kill',
  '/plugin/wild-worker/events',
];

export const soak: Bench<Soak> = {
  name: 'soak',
  purpose: 'mixed load at 60 % of capacity with reloads, retention and misbehaving plugins: what grows, what is lost',
  limitMs: { smoke: 60_000, real: 86_400_000 },
  parameters: {
    smoke: { minutes: 0.1, load: 0.2, measureSeconds: 0.5, reloadSeconds: 2, wildSeconds: 2, jobsKept: 1_000 },
    real: { minutes: 60, load: 0.6, measureSeconds: 20, reloadSeconds: 20, wildSeconds: 10, jobsKept: 200_000 },
  },

  async run({ minutes, load, measureSeconds, reloadSeconds, wildSeconds, jobsKept }: Soak, stage: Stage) {
    const once = { retry: { max_attempts: 1 }, timeouts: { loop: '500ms' } };
    const service = await stage.start({
      pipelines: [pipeline],
      instances: { 'wild-worker': once, 'wild-program': once },
      retention: { max_jobs: jobsKept },
    });
    const caller = service.caller();
    const mix = new Mix(caller);
    await mix.closed(atOnce, measureSeconds);
    await idle(caller);
    const capacity = await measured(mix, caller, measureSeconds);

    const endMs = performance.now() + minutes * 60_000;
    const isOver = () => performance.now() >= endMs;
    const extra = { wild: 0, singles: 0 };
    const samples: Sample[] = [];
    await Promise.all([
      mix.offered(load * capacity, isOver),
      every(reloadSeconds, isOver, () => reload(service)),
      every(wildSeconds, isOver, async () => {
        await caller.submit(wilds[extra.wild++ % wilds.length]!, { amount: 100 });
      }),
      sampled({ service, stage, minutes, endMs, samples, onSingles: count => (extra.singles += count) }),
    ]);
    const unsettled = await caller.unsettled();
    await idle(caller);
    const settled = await settledCount(service);
    const lost = mix.jobs + extra.wild + extra.singles - settled;
    await service.stop();
    return {
      metrics: [
        { name: 'capacity_calls_per_s', value: capacity, unit: '1/s' },
        { name: 'jobs', value: settled, unit: '' },
        { name: 'unsettled_at_the_end', value: unsettled, unit: '' },
        { name: 'lost', value: lost, unit: '', target: atMost(0) },
        ...compared(samples),
      ],
      work: { lost },
      files: { 'soak.svg': plot(samples, load) },
    };
  },
};

/** The capacity of the service: calls per second whose jobs have ended. */
async function measured(mix: Mix, caller: Caller, seconds: number): Promise<number> {
  const [before, startMs] = [mix.calls, performance.now()];
  await mix.closed(atOnce, seconds);
  await idle(caller);
  return ((mix.calls - before) * 1000) / (performance.now() - startMs);
}

/** Resolves when no job is left. Throws if no job ends for `stillMsMax`. */
async function idle(caller: Caller): Promise<void> {
  let [fewest, sinceMs] = [Number.POSITIVE_INFINITY, performance.now()];
  for (;;) {
    const left = await caller.unsettled();
    if (left === 0) return;
    if (left < fewest) [fewest, sinceMs] = [left, performance.now()];
    else if (performance.now() - sinceMs > stillMsMax) {
      throw new Error(`${left} jobs have not ended, and none did in ${stillMsMax / 1000} s`);
    }
    await pause(5);
  }
}

async function every(seconds: number, isOver: () => boolean, act: () => Promise<void>): Promise<void> {
  for (let n = 1, startMs = performance.now(); !isOver(); n++) {
    const dueMs = startMs + n * seconds * 1000;
    while (performance.now() < dueMs && !isOver()) await pause(Math.min(500, dueMs - performance.now() + 1));
    if (!isOver()) await act();
  }
}

async function reload(service: Service): Promise<void> {
  const headers = { Authorization: `Bearer ${service.token}` };
  const { status } = await fetch(new URL('/system/reload', service.url), { method: 'POST', headers });
  if (status !== 200) throw new Error(`POST /system/reload: ${status}`);
}

/** The number of jobs that settled in the last 24 hours. */
async function settledCount(service: Service): Promise<number> {
  const headers = { Authorization: `Bearer ${service.token}` };
  const answer = await fetch(new URL('/analytics/summary', service.url), { headers });
  const { stats } = (await answer.json()) as { readonly stats: { readonly [status: string]: number } };
  return Object.values(stats).reduce((sum, count) => sum + count, 0);
}

type Sampled = {
  readonly service: Service;
  readonly stage: Stage;
  readonly minutes: number;
  readonly endMs: number;
  readonly samples: Sample[];
  readonly onSingles: (count: number) => void;
};

async function sampled({ service, stage, minutes, endMs, samples, onSingles }: Sampled): Promise<void> {
  const sampleMs = (minutes * 60_000) / samplesCount;
  const caller = service.caller();
  let last = { minute: 0, checkpoint: checkpointNumber(stage.state) };
  for (let left = samplesCount - 1; left >= 0; left--) {
    const done = await singles(caller, singlesPauseMs, () => performance.now() >= endMs - left * sampleMs);
    onSingles(done.length);
    const times = done.map(({ sentUs, job }) => (momentUs(job.completed_at) - sentUs) / 1000);
    const minute = minutes - (left * sampleMs) / 60_000;
    const unsettled = await caller.unsettled();
    const checkpoint = checkpointNumber(stage.state);
    const checkpoints = (checkpoint - last.checkpoint) / (minute - last.minute);
    samples.push({ minute, p99Ms: percentile(times, 99), unsettled, checkpoints, ...held(service, stage.state) });
    last = { minute, checkpoint };
  }
}

/** Compares the last tenth of the samples with the second tenth. */
function compared(samples: readonly Sample[]): Metric[] {
  const tenth = Math.floor(samples.length / 10);
  const [second, last] = [samples.slice(tenth, 2 * tenth), samples.slice(-tenth)];
  const of = (name: keyof Sample, part: readonly Sample[]) => median(part.map(sample => sample[name]));
  const pair = (name: keyof Sample, unit: string): Metric[] => [
    { name: `${name}_second_tenth`, value: of(name, second), unit },
    { name: `${name}_last_tenth`, value: of(name, last), unit },
  ];
  const share = (name: keyof Sample): Metric => {
    const value = of(name, last) / of(name, second);
    return { name: `${name}_share`, value, unit: '', target: atMost(1.1) };
  };
  const more = (name: keyof Sample): Metric => {
    const value = of(name, last) - of(name, second);
    return { name: `${name}_more`, value, unit: '', target: atMost(0) };
  };
  return [
    ...[...pair('memoryMb', 'MB'), share('memoryMb')],
    ...[...pair('anonymousMb', 'MB'), share('anonymousMb')],
    ...[...pair('p99Ms', 'ms'), share('p99Ms')],
    ...[...pair('ledgerMb', 'MB'), share('ledgerMb')],
    ...[...pair('logMb', 'MB'), share('logMb')],
    ...pair('indexMb', 'MB'),
    ...pair('checkpoints', '1/min'),
    ...(['descriptors', 'threads', 'files'] as const).flatMap(name => [...pair(name, ''), more(name)]),
  ];
}

function plot(samples: readonly Sample[], load: number): string {
  const size = Math.ceil(samples.length / plotPoints);
  const parts = Array.from({ length: Math.ceil(samples.length / size) }, (_, n) =>
    samples.slice(n * size, (n + 1) * size),
  );
  const panel = (title: string, name: keyof Sample) => ({
    title,
    points: parts.map(part => ({ x: part.at(-1)!.minute, y: median(part.map(sample => sample[name])) })),
  });
  const panels = [
    panel('memory of service and hosts, MB', 'memoryMb'),
    panel('memory without mapped files, MB', 'anonymousMb'),
    panel('p99 of a single job, ms', 'p99Ms'),
    panel('jobs that have not ended', 'unsettled'),
    panel('descriptors', 'descriptors'),
    panel('threads', 'threads'),
    panel('files of the state', 'files'),
    panel('ledger, MB', 'ledgerMb'),
    panel('commit log, MB', 'logMb'),
    panel('index, MB', 'indexMb'),
    panel('checkpoints per minute', 'checkpoints'),
  ];
  const title = `soak: mixed load at ${Math.round(load * 100)} % of capacity`;
  return drawPlot({ title, scale: 'linear', axis: 'minutes', panels });
}
