// The timeline of a run, as figures: for each step how many jobs it had, how they ended, how long they waited and ran, and when. This file
// does not read the store; timeline-reading.ts reads the jobs.
import { type BlockKey, type JobId, jobId } from '../../../runtime/ids.ts';
import { Histogram } from '../../index/records/histogram.ts';
import type { Block } from '../records/block.ts';
import { type JobGroup, type PhaseName, type Status, statuses } from '../records/job.ts';

/** The default number of buckets into which the time of a run is divided. */
export const bucketsDefault = 400;
/** The maximum number of buckets into which a caller can divide the time of a run. */
export const bucketsMax = 2_000;
/** The maximum number of steps that are counted separately. The jobs of all other steps are counted together. */
export const stepsMax = 256;
/** The maximum length of a step's list of slow jobs, and of its list of failed jobs. */
export const namedMax = 10;

/** The counts of a bucket, in this order. `ended` counts all jobs that ended, whatever their status. */
export const bucketCounts = ['started', 'ended', 'failed', 'timed_out', 'dead', 'cancelled'] as const;
const width = bucketCounts.length;
/** For each status, the place of its count in a bucket; -1: a bucket has no count for this status. */
const placeOf = new Map<Status, number>(
  statuses.map(status => [status, (bucketCounts as readonly string[]).indexOf(status)]),
);

/** The step of a job. A field is null if it does not apply to the job, or if several steps are counted together. */
export type StepName = {
  readonly pipeline: string | null;
  readonly step: string | null;
  /** Null: the job belongs to the main part of its run or to no run, or several steps are counted together. */
  readonly phase: PhaseName | null;
  readonly plugin: string | null;
  readonly command: string | null;
};

/** The step of the jobs of a group. A job that belongs to no step has only a plugin and a command. */
export function stepNameOf(
  { plugin, command }: Pick<Block, 'plugin' | 'command'>,
  { pipeline, stepId, phase }: JobGroup,
): StepName {
  return { pipeline, step: stepId, phase: phase ?? null, plugin, command };
}

/** A job and its times, in µs since the epoch, except `ranUs`. */
export type TimedJob = {
  readonly key: BlockKey;
  readonly index: number;
  readonly status: Status;
  /** When the job was accepted or, if it was delayed, when its time came. */
  readonly createdUs: number;
  /** When the first attempt of the job started. Null: no attempt has started. */
  readonly startedUs: number | null;
  /** For how long the ended attempts of the job ran, in µs. */
  readonly ranUs: number;
  /** When the job ended. Null: the job has not ended. */
  readonly endedUs: number | null;
};

/** Percentiles of times, in µs, approximated by a histogram. `max` is exact to 1 µs, up to 12.7 days. All are 0 if there are no times. */
export type TimePercentiles = {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
};

export type SlowJob = {
  readonly id: JobId;
  readonly status: Status;
  readonly startedUs: number;
  readonly ranUs: number;
};

export type FailedJob = { readonly id: JobId; readonly status: Status; readonly endedUs: number };

export type StepTimeline = {
  readonly name: StepName;
  readonly count: number;
  readonly byStatus: { readonly [S in Status]: number };
  readonly firstCreatedUs: number;
  readonly lastCreatedUs: number;
  /** Null: no job has started. */
  readonly firstStartUs: number | null;
  /** Null: no job has ended. */
  readonly lastEndUs: number | null;
  /** How long each started job waited: from its `createdUs` (`TimedJob`) to the start of its first attempt. */
  readonly queueUs: TimePercentiles;
  /** The run time of each ended job, summed over its attempts. Jobs that never started do not count. */
  readonly runUs: TimePercentiles;
  /** The counts of all buckets, one bucket after another. */
  readonly buckets: Uint32Array;
  /** The ended jobs that ran longest, the slowest first. */
  readonly slowest: readonly SlowJob[];
  /** The first jobs that failed, timed out or became dead, in the order in which they ended. */
  readonly failed: readonly FailedJob[];
};

/** A time range, in µs since the epoch. */
export type TimeRangeUs = { readonly fromUs: number; readonly toUs: number };

/**
 * A time range that is divided into buckets of the same width. If only a part is divided, the first bucket has all time before the part, and
 * the last bucket all time after it.
 */
export type DividedTime = {
  readonly fromUs: number;
  readonly toUs: number;
  readonly bucketUs: number;
  readonly buckets: number;
  /** Set if only a part of the range is divided. The part begins one `bucketUs` after this time, with the second bucket. */
  readonly partUs?: number;
};

/** Divides the range into at most `buckets` buckets of whole microseconds. */
export function dividedTime(fromUs: number, toUs: number, buckets: number): DividedTime {
  const us = Math.max(1, toUs - fromUs);
  const bucketUs = Math.ceil(us / buckets);
  return { fromUs, toUs, bucketUs, buckets: Math.ceil(us / bucketUs) };
}

/**
 * Divides a part of the range, clipped to the range. An additional first bucket covers the time before the part, and an additional last
 * bucket the time after it. If the part lies outside of the range, the whole range is divided.
 */
export function dividedPart(range: TimeRangeUs, part: TimeRangeUs, buckets: number): DividedTime {
  const fromUs = Math.floor(Math.max(range.fromUs, part.fromUs));
  const toUs = Math.ceil(Math.min(range.toUs, part.toUs));
  if (toUs <= fromUs) return dividedTime(range.fromUs, range.toUs, buckets);
  const inner = dividedTime(fromUs, toUs, buckets);
  return { ...inner, ...range, buckets: inner.buckets + 2, partUs: fromUs - inner.bucketUs };
}

/** Collects the jobs of a run by step. */
export class TimelineSums {
  readonly time: DividedTime;
  readonly #stepsMost: number;
  readonly #steps = new Map<string, StepSums>();
  #rest: StepSums | null = null;

  constructor(time: DividedTime, stepsMost = stepsMax) {
    this.time = time;
    this.#stepsMost = stepsMost;
  }

  /** The sums of this step. The caller adds the jobs of the step to them. All steps beyond the maximum share one object. */
  of(name: StepName): StepSums {
    const key = keyOf(name);
    const known = this.#steps.get(key);
    if (known) return known;
    if (this.#steps.size >= this.#stepsMost) {
      this.#rest ??= new StepSums(rest, this.time);
      return this.#rest;
    }
    const sums = new StepSums(name, this.time);
    this.#steps.set(key, sums);
    return sums;
  }

  /** The steps, sorted by the time of their first job. The steps that were counted together come last. */
  steps(): StepTimeline[] {
    const steps = Array.from(this.#steps.values(), sums => sums.figures());
    steps.sort((a, b) => a.firstCreatedUs - b.firstCreatedUs);
    return this.#rest === null ? steps : [...steps, this.#rest.figures()];
  }
}

const rest: StepName = { pipeline: null, step: null, phase: null, plugin: null, command: null };

/** A text that identifies the step. */
export function keyOf({ pipeline, step, phase, plugin, command }: StepName): string {
  return `${pipeline}\0${step}\0${phase}\0${plugin}\0${command}`;
}

class StepSums {
  readonly #name: StepName;
  readonly #time: DividedTime;
  readonly #byStatus: { [S in Status]: number };
  readonly #buckets: Uint32Array;
  readonly #queue = new Histogram();
  readonly #run = new Histogram();
  readonly #slowest: SlowJob[] = [];
  readonly #failed: FailedJob[] = [];
  #count = 0;
  #firstCreatedUs = Number.POSITIVE_INFINITY;
  #lastCreatedUs = 0;
  #firstStartUs: number | null = null;
  #lastEndUs: number | null = null;

  constructor(name: StepName, time: DividedTime) {
    this.#name = name;
    this.#time = time;
    this.#byStatus = Object.fromEntries(statuses.map(status => [status, 0])) as { [S in Status]: number };
    this.#buckets = new Uint32Array(time.buckets * width);
  }

  add(job: TimedJob): void {
    const { status, createdUs, startedUs } = job;
    this.#count++;
    this.#byStatus[status]++;
    if (createdUs < this.#firstCreatedUs) this.#firstCreatedUs = createdUs;
    if (createdUs > this.#lastCreatedUs) this.#lastCreatedUs = createdUs;
    if (startedUs !== null) {
      this.#queue.add(Math.max(0, startedUs - createdUs));
      this.#buckets[this.#bucketOf(startedUs)]!++;
      if (this.#firstStartUs === null || startedUs < this.#firstStartUs) this.#firstStartUs = startedUs;
    }
    if (job.endedUs !== null) this.#end(job, job.endedUs);
  }

  #end({ key, index, status, startedUs, ranUs }: TimedJob, endedUs: number): void {
    const bucket = this.#bucketOf(endedUs);
    this.#buckets[bucket + 1]!++;
    const place = placeOf.get(status)!;
    if (place >= 0) this.#buckets[bucket + place]!++;
    if (this.#lastEndUs === null || endedUs > this.#lastEndUs) this.#lastEndUs = endedUs;
    if (hasFailed(status) && isWanted(this.#failed, at => at.endedUs <= endedUs))
      insert(this.#failed, { id: jobId(key, index), status, endedUs }, (a, b) => a.endedUs - b.endedUs);
    if (startedUs === null) return;
    this.#run.add(ranUs);
    if (isWanted(this.#slowest, at => at.ranUs >= ranUs))
      insert(this.#slowest, { id: jobId(key, index), status, startedUs, ranUs }, (a, b) => b.ranUs - a.ranUs);
  }

  /** Where, in `#buckets`, the counts of this time's bucket begin. A time outside of all buckets counts in the nearest one. */
  #bucketOf(us: number): number {
    const { fromUs, bucketUs, buckets, partUs = fromUs } = this.#time;
    return Math.max(0, Math.min(buckets - 1, Math.floor((us - partUs) / bucketUs))) * width;
  }

  figures(): StepTimeline {
    return {
      name: this.#name,
      count: this.#count,
      byStatus: this.#byStatus,
      firstCreatedUs: this.#firstCreatedUs,
      lastCreatedUs: this.#lastCreatedUs,
      firstStartUs: this.#firstStartUs,
      lastEndUs: this.#lastEndUs,
      queueUs: percentilesOf(this.#queue),
      runUs: percentilesOf(this.#run),
      buckets: this.#buckets,
      slowest: this.#slowest,
      failed: this.#failed,
    };
  }
}

function hasFailed(status: Status): boolean {
  return status === 'failed' || status === 'timed_out' || status === 'dead';
}

/** Whether a new item belongs in a sorted list of at most `namedMax` items. `isAhead`: whether an item of the list comes before the new one. */
function isWanted<T>(list: readonly T[], isAhead: (item: T) => boolean): boolean {
  return list.length < namedMax || !isAhead(list[namedMax - 1]!);
}

/** Inserts an item into a sorted list, after equal items, and drops the last item if the list is then too long. */
function insert<T>(list: T[], item: T, order: (a: T, b: T) => number): void {
  let at = list.length;
  while (at > 0 && order(item, list[at - 1]!) < 0) at--;
  list.splice(at, 0, item);
  if (list.length > namedMax) list.pop();
}

function percentilesOf(times: Histogram): TimePercentiles {
  const [p50, p95, p99] = [times.percentile(0.5), times.percentile(0.95), times.percentile(0.99)];
  return { p50, p95, p99, max: times.maxUs };
}
