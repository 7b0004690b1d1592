// The answer of GET /job/{job_id}, as the pages of jobs and runs use it.

export type JobOutput = {
  readonly status: 'ok' | 'error';
  readonly result: unknown;
  readonly error?: string;
  readonly events: readonly { readonly type: string }[];
  readonly state_updates: object;
  readonly logs: readonly { readonly level: string; readonly message: string }[];
};

export type WaitsFor = {
  readonly reason: string;
  readonly detail: string;
  readonly since: string;
  readonly until?: string;
};

export type ShownJob = {
  readonly job_id: string;
  readonly status: string;
  readonly plugin: string;
  readonly command: string;
  readonly parent_job_id: string | null;
  readonly submitted_by: string;
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly tags?: { readonly [name: string]: string };
  readonly counts?: { readonly [status: string]: number };
  readonly run_at?: string;
  readonly expires_at?: string;
  readonly deadline_at?: string;
  readonly schedule?: { readonly id: string; readonly due_at: string | null };
  readonly rerun_of?: string;
  readonly rerun_from?: 'start' | 'failed';
  readonly rerun_reason?: string;
  readonly reruns?: readonly string[];
  readonly rerun_count?: number;
  readonly cancelling?: true | number;
  readonly phase_error?: string;
  readonly cancel?: { readonly by: string; readonly at: string; readonly reason?: string };
  readonly waits_for?: WaitsFor;
  readonly pipeline?: string | null;
  readonly run_id?: string | null;
  readonly step_id?: string | null;
  readonly phase?: 'on_failure' | 'finally';
  readonly index?: number | null;
  readonly event?: { readonly type: string; readonly source: string; readonly dedupe_key?: string } | null;
  /** Absent if the token may not read results, or if `omitted` names it. */
  readonly payload?: unknown;
  readonly context?: unknown;
  readonly omitted?: readonly ('payload' | 'context' | 'result')[];
  readonly result?: JobOutput | null;
  readonly last_error?: string;
};

/** One attempt in the answer of GET /job-logs. */
export type ShownAttempt = {
  readonly log_id: string;
  readonly status: string;
  readonly attempt: number;
  readonly created_at: string;
  readonly completed_at: string;
  readonly last_error?: string;
  readonly stderr?: string;
  readonly result?: JobOutput;
  readonly spans?: readonly { readonly name: string; readonly dur_ns: number }[];
};

const settled = new Set(['succeeded', 'failed', 'timed_out', 'dead', 'cancelled']);

export function isSettled({ status }: Pick<ShownJob, 'status'>): boolean {
  return settled.has(status);
}

/** Whether the job is an action on many jobs. */
export function isAction({ plugin }: Pick<ShownJob, 'plugin'>): boolean {
  return plugin === 'headgate';
}

export function isRun({ plugin }: Pick<ShownJob, 'plugin'>): boolean {
  return plugin === 'pipeline';
}

/** What the job is called: the pipeline of a run, otherwise plugin and command. */
export function jobTitle(job: Pick<ShownJob, 'plugin' | 'command'>): string {
  return isRun(job) ? job.command : `${job.plugin}.${job.command}`;
}

/** Whether the job waits for its time to run or for its next attempt. */
export function isWaiting({ status, waits_for: waits }: Pick<ShownJob, 'status' | 'waits_for'>): boolean {
  return status === 'queued' && (waits?.reason === 'run_at' || waits?.reason === 'retry');
}

/** A text as an argument of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function callPath(job: Pick<ShownJob, 'plugin' | 'command'>): string {
  return isRun(job) ? `/pipeline/${job.command}` : `/plugin/${job.plugin}/${job.command}`;
}

/** A shell command with curl that makes the call of the job again. `payload` is JSON text. */
export function curlOf(job: Pick<ShownJob, 'plugin' | 'command'>, origin: string, payload: string | undefined): string {
  const body = payload === undefined ? '{}' : `{"payload":${payload}}`;
  return [
    `curl -X POST ${quoted(origin + callPath(job))}`,
    `-H "Authorization: Bearer $HEADGATE_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(' \\\n  ');
}

/** Like `curlOf`, but JavaScript for Node. */
export function scriptOf(
  job: Pick<ShownJob, 'plugin' | 'command'>,
  origin: string,
  payload: string | undefined,
): string {
  return `const response = await fetch(${JSON.stringify(origin + callPath(job))}, {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.HEADGATE_TOKEN}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ payload: ${payload ?? '{}'} }),
});
const { job_id: id } = await response.json();`;
}

/** Like `curlOf`, but a command of headgate. */
export function commandOf(job: Pick<ShownJob, 'plugin' | 'command'>, payload: string | undefined): string {
  const call = isRun(job) ? `pipeline run ${job.command}` : `plugin run ${job.plugin} ${job.command}`;
  return `headgate ${call}${payload === undefined ? '' : ` --payload ${quoted(payload)}`}`;
}
