// Writes the timeline of a job or run as JSON (docs/pipelines.md#the-timeline-of-a-run), step by step.
import { type Status, statuses } from '../../actors/job/records/job.ts';
import type { PathStep } from '../../actors/job/views/critical-path.ts';
import { bucketCounts, type StepName } from '../../actors/job/views/timeline.ts';
import type { FailedWithError, StepWithErrors, Timeline } from '../../actors/job/views/timeline-reading.ts';
import { formatId } from '../../runtime/ids.ts';
import type { JsonPart } from './chunks.ts';
import { optionalTime, timestamp } from './timestamp.ts';

/** The document that the parts of a timeline make up. */
export type TimelineDocument = ReturnType<typeof headOf> & {
  readonly steps: readonly ReturnType<typeof stepOf>[];
  readonly critical_path: readonly ReturnType<typeof pathStepOf>[];
  readonly critical_path_cut?: true;
  readonly gaps: ReturnType<typeof gapsOf>;
};

/** `withErrors`: whether the caller may see the errors of jobs. */
export function* timelineParts(timeline: Timeline, withErrors: boolean): Iterable<JsonPart> {
  const { steps, path } = timeline;
  yield `${JSON.stringify(headOf(timeline)).slice(0, -1)},"steps":[`;
  let separator = '';
  for (const step of steps) {
    yield separator + JSON.stringify(stepOf(step, withErrors));
    separator = ',';
  }
  yield `],"critical_path":${JSON.stringify(path.steps.map(pathStepOf))}`;
  yield `${path.isCut ? ',"critical_path_cut":true' : ''},"gaps":${JSON.stringify(gapsOf(path.gaps))}}`;
}

function headOf({ id, plugin, command, status, time, reused, steps }: Timeline) {
  return {
    job_id: formatId(id),
    plugin,
    command,
    status,
    from: timestamp(time.fromUs),
    to: timestamp(time.toUs),
    duration_us: time.toUs - time.fromUs,
    bucket_us: time.bucketUs,
    ...(time.partUs !== undefined && { buckets_from: timestamp(time.partUs) }),
    count: steps.reduce((sum, { count }) => sum + count, 0),
    ...(reused > 0 && { reused }),
  };
}

function gapsOf({ handingOutUs, waitingUs, retryingUs, commitUs }: Timeline['path']['gaps']) {
  return { handing_out_us: handingOutUs, waiting_us: waitingUs, retrying_us: retryingUs, commit_us: commitUs };
}

function stepOf(step: StepWithErrors, withErrors: boolean) {
  const { name, count, byStatus, firstStartUs, lastEndUs, buckets, slowest, failed } = step;
  return {
    ...nameOf(name),
    count,
    by_status: Object.fromEntries(statuses.map((status: Status) => [status, byStatus[status]])),
    first_created: timestamp(step.firstCreatedUs),
    last_created: timestamp(step.lastCreatedUs),
    first_start: optionalTime(firstStartUs),
    last_end: optionalTime(lastEndUs),
    queue_us: step.queueUs,
    run_us: step.runUs,
    buckets: bucketsOf(buckets),
    slowest: slowest.map(({ id, status, startedUs, ranUs }) => ({
      job_id: formatId(id),
      status,
      started_at: timestamp(startedUs),
      run_us: ranUs,
    })),
    failed: failed.map(job => failedOf(job, withErrors)),
  };
}

function nameOf({ pipeline, step, phase, plugin, command }: StepName) {
  return { pipeline, step, ...(phase !== null && { phase }), plugin, command };
}

function bucketsOf(counts: Uint32Array): number[][] {
  const width = bucketCounts.length;
  return Array.from({ length: counts.length / width }, (_, n) => [...counts.subarray(n * width, (n + 1) * width)]);
}

function failedOf({ id, status, endedUs, error }: FailedWithError, withErrors: boolean) {
  const job = { job_id: formatId(id), status, completed_at: timestamp(endedUs) };
  return { ...job, ...(withErrors && error !== null && { error }) };
}

function pathStepOf({ name, id, status, jobs, fromUs, toUs, ...times }: PathStep) {
  return {
    ...nameOf(name),
    job_id: formatId(id),
    status,
    jobs,
    from: timestamp(fromUs),
    to: timestamp(toUs),
    handing_out_us: times.handingOutUs,
    waiting_us: times.waitingUs,
    running_us: times.runningUs,
    retrying_us: times.retryingUs,
  };
}
