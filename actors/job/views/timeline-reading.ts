// Reads the timeline of a run: all jobs inside it, in the order of their blocks, and its critical path. The timeline of any other job has
// the job itself as its only step.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockOf, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, groupOf } from '../records/block.ts';
import { pipelinePlugin, type Status } from '../records/job.ts';
import { rangesOf, treeRange } from '../records/tree.ts';
import { BlockCache } from './block-cache.ts';
import { type CriticalPath, criticalPath, type PathJob } from './critical-path.ts';
import { BlockJobs, type JobView } from './job-view.ts';
import { findJob } from './jobs.ts';
import { PathReader } from './path-reading.ts';
import { timedJobs } from './timed-jobs.ts';
import {
  type DividedTime,
  dividedPart,
  dividedTime,
  type FailedJob,
  type StepTimeline,
  stepNameOf,
  TimelineSums,
  type TimeRangeUs,
} from './timeline.ts';
import { membersOf } from './tree-listing.ts';

/** The maximum number of entries of a tree that one scan reads. */
const entriesAtOnce = 16;
/** The maximum number of jobs whose attempts are read between two interruptions. */
const jobsPerStep = 256;
/** The maximum number of characters of an error's first line that are shown. */
export const errorCharsMax = 200;

export type Timeline = {
  readonly id: JobId;
  readonly plugin: string;
  readonly command: string;
  readonly status: Status;
  /** Whether the job has ended. Its timeline then changes only if retention removes jobs. */
  readonly isOver: boolean;
  /** The range from the acceptance of the job (if it was delayed: from its time to run) to its end or, if it has not ended, to now. */
  readonly time: DividedTime;
  /** The number of jobs whose results the run reuses from earlier runs. The steps do not contain these jobs. */
  readonly reused: number;
  readonly steps: readonly StepWithErrors[];
  readonly path: CriticalPath;
};

export type StepWithErrors = Omit<StepTimeline, 'failed'> & { readonly failed: readonly FailedWithError[] };
/** `error`: the beginning of the job's last error; null: it has none. */
export type FailedWithError = FailedJob & { readonly error: string | null };

/**
 * `buckets`: the maximum number of buckets, not counting the two that `dividedPart` adds. `nowUs`: the end of the timeline of a job that has
 * not ended.
 */
export type TimelineQuery = {
  readonly id: JobId;
  readonly buckets: number;
  readonly nowUs: number;
  /** The part of the time that is divided into buckets; absent: all of it. */
  readonly part?: TimeRangeUs;
};

/** The timeline of a job. Null: no stored job has this id. */
export function* readTimeline(reader: Reader, { id, buckets, nowUs, part }: TimelineQuery): Sliced<Timeline | null> {
  const blocks = new BlockCache(reader);
  const top = findJob(reader, id, blocks);
  if (!top) return null;
  const { plugin, command, status, createdUs, completedUs: endedUs } = top;
  const toUs = endedUs ?? Math.max(nowUs, createdUs);
  const fromUs = Math.min(Math.max(createdUs, top.times?.runAtUs ?? 0), toUs);
  const sums = new TimelineSums(
    part ? dividedPart({ fromUs, toUs }, part, buckets) : dividedTime(fromUs, toUs, buckets),
  );
  const isRun = plugin === pipelinePlugin;
  const path = new PathReader(reader, blocks, id, fromUs);
  const last = isRun ? yield* addInside(reader, blocks, id, sums, path) : addAlone(reader, blocks, id, sums, fromUs);
  const steps: StepWithErrors[] = [];
  for (const { failed, ...step } of sums.steps()) steps.push({ ...step, failed: yield* withErrors(reader, failed) });
  return {
    id,
    plugin,
    command,
    status,
    isOver: endedUs !== null,
    time: sums.time,
    reused: reusedIn(top),
    steps,
    path: yield* criticalPath({ fromUs, endedUs }, last, isRun ? job => path.before(job) : nothingBefore),
  };
}

function* nothingBefore(): Sliced<null> {
  yield;
  return null;
}

function reusedIn({ counts }: JobView): number {
  return counts?.reused ?? 0;
}

/** Adds a job that is not a run. Returns the job if it has ended. */
function addAlone(
  reader: Reader,
  blocks: BlockCache,
  id: JobId,
  sums: TimelineSums,
  createdUs: number,
): PathJob | null {
  const key = Buffer.from(blockOf(id));
  const block = blocks.find(key)!;
  const index = indexOf(id);
  const name = stepNameOf(block, groupOf(block, index).group);
  const timed = { ...timedJobs(new BlockJobs(reader, key, block), key, index, index + 1)[0]!, createdUs };
  sums.of(name).add(timed);
  const { endedUs } = timed;
  return endedUs === null ? null : { ...timed, id, name, endedUs };
}

/** Adds all jobs inside the run. Returns the job that ended last, excluding jobs of called runs; null: none has ended. */
function* addInside(
  reader: Reader,
  blocks: BlockCache,
  run: JobId,
  sums: TimelineSums,
  path: PathReader,
): Sliced<PathJob | null> {
  const own = groupOf(blocks.find(blockOf(run))!, indexOf(run)).group;
  const isInside = membersOf(blocks, [{ of: 'run', id: run }]);
  const last: Last = { id: null, endedUs: Number.NEGATIVE_INFINITY };
  let { from, to } = treeRange(own.root ?? run);
  for (;;) {
    // Reads a few entries at a time: no scan stays open between two interruptions.
    const entries = [...reader.scan('tree', { from, to, limit: entriesAtOnce })];
    for (const entry of entries) {
      yield;
      const key = Buffer.from(entry.key.subarray(jobIdBytes));
      // The block may have been pruned since the scan.
      const block = blocks.read(key);
      if (block) yield* addBlock(new BlockJobs(reader, key, block), key, rangesOf(entry.value));
    }
    if (entries.length < entriesAtOnce) break;
    from = keyAfter(entries.at(-1)!.key);
  }
  return last.id && path.job(last.id);

  function* addBlock(jobs: BlockJobs, key: BlockKey, ranges: readonly number[]): Sliced<void> {
    for (let pair = 0; pair < ranges.length; pair += 2) {
      const end = ranges[pair + 1]!;
      for (let from = ranges[pair]!; from < end; ) {
        const wanted = nextWanted(jobs.block, from, end);
        if (wanted < end) addJobs(jobs, key, wanted, Math.min(end, wanted + jobsPerStep));
        from = wanted + jobsPerStep;
        yield;
      }
    }
  }

  /** The first job from `from` on that is inside the run; `end` if there is none. */
  function nextWanted(block: Block, from: number, end: number): number {
    for (let index = from; index < end; ) {
      const { group, left } = groupOf(block, index);
      if (isInside(run, group)) return index;
      index += left;
    }
    return end;
  }

  function addJobs(jobs: BlockJobs, key: BlockKey, from: number, to: number): void {
    const timed = timedJobs(jobs, key, from, to);
    for (let index = from; index < to; ) {
      const { group, left } = groupOf(jobs.block, index);
      const end = Math.min(to, index + left);
      if (!isInside(run, group)) {
        index = end;
        continue;
      }
      const step = sums.of(stepNameOf(jobs.block, group));
      const isDirect = path.isOfRun(group);
      for (; index < end; index++) {
        const job = timed[index - from]!;
        step.add(job);
        if (!isDirect || job.endedUs === null || job.endedUs < last.endedUs) continue;
        last.endedUs = job.endedUs;
        last.id = jobId(key, index);
      }
    }
  }
}

type Last = { id: JobId | null; endedUs: number };

function* withErrors(reader: Reader, failed: readonly FailedJob[]): Sliced<FailedWithError[]> {
  const shown: FailedWithError[] = [];
  for (const job of failed) {
    yield;
    const error = findJob(reader, job.id)?.lastError ?? null;
    shown.push({ ...job, error: error === null ? null : error.split('\n', 1)[0]!.slice(0, errorCharsMax) });
  }
  return shown;
}
