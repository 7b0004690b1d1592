// The history of a step's times over a window. The window is divided into buckets of time. Each bucket has percentiles and the cells of a
// heat map, with exemplars.
import { blockOf, formatId, type JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { readExemplars } from '../records/exemplars.ts';
import { bucketOf, Histogram, octaveOf } from '../records/histogram.ts';

/** The maximum number of exemplars of a step, and of a cell. */
export const stepExemplarsMax = 5;
export const cellExemplarsMax = 3;

/** The wanted parts of a history. */
export type StepHistoryQuery = {
  /** The length of a bucket. */
  readonly minutes: number;
  /** Whether each bucket has the cells of a heat map. */
  readonly heat: boolean;
  /** The store in which the jobs of exemplars are looked up; exemplars of removed jobs are left out. Null: no exemplars are wanted. */
  readonly ledger: Reader | null;
};

/** Estimated sizes in bytes: a bucket of a history without its cells, a cell without its exemplars, and an exemplar. */
const timeBucketBytes = 150;
const cellBytes = 100;
const exemplarBytes = 150;

/** A job, and how long the step took for it. */
export type NamedJob = { readonly us: number; readonly jobId: string };
/** The times in one bucket and one octave (`octaveOf`). */
export type HeatCell = { readonly octave: number; readonly count: number; readonly exemplars: readonly NamedJob[] };
/** A bucket that has samples. `minute`: its first minute. */
export type TimeBucket = {
  readonly minute: number;
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly maxUs: number;
  readonly cells: readonly HeatCell[];
};

export class StepHistory {
  readonly #wanted: StepHistoryQuery;
  readonly #from: number;
  readonly #slowest: SlowestJobs;
  readonly #finished: TimeBucket[] = [];
  /** The first minute of the bucket that is being read. */
  #minute = -1;
  #times = new Histogram();
  #slowestByOctave = new Map<number, SlowestJobs>();

  /** `from`: the first minute of the window. */
  constructor(wanted: StepHistoryQuery, from: number) {
    this.#wanted = wanted;
    this.#from = from;
    this.#slowest = new SlowestJobs(wanted.ledger, stepExemplarsMax);
  }

  /** Adds a stored minute. Minutes must be added in order. */
  take(minute: number, times: Uint8Array, exemplars: Uint8Array): void {
    const { minutes, heat, ledger } = this.#wanted;
    const first = minute - ((minute - this.#from) % minutes);
    if (first !== this.#minute) {
      this.#finish();
      this.#minute = first;
    }
    this.#times.merge(times);
    if (ledger === null) return;
    readExemplars(exemplars, (us, id) => {
      this.#slowest.offer(us, id);
      if (heat) this.#slowestIn(octaveOf(bucketOf(us))).offer(us, id);
    });
  }

  /** The buckets with samples, oldest first. Must be read only when all minutes have been added. */
  get buckets(): readonly TimeBucket[] {
    this.#finish();
    return this.#finished;
  }

  /** The estimated size of the buckets in memory. Must be read only when all minutes have been added. */
  get bytes(): number {
    let bytes = 0;
    for (const { cells } of this.buckets) {
      bytes += timeBucketBytes + cells.length * cellBytes;
      for (const { exemplars } of cells) bytes += exemplars.length * exemplarBytes;
    }
    return bytes;
  }

  /** The jobs with the longest times, longest first. */
  get slowest(): readonly NamedJob[] {
    return this.#slowest.jobs;
  }

  /** Ends the current bucket and keeps only its figures, because a window has many buckets and a histogram is large. */
  #finish(): void {
    const times = this.#times;
    if (times.count === 0) return;
    const [p50, p95, p99] = [times.percentile(0.5), times.percentile(0.95), times.percentile(0.99)];
    const cells = this.#wanted.heat ? this.#cells() : [];
    this.#finished.push({ minute: this.#minute, count: times.count, p50, p95, p99, maxUs: times.maxUs, cells });
    this.#times = new Histogram();
    this.#slowestByOctave = new Map();
  }

  #cells(): HeatCell[] {
    const octaves = [...this.#times.octaves()].sort(([a], [b]) => a - b);
    const exemplarsOf = (octave: number) => this.#slowestByOctave.get(octave)?.jobs ?? [];
    return octaves.map(([octave, count]) => ({ octave, count, exemplars: exemplarsOf(octave) }));
  }

  #slowestIn(octave: number): SlowestJobs {
    const slowest = this.#slowestByOctave.get(octave) ?? new SlowestJobs(this.#wanted.ledger, cellExemplarsMax);
    this.#slowestByOctave.set(octave, slowest);
    return slowest;
  }
}

/** The stored jobs with the longest times. Each job appears once. */
class SlowestJobs {
  readonly #ledger: Reader | null;
  readonly #most: number;
  /** The job with the longest time comes first. */
  readonly jobs: NamedJob[] = [];

  constructor(ledger: Reader | null, most: number) {
    this.#ledger = ledger;
    this.#most = most;
  }

  /** Adds a stored job if its time is among the longest. `findId` is not called if all places are taken by times of at least `us`. */
  offer(us: number, findId: () => JobId): void {
    const { jobs } = this;
    if (jobs.length >= this.#most && us <= jobs.at(-1)!.us) return;
    const id = findId();
    // A job that was retried can have several attempts in a window.
    const jobId = formatId(id);
    const known = jobs.findIndex(job => job.jobId === jobId);
    if (known >= 0 && jobs[known]!.us >= us) return;
    if (this.#ledger?.peek('blocks', blockOf(id)) === undefined) return;
    if (known >= 0) jobs.splice(known, 1);
    const place = jobs.findIndex(job => job.us < us);
    jobs.splice(place < 0 ? jobs.length : place, 0, { us, jobId });
    if (jobs.length > this.#most) jobs.pop();
  }
}
