// The answer of GET /job/{job_id}/timeline, and functions that derive names, times and sums from it.

export type StepPercentiles = {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
};

/** How many jobs of a step started, ended, failed, timed out, died and were cancelled in one bucket. `ended` includes the four that follow it. */
export type StepBucket = readonly [
  started: number,
  ended: number,
  failed: number,
  timedOut: number,
  dead: number,
  cancelled: number,
];

export type StepIdentity = {
  readonly pipeline: string | null;
  readonly step: string | null;
  readonly phase?: 'on_failure' | 'finally';
  readonly plugin: string | null;
  readonly command: string | null;
};

export type SlowChild = {
  readonly job_id: string;
  readonly status: string;
  readonly started_at: string;
  readonly run_us: number;
};
export type FailedChild = {
  readonly job_id: string;
  readonly status: string;
  readonly completed_at: string;
  readonly error?: string;
};

export type RunStep = StepIdentity & {
  readonly count: number;
  readonly by_status: { readonly [status: string]: number };
  readonly first_created: string;
  readonly last_created: string;
  readonly first_start: string | null;
  readonly last_end: string | null;
  readonly queue_us: StepPercentiles;
  readonly run_us: StepPercentiles;
  readonly buckets: readonly StepBucket[];
  readonly slowest: readonly SlowChild[];
  readonly failed: readonly FailedChild[];
};

export type PathEntry = StepIdentity & {
  readonly job_id: string;
  readonly status: string;
  readonly jobs: number;
  readonly from: string;
  readonly to: string;
  readonly handing_out_us: number;
  readonly waiting_us: number;
  readonly running_us: number;
  readonly retrying_us: number;
};

export type RunTimeline = {
  readonly job_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly from: string;
  readonly to: string;
  readonly duration_us: number;
  readonly bucket_us: number;
  /** When the first bucket begins; set if the buckets divide only a part of the time. The first bucket also counts everything before that part. */
  readonly buckets_from?: string;
  readonly count: number;
  readonly reused?: number;
  readonly steps: readonly RunStep[];
  readonly critical_path: readonly PathEntry[];
  readonly critical_path_cut?: true;
  readonly gaps: {
    readonly handing_out_us: number;
    readonly waiting_us: number;
    readonly retrying_us: number;
    readonly commit_us: number;
  };
};

/** Microseconds since the epoch. `Date.parse` would drop the digits behind the milliseconds. */
export function microsOf(time: string): number {
  const digits = /\.(\d{1,6})/.exec(time)?.[1] ?? '';
  return Math.floor(Date.parse(time) / 1000) * 1_000_000 + Number(digits.padEnd(6, '0'));
}

/** The buckets of a step, and when the first one begins, in µs since the start of the run. */
export type StepBuckets = Pick<RunStep, 'buckets' | 'by_status'> & {
  readonly firstUs: number;
  readonly bucketUs: number;
};

/** Returns the buckets of the steps of a timeline, which may divide only a part of the time of the run. */
export function stepBuckets(
  { from, buckets_from: first = from, bucket_us: bucketUs }: RunTimeline,
  step: RunStep,
): StepBuckets {
  const { buckets, by_status } = step;
  return { buckets, by_status, bucketUs, firstUs: microsOf(first) - microsOf(from) };
}

/** The name of a step: with its pipeline if that is not the pipeline of the run. */
export function stepTitle({ pipeline, step, plugin, command }: StepIdentity, ownPipeline: string): string {
  if (plugin === null) return 'further steps';
  if (step === null) return `${plugin}.${command}`;
  return pipeline === null || pipeline === ownPipeline ? step : `${pipeline}/${step}`;
}

/** A text that is different for each step of a run. */
export function stepKey({ pipeline, step, phase, plugin, command }: StepIdentity): string {
  return [pipeline ?? '', step ?? '', phase ?? '', plugin ?? '', command ?? ''].join(' ');
}

/** The number of jobs that failed, timed out or died. */
export function failuresIn({ by_status: { failed = 0, timed_out: timedOut = 0, dead = 0 } }: RunStep): number {
  return failed + timedOut + dead;
}

export function unsettledIn({ by_status: { queued = 0, running = 0 } }: RunStep): number {
  return queued + running;
}
