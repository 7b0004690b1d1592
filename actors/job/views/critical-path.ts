// The critical path of a run: the chain of jobs that leads to the job that ended last. Each job after the first was created because the job
// before it ended. This file does not read the store; path-reading.ts finds the jobs.
import type { JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Status } from '../records/job.ts';
import { keyOf, type StepName, type TimedJob } from './timeline.ts';

/** The maximum number of jobs of a critical path that are read. The beginning of a longer path is missing. */
export const pathJobsMax = 1_000;

/** An ended job that may be part of the path. Its times are in µs since the epoch, except `ranUs`. */
export type PathJob = Pick<TimedJob, 'status' | 'createdUs' | 'startedUs' | 'ranUs'> & {
  readonly id: JobId;
  readonly name: StepName;
  readonly endedUs: number;
};

/** The times of a part of the path, in µs. Their sum is the length of the part. */
type PathTimes = {
  /** From the end of the previous job (for the first job: from the start of the run) to the acceptance of the job. */
  handingOutUs: number;
  /** From the acceptance of the job to the start of its first attempt. */
  waitingUs: number;
  runningUs: number;
  /** The time after the start of the first attempt in which no attempt of the job ran. */
  retryingUs: number;
};

/** Consecutive jobs of the path that belong to the same step. */
export type PathStep = Readonly<PathTimes> & {
  readonly name: StepName;
  /** The last job of this part of the path. */
  readonly id: JobId;
  readonly status: Status;
  readonly jobs: number;
  readonly fromUs: number;
  readonly toUs: number;
};

/** The times of the whole path in which none of its jobs ran, in µs. */
export type PathGaps = Readonly<Omit<PathTimes, 'runningUs'>> & {
  /** From the end of the last job to the commit that ended the run; 0 if the run is open. */
  readonly commitUs: number;
};

export type CriticalPath = {
  /** From the first to the last. */
  readonly steps: readonly PathStep[];
  /** Whether the beginning is missing, because the path has more than `pathJobsMax` jobs. */
  readonly isCut: boolean;
  readonly gaps: PathGaps;
};

/** A run whose path is wanted. `endedUs`: when it ended; null: it is open. */
export type PathEnds = { readonly fromUs: number; readonly endedUs: number | null };

/**
 * The critical path of a run. `last`: the job that ended last; null: no job has ended. `before`: finds the job whose end led to a given job;
 * null: the start of the run led to the given job. If the clock was set back during the run, times are moved so that the path stays within
 * the run and in order.
 */
export function* criticalPath(
  { fromUs, endedUs }: PathEnds,
  last: PathJob | null,
  before: (job: PathJob) => Sliced<PathJob | null>,
  jobsMost = pathJobsMax,
): Sliced<CriticalPath> {
  /** From the last to the first. */
  const steps: Mutable<PathStep>[] = [];
  const lastUs = last === null ? fromUs : within(last.endedUs, fromUs, endedUs ?? last.endedUs);
  let isCut = false;
  let jobs = 0;
  for (let job = last, toUs = lastUs; job !== null; ) {
    const earlier: PathJob | null = yield* before(job);
    const startUs = earlier === null ? fromUs : within(earlier.endedUs, fromUs, toUs);
    prepend(steps, job, startUs, toUs);
    toUs = startUs;
    isCut = ++jobs === jobsMost && earlier !== null;
    job = isCut ? null : earlier;
  }
  const gaps = {
    handingOutUs: sum(steps, 'handingOutUs'),
    waitingUs: sum(steps, 'waitingUs'),
    retryingUs: sum(steps, 'retryingUs'),
    commitUs: endedUs === null ? 0 : endedUs - lastUs,
  };
  return { steps: steps.reverse(), isCut, gaps };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The time; if it lies outside of the range, the nearer limit. */
function within(us: number, fromUs: number, toUs: number): number {
  return Math.max(fromUs, Math.min(us, toUs));
}

/**
 * Adds a job at the beginning of the path. `fromUs`: when the job before the added one ended or, if there is none, when the run started.
 * `toUs`: when the added job ended.
 */
function prepend(steps: Mutable<PathStep>[], job: PathJob, fromUs: number, toUs: number): void {
  const { id, name, status } = job;
  const times = timesIn(job, fromUs, toUs);
  const next = steps.at(-1);
  if (next === undefined || keyOf(next.name) !== keyOf(name)) {
    steps.push({ name, id, status, jobs: 1, fromUs, toUs, ...times });
    return;
  }
  next.jobs++;
  next.fromUs = fromUs;
  next.handingOutUs += times.handingOutUs;
  next.waitingUs += times.waitingUs;
  next.runningUs += times.runningUs;
  next.retryingUs += times.retryingUs;
}

/** Divides the time of a job on the path, from the end of the job before it to its own end. */
function timesIn({ createdUs, startedUs, ranUs }: PathJob, fromUs: number, toUs: number): PathTimes {
  const created = within(createdUs, fromUs, toUs);
  const started = within(startedUs ?? toUs, created, toUs);
  const runningUs = Math.min(ranUs, toUs - started);
  return {
    handingOutUs: created - fromUs,
    waitingUs: started - created,
    runningUs,
    retryingUs: toUs - started - runningUs,
  };
}

function sum(steps: readonly PathStep[], what: keyof PathTimes): number {
  return steps.reduce((total, step) => total + step[what], 0);
}
