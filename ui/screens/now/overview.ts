// The answer of GET /overview, as far as the dashboard shows it.
import type { PauseView } from '../../parts/pause-words.ts';

export type Lane = {
  readonly plugin: string;
  readonly queued_count: number;
  readonly active_count: number;
  readonly held_count: number;
  readonly limit: number | null;
  readonly oldest_queued_at: string | null;
  readonly run_p95_us: number | null;
  readonly queue_p95_us: number | null;
  readonly hold?: { readonly reason: string; readonly detail: string };
  readonly breaker?: string;
  readonly isolated?: true;
};
export type RecentFailure = {
  readonly job_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly completed_at: string;
  readonly last_error?: string;
};
export type FailureGroup = {
  readonly fingerprint: string;
  readonly plugin: string;
  readonly command: string;
  readonly pattern: string;
  readonly count: number;
  readonly last_at: string;
  /** The last job. Its message is the beginning of the first line of its error. */
  readonly sample: { readonly job_id: string; readonly message: string };
};
export type Overview = {
  readonly captured_at: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly queue: {
    readonly queue_depth: number;
    readonly running_count: number;
    readonly delayed_count: number;
    readonly scheduled_count: number;
    readonly held_count: number;
    readonly paused_count: number;
    readonly oldest_queued_at: string | null;
    readonly max_workers: number;
    readonly utilization: number;
  };
  readonly recent: {
    readonly seconds: number;
    readonly settled_count: number;
    readonly per_second: number;
    readonly error_rate: number | null;
    readonly run_p95_us: number | null;
    readonly queue_p95_us: number | null;
  };
  readonly trend: { readonly since: string; readonly settled: readonly number[]; readonly failed: readonly number[] };
  readonly lanes: readonly Lane[];
  readonly pauses: readonly PauseView[];
  readonly failures: readonly RecentFailure[];
  /** Absent: the service could not read them now. */
  readonly failure_groups?: readonly FailureGroup[];
};

/** The statuses in the order in which they are shown. */
export const allStatuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;

/** The types of events after which the overview is fetched again. */
export const overviewEvents = ['job.*', 'pipeline.*', 'plugin.*', 'system.*', 'action.*', 'config.reloaded'];
