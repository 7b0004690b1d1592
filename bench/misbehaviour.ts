// Bench: how long jobs of one plugin take while another plugin keeps misbehaving, for each expensive way to misbehave.
import { atMost, type Bench, type Metric } from './bench.ts';
import type { Caller, Job } from './caller.ts';
import { idle } from './gate.ts';
import { momentUs } from './moment.ts';
import { until } from './pause.ts';
import { percentile } from './percentile.ts';
import { isOver, type Single, singles } from './singles.ts';
import type { Stage } from './stage.ts';

type Misbehaviour = {
  /** How many jobs are measured for each misbehaviour: this many while the service is idle, and this many again during the misbehaviour. */
  readonly samples: number;
  /** The pause between two measured jobs. */
  readonly pauseMs: number;
  /** The deadline of the misbehaving jobs that would otherwise run longer. */
  readonly deadlineMs: number;
  readonly stdoutMb: number;
  readonly memoryMb: number;
  readonly events: number;
  /** How long the plugin ignores SIGTERM. SIGKILL follows 5 s after SIGTERM. */
  readonly staysS: number;
  /** The number of well-behaved jobs in the same thread as a misbehaving job of `wild-io`. */
  readonly neighbours: number;
};

/** A way to misbehave. `amount` is the name of the parameter that says how much. */
type Way = {
  readonly plugin: 'wild-program' | 'wild-worker' | 'wild-io';
  readonly command: string;
  readonly amount?: keyof Misbehaviour;
};

const ways: readonly Way[] = [
  { plugin: 'wild-program', command: 'stdout', amount: 'stdoutMb' },
  { plugin: 'wild-program', command: 'stderr' },
  { plugin: 'wild-program', command: 'loop' },
  { plugin: 'wild-program', command: 'stays', amount: 'staysS' },
  { plugin: 'wild-program', command: 'memory', amount: 'memoryMb' },
  { plugin: 'wild-program', command: 'forks' },
  { plugin: 'wild-program', command: 'crash' },
  { plugin: 'wild-worker', command: 'loop' },
  { plugin: 'wild-worker', command: 'memory', amount: 'memoryMb' },
  { plugin: 'wild-worker', command: 'events', amount: 'events' },
  { plugin: 'wild-worker', command: 'exit' },
  { plugin: 'wild-worker', command: 'kill' },
  { plugin: 'wild-io', command: 'block' },
  { plugin: 'wild-io', command: 'never' },
  { plugin: 'wild-io', command: 'late' },
  { plugin: 'wild-io', command: 'memory', amount: 'memoryMb' },
];

/** The name of the part, which is also the prefix of its metrics. */
function nameOf({ plugin, command }: Way): string {
  return `${plugin.replace('wild-', '')}_${command}`;
}

export const misbehaviour: Bench<Misbehaviour> = {
  name: 'misbehaviour',
  purpose: 'jobs of one plugin, idle and while another misbehaves, way by way',
  limitMs: { smoke: 30_000, real: 400_000 },
  parameters: {
    smoke: {
      samples: 2,
      pauseMs: 2,
      deadlineMs: 50,
      stdoutMb: 12,
      memoryMb: 8,
      events: 1000,
      staysS: 0.2,
      neighbours: 8,
    },
    real: {
      samples: 300,
      pauseMs: 5,
      deadlineMs: 1000,
      stdoutMb: 1000,
      memoryMb: 2000,
      events: 100_000,
      staysS: 60,
      neighbours: 255,
    },
  },

  parts: ways.map(nameOf),

  async run(parameters: Misbehaviour, stage: Stage, parts) {
    const { samples, pauseMs, deadlineMs } = parameters;
    const [late, retry] = [`${deadlineMs}ms`, { max_attempts: 1 }];
    const service = await stage.start({
      instances: {
        'wild-program': { retry, timeouts: { stderr: late, loop: late, stays: late } },
        'wild-worker': { retry, timeouts: { loop: late } },
        'wild-io': { retry, timeouts: { block: late, never: late } },
      },
    });
    const caller = service.caller();
    const enough = (count: number) => count >= samples;
    await singles(caller, pauseMs, enough);
    const metrics: Metric[] = [];
    const work: unknown[] = [];
    for (const way of ways.filter(way => parts.includes(nameOf(way)))) {
      const before = timesUs(await singles(caller, pauseMs, enough));
      const tame = way.plugin === 'wild-io' ? parameters.neighbours : 0;
      const wild = misbehave(caller, way, way.amount === undefined ? 0 : parameters[way.amount], tame);
      const during = timesUs(await singles(caller, pauseMs, enough));
      const { status, last_error: error } = await wild.end();
      await idle(caller);
      const name = nameOf(way);
      metrics.push(...metricsOf(name, before, during));
      work.push([name, status, error]);
    }
    await service.stop();
    return { metrics, work };
  },
};

/**
 * Runs misbehaving jobs one after another. Before each of them, submits `tame` well-behaved jobs of the same command. `end`
 * makes the current misbehaving job the last one, and resolves with it. Only this job is read, because answering and
 * parsing a job with 100,000 events would distort the figures.
 */
function misbehave(
  caller: Caller,
  { plugin, command }: Way,
  amount: number,
  tame: number,
): { readonly end: () => Promise<Job> } {
  let mayEnd = false;
  const again = async (): Promise<Job> => {
    const neighbours = Array.from({ length: tame }, () =>
      caller.submit(`/plugin/${plugin}/${command}`, { tame: true }),
    );
    await Promise.all(neighbours);
    const id = await caller.submit(`/plugin/${plugin}/${command}`, { amount });
    const look = async () => isOver((await caller.newest(plugin, command)).status) || undefined;
    await until(look, { everyMs: 20, withinMs: 30_000, what: `end of ${plugin} ${command}` });
    return mayEnd ? caller.job(id) : again();
  };
  const over = again();
  return {
    end: () => {
      mayEnd = true;
      return over;
    },
  };
}

/** The time of each job from its creation to its completion, by its record. */
function timesUs(done: readonly Single[]): number[] {
  return done.map(({ job }) => momentUs(job.completed_at) - momentUs(job.created_at));
}

function metricsOf(name: string, idle: readonly number[], during: readonly number[]): Metric[] {
  const [before, meanwhile] = [percentile(idle, 99), percentile(during, 99)];
  return [
    { name: `${name}_idle_p50_us`, value: percentile(idle, 50), unit: 'us' },
    { name: `${name}_p50_us`, value: percentile(during, 50), unit: 'us' },
    { name: `${name}_idle_p99_us`, value: before, unit: 'us' },
    { name: `${name}_p99_us`, value: meanwhile, unit: 'us' },
    { name: `${name}_p99_ratio`, value: meanwhile / before, unit: '', target: atMost(2) },
  ];
}
