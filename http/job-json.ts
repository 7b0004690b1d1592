// Jobs as JSON: the fields that the interface gives for each place where a job is shown.
import { errorOf } from '../actors/job/attempt.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { JobRow } from '../actors/job/listing.ts';
import type { LogView } from '../actors/job/log-view.ts';
import { bodyPart, hasPart } from '../runtime/host/outcome.ts';
import { formatId } from '../runtime/ids.ts';
import { unpack } from '../runtime/packing.ts';
import { jsonPieces, pieceBytes } from './json-pieces.ts';
import { timestamp } from './timestamp.ts';

/** GET /job/{job_id}, in pieces. Results only for those who may read them. */
export function* jobPieces(job: JobView, withResult: boolean): Iterable<string> {
  const head =
    `{"job_id":"${job.jobId}","status":"${job.status}","plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"parent_job_id":${text(job.parentJobId)},` +
    `"submitted_by":${JSON.stringify(job.submittedBy)},"attempt":${job.attempt},` +
    `"created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  yield head;
  if (withResult) {
    yield ',"result":';
    yield* outputPieces(job);
    if (job.lastError !== null) yield `,"last_error":${JSON.stringify(job.lastError)}`;
  }
  yield '}';
}

/** One job of GET /jobs. */
export function writeJobRow(job: JobRow): string {
  return (
    `{"job_id":"${formatId(job.id)}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},` +
    `"completed_at":${time(job.completedUs)},"attempt":${job.attempt}}`
  );
}

/** One log of GET /job-logs: bare for those who may not see results; the plugin output only where it is asked for. */
export function writeLog(log: LogView, detail: 'bare' | 'plain' | 'result'): string {
  const head =
    `{"job_id":"${log.jobId}","log_id":"${log.jobId}-${log.attempt}","plugin":${JSON.stringify(log.plugin)},` +
    `"command":${JSON.stringify(log.command)},"status":"${log.status}","attempt":${log.attempt},` +
    `"submitted_by":${JSON.stringify(log.submittedBy)},"created_at":${time(log.createdUs)},` +
    `"completed_at":${time(log.completedUs)}`;
  if (detail === 'bare') return `${head}}`;
  const told = `${head},"last_error":${JSON.stringify(log.lastError ?? '')},"stderr":${JSON.stringify(log.stderr ?? '')}`;
  return detail === 'result' ? `${told},"result":${writeOutput(log)}}` : `${told}}`;
}

/** One job of GET /job/{job_id}/tree, in pieces. */
export function* treeJobPieces(job: JobView, withResult: boolean): Iterable<string> {
  const head =
    `{"job_id":"${job.jobId}","parent_job_id":${text(job.parentJobId)},"plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"status":"${job.status}",` +
    `"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  yield head;
  if (withResult) {
    yield ',"result":';
    yield* outputPieces(job);
  }
  yield '}';
}

/** One job of the tree in the answer of a synchronous call. */
export function writeTreeEntry(job: JobView, output = writeOutput(job)): string {
  return (
    `{"job_id":"${job.jobId}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","result":${output}}`
  );
}

/** The plugin output (interface, 2.2), with empty parts where the response had none; null before the job has ended. */
export function writeOutput(job: Output): string {
  let text = '';
  for (const each of outputOf(job)) text += typeof each === 'string' ? each : JSON.stringify(unpack(each));
  return text;
}

/** The same in pieces. */
function* outputPieces(job: Output): Iterable<string> {
  if (job.body === null || job.body.length <= pieceBytes) yield writeOutput(job);
  else for (const each of outputOf(job)) yield* typeof each === 'string' ? [each] : jsonPieces(each);
}

type Output = Pick<JobView, 'status' | 'body'>;

/** Text, and packed values that stand in it. */
function outputOf({ status, body }: Output): (string | Uint8Array)[] {
  if (body === null) return ['null'];
  const error = hasPart(body, 'error') ? `,"error":${JSON.stringify(errorOf(body))}` : '';
  return [
    `{"status":"${status === 'succeeded' ? 'ok' : 'error'}","result":`,
    bodyPart(body, 'result') ?? 'null',
    `${error},"events":`,
    bodyPart(body, 'events') ?? '[]',
    ',"state_updates":',
    bodyPart(body, 'state_updates') ?? '{}',
    ',"logs":',
    bodyPart(body, 'logs') ?? '[]',
    '}',
  ];
}

function text(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function time(us: number | null): string {
  return us === null ? 'null' : `"${timestamp(us)}"`;
}
