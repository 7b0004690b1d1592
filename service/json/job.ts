// Writes jobs, trees and logs as the JSON of answers.
import type { Waits } from '../../actors/job/protocol.ts';
import { errorOf } from '../../actors/job/records/attempt.ts';
import type { Tally } from '../../actors/job/records/job.ts';
import type { JobTimes } from '../../actors/job/records/options.ts';
import type { JobRow } from '../../actors/job/views/job-page.ts';
import type { JobInput, JobView } from '../../actors/job/views/job-view.ts';
import type { LogView } from '../../actors/job/views/log-listing.ts';
import { originPrefix } from '../../actors/schedule/protocol.ts';
import { type Body, type BodyPart, bodyPart, hasDeflated, hasPart } from '../../runtime/host/wire/outcome.ts';
import { formatId } from '../../runtime/ids.ts';
import { type JsonObject, unpack } from '../../runtime/packing.ts';
import { chunkBytes, type JsonPart } from './chunks.ts';
import { timestamp } from './timestamp.ts';

/**
 * The maximum packed size of a payload or context that is included without being requested. With the detail `short`, also the maximum packed size
 * of an output that is included.
 */
export const shownValueBytesMax = 64 * 1024;

/**
 * How much of a job is shown. `bare`: neither input nor output. `plain`: the output, and input values of at most `shownValueBytesMax`. `short`:
 * output and input values of at most `shownValueBytesMax`. `whole`: everything.
 */
export type JobDetail = 'bare' | 'plain' | 'short' | 'whole';

/** Whether the job is too large to be written in one piece on the main thread. */
export function isLongToShow(job: JobView, detail: JobDetail): boolean {
  if (detail === 'bare') return false;
  const { payloadBytes, context } = job.input;
  return job.isLarge || isLong(payloadBytes, detail) || isLong(context.length, detail);
}

function isLong(bytes: number, detail: JobDetail): boolean {
  return bytes > chunkBytes && isShown(bytes, detail);
}

function isShown(bytes: number, detail: JobDetail): boolean {
  return detail === 'whole' || bytes <= shownValueBytesMax;
}

/** The answer of GET /job/{job_id}. */
export function jobParts(job: JobView, detail: JobDetail, waits: Waits | null): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","status":"${job.status}","plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"parent_job_id":${text(job.parentJobId)},` +
    `"submitted_by":${JSON.stringify(job.submittedBy)},"attempt":${job.attempt},` +
    `"created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}` +
    tagsPart(job) +
    countsPart(job.counts) +
    timesPart(job.times) +
    schedulePart(job) +
    rerunPart(job) +
    cancelPart(job) +
    waitsPart(job, waits);
  if (detail === 'bare') return [`${head}}`];
  // `lastError` is read only once, because each access to a large error reads it from the store.
  const { lastError: error } = job;
  const lastError = error === null ? '' : `,"last_error":${JSON.stringify(error)}`;
  const { body, status } = job;
  const isOmitted = detail === 'short' && body !== null && outputBytes(body) > shownValueBytesMax;
  const output = isOmitted ? [] : [',"result":', ...outputParts({ status, body })];
  return [head, ...inputParts(job, detail, isOmitted), ...output, `${lastError}${phaseErrorPart(job)}}`];
}

/**
 * The packed size of the output that callers see, without its error. For a body that is not deflated and not above `shownValueBytesMax`: the size
 * of the body, because its parts together cannot exceed this limit.
 */
function outputBytes(body: Body): number {
  if (!hasDeflated(body) && body.length <= shownValueBytesMax) return body.length;
  const shown = ['result', 'events', 'state_updates', 'logs'] as const;
  return shown.reduce((sum, name) => sum + (bodyPart(body, name)?.length ?? 0), 0);
}

/** The input of a job. In the JSON, `omitted` names the values that are left out because they are large. */
function inputParts(job: JobView, detail: JobDetail, isOutputOmitted: boolean): JsonPart[] {
  const { input } = job;
  const { payloadBytes, context, event, pipeline, runId, index } = input;
  const place =
    `,"pipeline":${text(pipeline)},"run_id":${text(runId)},"step_id":${text(job.stepId)}${phasePart(job)},"index":${index}` +
    `,"event":${event === null ? 'null' : envelope(job, event)}`;
  const values: JsonPart[] = [];
  const omitted: string[] = [];
  if (isShown(payloadBytes, detail)) values.push(',"payload":', () => input.payload);
  else omitted.push('payload');
  if (isShown(context.length, detail)) values.push(',"context":', () => context);
  else omitted.push('context');
  if (isOutputOmitted) omitted.push('result');
  return [place, ...values, omitted.length === 0 ? '' : `,"omitted":${JSON.stringify(omitted)}`];
}

/** The job's event as its plugin gets it, but without the payload. */
function envelope({ jobId, createdUs, input }: JobView, event: NonNullable<JobInput['event']>): string {
  const { type, source, dedupeKey, headers } = event;
  const occurrence = source.startsWith(originPrefix) ? `,"schedule":${occurrenceIn(input)}` : '';
  const key = dedupeKey === null ? '' : `,"dedupe_key":${JSON.stringify(dedupeKey)}`;
  const sent = headers === undefined ? '' : `,"headers":${JSON.stringify(headers)}`;
  return (
    `{"type":${JSON.stringify(type)},"event_id":${JSON.stringify(jobId)},` +
    `"timestamp":${time(createdUs)},"source":${JSON.stringify(source)}${key}${sent}${occurrence}}`
  );
}

function occurrenceIn({ context }: JobInput): string {
  return JSON.stringify(unpack<JsonObject>(context)['schedule'] ?? null);
}

function stepPart({ stepId }: Pick<JobView, 'stepId'>): string {
  return stepId === null ? '' : `,"step_id":${JSON.stringify(stepId)}`;
}

/** The tags are stored as JSON. */
function tagsPart({ options }: Pick<JobView, 'options'>): string {
  return options?.tags === undefined ? '' : `,"tags":${options.tags}`;
}

function countsPart(counts: Tally | null): string {
  return counts === null ? '' : `,"counts":${JSON.stringify(counts)}`;
}

function timesPart(times: JobTimes | null): string {
  if (times === null) return '';
  const { runAtUs, expiresUs, deadlineUs } = times;
  const runAt = runAtUs === null ? '' : `,"run_at":${time(runAtUs)}`;
  const expires = expiresUs === null ? '' : `,"expires_at":${time(expiresUs)}`;
  return runAt + expires + (deadlineUs === null ? '' : `,"deadline_at":${time(deadlineUs)}`);
}

/** The schedule that started the job, and when the occurrence was due; empty if no schedule started the job. */
function schedulePart({ parentJobId, rerun, submittedBy, input }: JobView): string {
  if (!submittedBy.startsWith(originPrefix) || parentJobId !== null || rerun !== null) return '';
  const { schedule } = unpack<{ readonly schedule: { readonly id: string; readonly due_at: string | null } }>(
    input.context,
  );
  return `,"schedule":${JSON.stringify({ id: schedule.id, due_at: schedule.due_at })}`;
}

/** The job of which this job is a rerun, and the reruns of this job. */
function rerunPart({ rerun, reruns: { ids, count } }: JobView): string {
  const reason = rerun?.reason == null ? '' : `,"rerun_reason":${JSON.stringify(rerun.reason)}`;
  const of = rerun === null ? '' : `,"rerun_of":"${formatId(rerun.of)}","rerun_from":"${rerun.from}"${reason}`;
  if (count === 0) return of;
  return `${of},"reruns":${JSON.stringify(ids.map(formatId))},"rerun_count":${count}`;
}

function cancelPart(job: JobView): string {
  const { cancel, counts } = job;
  if (!cancel) return '';
  const reason = cancel.reason === null ? '' : `,"reason":${JSON.stringify(cancel.reason)}`;
  const cancelling = job.cancelling ? `,"cancelling":${counts?.unsettled ?? true}` : '';
  return `${cancelling},"cancel":{"by":${JSON.stringify(cancel.by)},"at":${time(cancel.atUs)}${reason}}`;
}

function waitsPart({ createdUs }: JobView, waits: Waits | null): string {
  if (!waits) return '';
  const { reason, detail, sinceUs, untilUs } = waits;
  const until = untilUs === undefined ? '' : `,"until":${time(untilUs)}`;
  const since = time(Math.max(sinceUs, createdUs));
  return `,"waits_for":{"reason":"${reason}","detail":${JSON.stringify(detail)},"since":${since}${until}}`;
}

/** One job in the answer of GET /jobs. */
export function writeJobRow(job: JobRow): string {
  return (
    `{"job_id":"${formatId(job.id)}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},` +
    `"completed_at":${time(job.completedUs)},"attempt":${job.attempt}${stepPart(job)}${tagsPart(job)}${countsPart(job.counts)}${reusedPart(job)}}`
  );
}

/** One log in the answer of GET /job-logs. `bare`: for callers that may not see results. `result`: with the plugin output and the spans. */
export function logParts(log: LogView, detail: 'bare' | 'plain' | 'result'): JsonPart[] {
  const head =
    `{"job_id":"${log.jobId}","log_id":"${log.jobId}-${log.attempt}","plugin":${JSON.stringify(log.plugin)},` +
    `"command":${JSON.stringify(log.command)},"status":"${log.status}","attempt":${log.attempt},` +
    `"submitted_by":${JSON.stringify(log.submittedBy)},"created_at":${time(log.createdUs)},` +
    `"completed_at":${time(log.completedUs)}`;
  if (detail === 'bare') return [`${head}}`];
  const common = `${head},"last_error":${JSON.stringify(log.lastError ?? '')},"stderr":${JSON.stringify(log.stderr ?? '')}`;
  return detail === 'result' ? [`${common},"result":`, ...outputParts(log), ...spansParts(log), '}'] : [`${common}}`];
}

/** One job in the answer of GET /job/{job_id}/tree. */
function treeJobParts(job: JobView, withResult: boolean): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","parent_job_id":${text(job.parentJobId)},"plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"status":"${job.status}",` +
    `"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}${countsPart(job.counts)}` +
    `${phasePart(job)}${reusedPart(job)}`;
  return withResult ? [`${head},"result":`, ...outputParts(job), '}'] : [`${head}}`];
}

function phasePart({ phase }: JobView): string {
  return phase === null ? '' : `,"phase":"${phase}"`;
}

/** For a run that succeeded: the error of its phases, if there is one. */
function phaseErrorPart({ phaseError }: JobView): string {
  return phaseError === null ? '' : `,"phase_error":${JSON.stringify(phaseError)}`;
}

function reusedPart({ isReused }: Pick<JobView, 'isReused'>): string {
  return isReused ? ',"reused":true' : '';
}

/** The answer of GET /job/{job_id}/tree. Each null in `jobs` becomes an empty part, so that the reads thread can pause the work there. */
export function* treeParts(jobs: Iterable<JobView | null>, withResult: boolean): Iterable<JsonPart> {
  let separator = '[';
  for (const job of jobs) {
    if (job === null) {
      yield '';
      continue;
    }
    yield separator;
    yield* treeJobParts(job, withResult);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** The maximum number of jobs in the answer to a call that waited for its run. */
export const treeJobsMax = 1_000;

/**
 * The answer to a call that waited for its run. The first job must be the run. With `withTree`, the answer also lists the run and its descendants, up
 * to `treeJobsMax` jobs.
 */
export function* settledParts(jobs: Iterable<JobView | null>, withTree: boolean): Iterable<JsonPart> {
  let left = treeJobsMax;
  for (const job of jobs) {
    if (job === null) {
      yield '';
      continue;
    }
    if (left === 0) {
      yield '],"tree_truncated":true}';
      return;
    }
    const output = outputParts(job);
    if (left === treeJobsMax) {
      const durationMs = Math.round(((job.completedUs ?? job.createdUs) - job.createdUs) / 1000);
      yield `{"job_id":"${job.jobId}","status":"${job.status}","duration_ms":${durationMs}`;
      yield `${countsPart(job.counts)}${phaseErrorPart(job)},"result":`;
      // The output of the run appears twice: here, and in the run's entry in the tree.
      yield* output;
      if (!withTree) {
        yield '}';
        return;
      }
      yield ',"tree":[';
    } else yield ',';
    yield* treeEntryParts(job, output);
    left--;
  }
  yield ']}';
}

/** One job of the tree in the answer to a call that waited for its run. */
function treeEntryParts(job: JobView, output: readonly JsonPart[]): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}"${countsPart(job.counts)}${phasePart(job)}${reusedPart(job)},"result":`;
  return [head, ...output, '}'];
}

/**
 * The plugin output (docs/contract.md#plugin-output). If the response lacks a part, `result` is written as null, `error` is left out, and
 * any other part is written empty. Without a body (for example, before the job has ended) the whole output is null.
 */
function outputParts({ status, body }: Pick<JobView, 'status' | 'body'>): JsonPart[] {
  if (body === null) return ['null'];
  const head = `{"status":"${status === 'succeeded' ? 'ok' : 'error'}","result":`;
  const error = hasPart(body, 'error') ? `,"error":${JSON.stringify(errorOf(body))}` : '';
  const small = body.length <= chunkBytes && !hasDeflated(body);
  const result = part(body, small, 'result', 'null');
  const events = part(body, small, 'events', '[]');
  const updates = part(body, small, 'state_updates', '{}');
  const logs = part(body, small, 'logs', '[]');
  // Most outputs are small. For these it is faster to write all parts at once.
  if (small) return [`${head}${result}${error},"events":${events},"state_updates":${updates},"logs":${logs}}`];
  return [head, result, `${error},"events":`, events, ',"state_updates":', updates, ',"logs":', logs, '}'];
}

/** The spans that the response of the attempt reported. */
function spansParts({ body }: LogView): JsonPart[] {
  return hasPart(body, 'spans') ? [',"spans":', part(body, true, 'spans', '')] : [];
}

/** A part of the body: JSON text if `small` is true, otherwise a function that reads the part. `absent`: the text for a missing part. */
function part(body: Body, small: boolean, name: BodyPart, absent: string): JsonPart {
  if (!hasPart(body, name)) return absent;
  return small ? JSON.stringify(unpack(bodyPart(body, name)!)) : () => bodyPart(body, name)!;
}

function text(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function time(us: number | null): string {
  return us === null ? 'null' : `"${timestamp(us)}"`;
}
