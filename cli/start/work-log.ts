// Log lines about work: ended jobs, failed attempts, control calls, and refused deliveries and calls. Each of these kinds has a limit of
// lines per minute. Faults and lines at the level `debug` have no limit.
import type { JobOrigin, Observations, ObservationType } from '../../actors/hub/protocol.ts';
import type { Config } from '../../config/config.ts';
import type { ControlLine, RequestLine, ServerLog } from '../../http/log.ts';
import { type HttpProblem, problemStatus } from '../../http/problem.ts';
import { formatId, type JobId, jobIdBytes, parseId } from '../../runtime/ids.ts';
import type { Logger } from '../../runtime/log.ts';

const minuteMs = 60_000;

/** The observations that are logged, each with the level and message of its line: a job has ended, or an attempt has failed and another follows. */
const ends: { readonly [T in ObservationType]?: readonly [level: 'info' | 'warn', message: string] } = {
  'job.completed': ['info', 'job succeeded'],
  'job.retry_scheduled': ['warn', 'attempt failed'],
  'job.failed': ['warn', 'job failed'],
  'job.timed_out': ['warn', 'job timed out'],
  'job.dead': ['warn', 'job is dead'],
  'job.cancelled': ['info', 'job was cancelled'],
};

type LineKind = 'jobs' | 'webhooks' | 'calls' | 'controls';
type Minute = { lines: number; leftOut: number };

type WorkLogOptions = {
  readonly log: Logger;
  /** Returns the settings in force. */
  readonly settings: () => Config['log'];
  /** Finds the origin of a job. The job's log line names the run whose step created the job. Absent: the lines name no runs. */
  readonly originOf?: (id: JobId) => JobOrigin | null;
  readonly later: (act: () => void, ms: number) => void;
};

export class WorkLog {
  readonly #options: WorkLogOptions;
  readonly #minutes = new Map<LineKind, Minute>();

  constructor(options: WorkLogOptions) {
    this.#options = options;
  }

  /** Logs ended jobs and failed attempts. Jobs that `log.jobs` does not select are logged at the level `debug`, unless it is `none`. */
  observe(groups: readonly Observations[]): void {
    const { jobs } = this.#options.settings();
    if (jobs === 'none') return;
    for (const group of groups) {
      const end = group.kind === 'jobs' ? ends[group.type] : undefined;
      if (end === undefined) continue;
      const [level, message] = end;
      const isSelected = level === 'warn' || jobs === 'all';
      this.#logJobs(group as Extract<Observations, { kind: 'jobs' }>, isSelected ? level : 'debug', message);
    }
  }

  #logJobs(
    { ids, plugin, command, errors }: Extract<Observations, { kind: 'jobs' }>,
    level: 'debug' | 'info' | 'warn',
    message: string,
  ): void {
    if (!this.#options.log.isLevelEnabled(level)) return;
    const count = ids.length / jobIdBytes;
    const room = level === 'debug' ? count : this.#take('jobs', count);
    for (let place = 0; place < room; place++) {
      const id = ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
      const run = this.#options.originOf?.(id)?.runs[0];
      const error = errors?.[place];
      const fields = { job_id: formatId(id), ...(run && { run_id: run }), plugin, command, ...(error && { error }) };
      this.#options.log[level](fields, message);
    }
  }

  /** Logs a refused delivery of a webhook. The line contains no data from the sender. */
  refusedDelivery(endpoint: string, refusal: HttpProblem): void {
    if (!this.#options.log.isLevelEnabled('warn') || this.#take('webhooks', 1) === 0) return;
    const { code, reason } = refusal;
    const fields = { endpoint, status: problemStatus(refusal), code, ...(reason !== undefined && { reason }) };
    this.#options.log.warn(fields, 'a webhook delivery was refused');
  }

  /** The log of an HTTP server. `refusals`: whether calls that get 401 or 403 are also logged as warnings. */
  serverLog(refusals: boolean): ServerLog {
    const { log } = this.#options;
    return {
      // A getter reads the level each time, because a reload can change the level.
      get debug() {
        return log.isLevelEnabled('debug');
      },
      request: line => log.debug(this.#withRun(line), 'request'),
      refused: line => {
        if (refusals) this.#refusedCall(line);
      },
      control: line => this.#control(line),
      fault: (error, requestId) => log.error({ err: error, requestId }, 'a request failed'),
    };
  }

  #control(line: ControlLine): void {
    if (!this.#options.log.isLevelEnabled('info') || this.#take('controls', 1) === 0) return;
    this.#options.log.info(this.#withRun(line), 'a control call');
  }

  /** If the line names a job, adds the run of this job to the line. */
  #withRun<T extends { readonly job_id?: unknown }>(line: T): T {
    const id = typeof line.job_id === 'string' ? parseId(line.job_id) : null;
    const run = id && this.#options.originOf?.(id)?.runs[0];
    return run ? { ...line, run_id: run } : line;
  }

  #refusedCall(line: RequestLine): void {
    if (!this.#options.log.isLevelEnabled('warn') || this.#take('calls', 1) === 0) return;
    this.#options.log.warn(
      line,
      line.status === 401 ? 'a call without a valid token' : 'a call that the scopes of its token do not allow',
    );
  }

  /**
   * How many of `lines` lines may be written now. The other lines are counted, and a line at the end of the minute says how many
   * were left out.
   */
  #take(kind: LineKind, lines: number): number {
    let minute = this.#minutes.get(kind);
    if (minute === undefined) {
      minute = { lines: 0, leftOut: 0 };
      this.#minutes.set(kind, minute);
      this.#options.later(() => this.#end(kind), minuteMs);
    }
    const room = Math.max(0, Math.min(lines, this.#options.settings().perMinute - minute.lines));
    minute.lines += room;
    minute.leftOut += lines - room;
    return room;
  }

  #end(kind: LineKind): void {
    const { leftOut } = this.#minutes.get(kind)!;
    this.#minutes.delete(kind);
    if (leftOut === 0) return;
    const { perMinute } = this.#options.settings();
    this.#options.log.warn({ kind, left_out: leftOut, per_minute: perMinute }, leftOutMessages[kind]);
  }
}

const leftOutMessages: { readonly [K in LineKind]: string } = {
  jobs: 'lines about jobs were left out: more than log.per_minute',
  webhooks: 'lines about refused deliveries were left out: more than log.per_minute',
  calls: 'lines about refused calls were left out: more than log.per_minute',
  controls: 'lines about control calls were left out: more than log.per_minute',
};
