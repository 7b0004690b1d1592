// The JSON documents of jobs in the API.
import { exitStatus } from '../exit-status.ts';
import { type Client, segment } from './client.ts';

export type Counts = { readonly [status: string]: number };

export type JobDocument = {
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly status: string;
  readonly plugin: string;
  readonly command: string;
  readonly submitted_by: string;
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly tags?: { readonly [key: string]: string };
  /**
   * For a run: how many of the jobs inside it ended with each status, have not ended (`unsettled`), and are reused from an
   * earlier run (`reused`).
   */
  readonly counts?: Counts;
  readonly rerun_of?: string;
  readonly rerun_from?: string;
  readonly rerun_reason?: string;
  /** The ids of the newest reruns of this job, newest first. */
  readonly reruns?: readonly string[];
  readonly rerun_count?: number;
  /** Present if the job or its run was cancelled, even if the job still succeeded. */
  readonly cancel?: { readonly by: string; readonly at: string; readonly reason?: string };
  /** True while the cancelled job is being stopped; for a run: how many of its jobs have not ended. */
  readonly cancelling?: true | number;
  readonly run_at?: string;
  readonly expires_at?: string;
  readonly deadline_at?: string;
  /**
   * Why an unsettled job is not running; for a run, why it has not ended. Absent in lists and trees, while the job's code is running, and if
   * the ledger does not answer in time.
   */
  readonly waits_for?: {
    readonly reason: string;
    readonly detail: string;
    readonly since: string;
    readonly until?: string;
  };
  /** Null until the job has ended. Absent in lists, and if the API token may not read results. */
  readonly result?: {
    readonly result: unknown;
    readonly error?: string;
    readonly logs?: readonly LogLineDocument[];
  } | null;
  readonly last_error?: string;
  /** For a run that succeeded although a phase failed: the error of the phase. */
  readonly phase_error?: string;
  /**
   * This and the following members are absent in lists (except `step_id`), in trees (except `phase`), and in the document of a single job
   * if the API token may not read results.
   */
  readonly pipeline?: string | null;
  readonly run_id?: string | null;
  readonly step_id?: string | null;
  /** Absent: the job belongs to the main part of its run, or to no run. */
  readonly phase?: string;
  readonly index?: number | null;
  readonly event?: {
    readonly type: string;
    readonly source: string;
    readonly headers?: { readonly [name: string]: string };
  } | null;
  readonly payload?: unknown;
  readonly context?: { readonly [name: string]: unknown };
  /** The names `payload` and `context`, if their values are left out because they are too large. */
  readonly omitted?: readonly string[];
};
export type LogLineDocument = { readonly level: string; readonly message: string };
export type TreeJob = Omit<JobDocument, 'submitted_by' | 'attempt' | 'created_at' | 'last_error'> & {
  /** True if a rerun in this tree reuses the job's result; the job itself belongs to an earlier run. */
  readonly reused?: true;
};

/**
 * Fetches a job. With `whole`, payload and context are included whatever their size. With `waitMs`, the service waits up to this time
 * for the job to end. `signal` aborts the request.
 */
export function fetchJob(
  client: Client,
  id: string,
  { whole = false, waitMs, signal }: FetchJobOptions = {},
): Promise<JobDocument> {
  const form = { job_id: true, status: true, plugin: true, command: true } as const;
  const query = {
    include: whole ? 'payload' : undefined,
    wait: waitMs === undefined ? undefined : `${Math.floor(waitMs)}ms`,
  };
  return client.get<JobDocument>(`/job/${segment(id)}`, form, query, { ...(signal && { signal }) });
}

type FetchJobOptions = {
  readonly whole?: boolean;
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

const unsuccessful = ['failed', 'timed_out', 'dead', 'cancelled'];

/**
 * How many of the ended jobs inside a run did not succeed, such as `2 failed, 1 dead of 10 inside`. Null if all ended jobs
 * succeeded, or if the job is not a run.
 */
export function unsuccessfulText({ counts }: Pick<JobDocument, 'counts'>): string | null {
  if (counts === undefined) return null;
  const worse = unsuccessful.filter(status => (counts[status] ?? 0) > 0);
  if (worse.length === 0) return null;
  const ended = ['succeeded', ...unsuccessful].reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return `${worse.map(status => `${counts[status]} ${status}`).join(', ')} of ${ended} inside`;
}

export function countsText(counts: Counts): string {
  const all = Object.entries(counts).filter(([, count]) => count > 0);
  return all.length === 0 ? 'none' : all.map(([status, count]) => `${count} ${status}`).join(', ');
}

export function isSettled(status: string): boolean {
  return status !== 'queued' && status !== 'running';
}

/** The exit status of a command that reports a job with this final status. */
export function exitStatusOfJob(status: string): number {
  if (status === 'succeeded') return exitStatus.ok;
  if (status === 'cancelled') return exitStatus.cancelled;
  return status === 'timed_out' ? exitStatus.timedOut : exitStatus.failed;
}
