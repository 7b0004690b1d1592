// Jobs as JSON: the fields that the interface gives for each place where a job is shown.
import { errorOf } from '../actors/job/attempt.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { JobRow } from '../actors/job/listing.ts';
import type { LogView } from '../actors/job/log-view.ts';
import { type Body, bodyPart, hasPart, type Part } from '../runtime/host/outcome.ts';
import { formatId } from '../runtime/ids.ts';
import { unpack } from '../runtime/packing.ts';
import { timestamp } from './timestamp.ts';

/** GET /job/{job_id}. Results only for those who may read them. */
export function writeJob(job: JobView, withResult: boolean): string {
  const head =
    `{"job_id":"${job.jobId}","status":"${job.status}","plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"parent_job_id":${text(job.parentJobId)},` +
    `"submitted_by":${JSON.stringify(job.submittedBy)},"attempt":${job.attempt},` +
    `"created_at":${time(job.createdUs)},"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  if (!withResult) return `${head}}`;
  const lastError = job.lastError === null ? '' : `,"last_error":${JSON.stringify(job.lastError)}`;
  return `${head},"result":${writeOutput(job)}${lastError}}`;
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

/** One job of GET /job/{job_id}/tree. */
export function writeTreeJob(job: JobView, withResult: boolean): string {
  const head =
    `{"job_id":"${job.jobId}","parent_job_id":${text(job.parentJobId)},"plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"status":"${job.status}",` +
    `"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  return withResult ? `${head},"result":${writeOutput(job)}}` : `${head}}`;
}

/** One job of the tree in the answer of a synchronous call. */
export function writeTreeEntry(job: JobView, output = writeOutput(job)): string {
  return (
    `{"job_id":"${job.jobId}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","result":${output}}`
  );
}

/** The plugin output (interface, 2.2), with empty parts where the response had none; null before the job has ended. */
export function writeOutput({ status, body }: Pick<JobView, 'status' | 'body'>): string {
  if (body === null) return 'null';
  const error = hasPart(body, 'error') ? `,"error":${JSON.stringify(errorOf(body))}` : '';
  return (
    `{"status":"${status === 'succeeded' ? 'ok' : 'error'}","result":${part(body, 'result', 'null')}${error},` +
    `"events":${part(body, 'events', '[]')},"state_updates":${part(body, 'state_updates', '{}')},` +
    `"logs":${part(body, 'logs', '[]')}}`
  );
}

function part(body: Body, name: Part, absent: string): string {
  return hasPart(body, name) ? JSON.stringify(unpack(bodyPart(body, name)!)) : absent;
}

function text(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function time(us: number | null): string {
  return us === null ? 'null' : `"${timestamp(us)}"`;
}
