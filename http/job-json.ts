// Jobs as JSON: the fields that the interface gives for each place where a job is shown.
import type { JobRow } from '../actors/job/listing.ts';
import type { LogView } from '../actors/job/log-view.ts';
import type { JobView } from '../actors/job/view.ts';
import { formatId } from '../runtime/ids.ts';
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
  return `${head},"result":${JSON.stringify(job.output)}${lastError}}`;
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
  return detail === 'result' ? `${told},"result":${JSON.stringify(log.output())}}` : `${told}}`;
}

/** One job of GET /job/{job_id}/tree. */
export function writeTreeJob(job: JobView, withResult: boolean): string {
  const head =
    `{"job_id":"${job.jobId}","parent_job_id":${text(job.parentJobId)},"plugin":${JSON.stringify(job.plugin)},` +
    `"command":${JSON.stringify(job.command)},"status":"${job.status}",` +
    `"started_at":${time(job.startedUs)},"completed_at":${time(job.completedUs)}`;
  return withResult ? `${head},"result":${JSON.stringify(job.output)}}` : `${head}}`;
}

/** One job of the tree in the answer of a synchronous call. */
export function writeTreeEntry(job: JobView): string {
  return (
    `{"job_id":"${job.jobId}","plugin":${JSON.stringify(job.plugin)},"command":${JSON.stringify(job.command)},` +
    `"status":"${job.status}","result":${JSON.stringify(job.output)}}`
  );
}

function text(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function time(us: number | null): string {
  return us === null ? 'null' : `"${timestamp(us)}"`;
}
