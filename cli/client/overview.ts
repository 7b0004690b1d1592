// The JSON document of `GET /overview`, which `headgate top` shows, and the rate at which jobs end.
import { msOf } from '../terminal/time.ts';
import type { Client } from './client.ts';
import type { FailureGroupDocument } from './failures.ts';
import type { Counts } from './jobs.ts';
import type { PauseDocument } from './pauses.ts';

/** Percentiles in µs over the last minutes. Null: there were no samples, or the service could not read them now. */
type TimesDocument = { readonly run_p95_us: number | null; readonly queue_p95_us: number | null };

export type LaneDocument = TimesDocument & {
  readonly plugin: string;
  readonly queued_count: number;
  readonly active_count: number;
  readonly held_count: number;
  /** The maximum number of running jobs of the lane (`parallelism` of the plugin). Null: only the number of workers limits the lane. */
  readonly limit: number | null;
  readonly oldest_queued_at: string | null;
  /** Why all jobs of the lane are held; absent: they are not. */
  readonly hold?: { readonly reason: string; readonly detail: string };
  /** The state of the plugin's circuit breaker. */
  readonly breaker?: string;
  readonly isolated?: true;
};

export type FailureDocument = {
  readonly job_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly completed_at: string;
  readonly last_error?: string;
};

export type OverviewDocument = {
  readonly captured_at: string;
  /** All stored jobs and runs by status. */
  readonly counts: Counts;
  readonly queue: {
    readonly queue_depth: number;
    readonly delayed_count: number;
    readonly scheduled_count: number;
    readonly held_count: number;
    readonly paused_count: number;
    readonly oldest_queued_at: string | null;
    readonly max_workers: number;
    readonly utilization: number;
  };
  readonly recent: TimesDocument & {
    readonly seconds: number;
    readonly per_second: number;
    /** The share of failed jobs among the jobs that ended and were not cancelled. Null: there were no such jobs. */
    readonly error_rate: number | null;
  };
  /** How many jobs ended and how many failed in each minute, from `since` to the current minute. */
  readonly trend: {
    readonly since: string;
    readonly settled: readonly number[];
    readonly failed: readonly number[];
  };
  readonly lanes: readonly LaneDocument[];
  readonly pauses: readonly PauseDocument[];
  /** The jobs that failed last, newest first by the time at which they ended. */
  readonly failures: readonly FailureDocument[];
  /** The groups of failed jobs that were seen last. Absent: the service could not read them now. */
  readonly failure_groups?: readonly FailureGroupDocument[];
};

const form = {
  captured_at: true,
  counts: true,
  queue: true,
  recent: true,
  trend: true,
  lanes: ['plugin', 'queued_count', 'active_count'],
  pauses: ['target', 'by', 'since'],
  failures: ['job_id', 'status', 'completed_at'],
} as const;

export function fetchOverview(client: Client, signal?: AbortSignal): Promise<OverviewDocument> {
  return client.get<OverviewDocument>('/overview', form, {}, { ...(signal && { signal }) });
}

const minuteMs = 60_000;

/** How many jobs ended per second between two overviews. Null: the overviews are too far apart, or the second is not later than the first. */
export function settledPerSecond(before: OverviewDocument, after: OverviewDocument): number | null {
  const { settled } = after.trend;
  const seconds = (msOf(after.captured_at) - msOf(before.captured_at)) / 1000;
  const minutes = Math.round((msOf(after.trend.since) - msOf(before.trend.since)) / minuteMs);
  if (seconds <= 0 || minutes < 0 || minutes >= settled.length) return null;
  // The jobs that ended since the beginning of the first overview's current minute, as the second overview counts them.
  const since = settled.slice(settled.length - 1 - minutes).reduce((sum, count) => sum + count, 0);
  return Math.max(0, since - (before.trend.settled.at(-1) ?? 0)) / seconds;
}
