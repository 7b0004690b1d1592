// Jobs as JSON: the fields that the interface gives for each place where a job is shown.
import { errorOf } from '../actors/job/attempt.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { JobRow } from '../actors/job/listing.ts';
import type { LogView } from '../actors/job/log-view.ts';
import { type Body, bodyPart, hasDeflated, hasPart, type Part } from '../runtime/host/outcome.ts';
import { formatId } from '../runtime/ids.ts';
import { unpack } from '../runtime/packing.ts';
import { type JsonPart, pieceBytes } from './json-pieces.ts';
import { timestamp } from './timestamp.ts';

/** GET /job/{job_id}. Results only for those who may read them. */
export function jobParts(job: JobView, withResult: boolean): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","status":"${job.status}","plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"parent_job_id":${text(job.parentJobId)},` +
    `"submitted_by":${JSON.stringify(job.submittedBy)},"attempt":${job.attempt},` +
    `"created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  if (!withResult) return [`${head}}`];
  const lastError = job.lastError === null ? '' : `,"last_error":${JSON.stringify(job.lastError)}`;
  return [`${head},"result":`, ...outputParts(job), `${lastError}}`];
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
export function logParts(log: LogView, detail: 'bare' | 'plain' | 'result'): JsonPart[] {
  const head =
    `{"job_id":"${log.jobId}","log_id":"${log.jobId}-${log.attempt}","plugin":${JSON.stringify(log.plugin)},` +
    `"command":${JSON.stringify(log.command)},"status":"${log.status}","attempt":${log.attempt},` +
    `"submitted_by":${JSON.stringify(log.submittedBy)},"created_at":${time(log.createdUs)},` +
    `"completed_at":${time(log.completedUs)}`;
  if (detail === 'bare') return [`${head}}`];
  const told = `${head},"last_error":${JSON.stringify(log.lastError ?? '')},"stderr":${JSON.stringify(log.stderr ?? '')}`;
  return detail === 'result' ? [`${told},"result":`, ...outputParts(log), '}'] : [`${told}}`];
}

/** One job of GET /job/{job_id}/tree. */
export function treeJobParts(job: JobView, withResult: boolean): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","parent_job_id":${text(job.parentJobId)},"plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"status":"${job.status}",` +
    `"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  return withResult ? [`${head},"result":`, ...outputParts(job), '}'] : [`${head}}`];
}

/** One job of the tree in the answer of a synchronous call. */
export function treeEntryParts(job: JobView, output = outputParts(job)): JsonPart[] {
  const head =
    `{"job_id":"${job.jobId}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","result":`;
  return [head, ...output, '}'];
}

/** The plugin output (interface, 2.2), with empty parts where the response had none; null before the job has ended. */
export function outputParts({ status, body }: Pick<JobView, 'status' | 'body'>): JsonPart[] {
  if (body === null) return ['null'];
  const head = `{"status":"${status === 'succeeded' ? 'ok' : 'error'}","result":`;
  const error = hasPart(body, 'error') ? `,"error":${JSON.stringify(errorOf(body))}` : '';
  const small = body.length <= pieceBytes && !hasDeflated(body);
  const result = part(body, small, 'result', 'null');
  const events = part(body, small, 'events', '[]');
  const updates = part(body, small, 'state_updates', '{}');
  const logs = part(body, small, 'logs', '[]');
  // Most are small: to handle them as parts would take longer than to write them.
  if (small) return [`${head}${result}${error},"events":${events},"state_updates":${updates},"logs":${logs}}`];
  return [head, result, `${error},"events":`, events, ',"state_updates":', updates, ',"logs":', logs, '}'];
}

/** As text in a body that is small. */
function part(body: Body, small: boolean, name: Part, absent: string): JsonPart {
  if (!hasPart(body, name)) return absent;
  return small ? JSON.stringify(unpack(bodyPart(body, name)!)) : () => bodyPart(body, name)!;
}

function text(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function time(us: number | null): string {
  return us === null ? 'null' : `"${timestamp(us)}"`;
}
