// Writes the overview as JSON (docs/overview.md).
import type { Histogram } from '../../actors/index/records/histogram.ts';
import { minuteUs } from '../../actors/index/records/stopwatch.ts';
import type { RecentTimes } from '../../actors/index/views/recent-times.ts';
import type { SettledCounts } from '../../actors/job/records/minute-counters.ts';
import type { LaneHold, LaneState } from '../../actors/job/reports/queue-protocol.ts';
import { earlier } from '../../runtime/clock.ts';
import { type Overview, type RecentFailure, recentMinutes } from '../reads/overview.ts';
import { failureJson } from './failures.ts';
import { pauseDocument } from './pause.ts';
import { optionalTime, timestamp } from './timestamp.ts';

export function writeOverview(overview: Overview): string {
  return JSON.stringify(overviewDocument(overview));
}

export function overviewDocument(overview: Overview) {
  const { nowUs, endUs, queue, counts, pauses, times, failures, failureGroups } = overview;
  const oldestUs = queue.lanes.reduce<number | null>((oldest, lane) => earlier(oldest, lane.oldestUs), null);
  const lanes = queue.lanes.toSorted((a, b) => (a.plugin < b.plugin ? -1 : 1));
  return {
    captured_at: timestamp(nowUs),
    counts,
    queue: {
      queue_depth: queue.queued,
      running_count: queue.running,
      delayed_count: queue.retrying,
      scheduled_count: queue.scheduled,
      held_count: queue.held,
      paused_count: queue.paused,
      oldest_queued_at: optionalTime(oldestUs),
      max_workers: queue.workers,
      utilization: round(queue.utilization),
    },
    recent: recentDocument(overview),
    trend: trendDocument(overview),
    lanes: lanes.map(lane => laneDocument(lane, times?.plugins.get(lane.plugin) ?? null)),
    pauses: pauses.map(pauseDocument),
    failures: failures.map(failureDocument),
    ...(failureGroups && { failure_groups: failureGroups.map(group => failureJson(group, endUs)) }),
  };
}

function recentDocument({ nowUs, minutes, firstMinute, times }: Overview) {
  const recent = minutes.slice(-(recentMinutes + 1));
  const settled = sumOf(recent, settledIn);
  const failed = sumOf(recent, failedIn);
  const finished = failed + sumOf(recent, ({ succeeded }) => succeeded);
  const seconds = (nowUs - (firstMinute + minutes.length - recent.length) * minuteUs) / 1e6;
  return {
    seconds: Math.round(seconds),
    settled_count: settled,
    per_second: round(settled / seconds),
    error_rate: finished === 0 ? null : round(failed / finished),
    ...timesDocument(times?.all ?? null),
  };
}

function trendDocument({ firstMinute, minutes }: Overview) {
  return {
    since: timestamp(firstMinute * minuteUs),
    settled: minutes.map(settledIn),
    failed: minutes.map(failedIn),
  };
}

function laneDocument(lane: LaneState, times: RecentTimes | null) {
  const { plugin, active, queued, held, limit, oldestUs, hold, breaker, isIsolated } = lane;
  return {
    plugin,
    queued_count: queued,
    active_count: active,
    held_count: held,
    limit,
    oldest_queued_at: optionalTime(oldestUs),
    ...timesDocument(times),
    ...(hold && { hold: holdDocument(hold) }),
    ...(breaker && { breaker }),
    ...(isIsolated && { isolated: true }),
  };
}

/** The hold of a lane, in the same form as a job's `waits_for`. */
function holdDocument({ reason, detail, sinceUs, untilUs }: LaneHold) {
  return {
    reason,
    detail,
    ...(sinceUs > 0 && { since: timestamp(sinceUs) }),
    ...(untilUs !== undefined && { until: timestamp(untilUs) }),
  };
}

function timesDocument(times: RecentTimes | null) {
  return { run_p95_us: p95Of(times?.run), queue_p95_us: p95Of(times?.queue) };
}

function p95Of(times: Histogram | undefined): number | null {
  return times === undefined || times.count === 0 ? null : times.percentile(0.95);
}

function failureDocument({ jobId, plugin, command, status, attempt, completedUs, error }: RecentFailure) {
  return {
    job_id: jobId,
    plugin,
    command,
    status,
    attempt,
    completed_at: timestamp(completedUs),
    ...(error !== null && { last_error: error }),
  };
}

function settledIn({ succeeded, failed, timed_out, dead, cancelled }: Readonly<SettledCounts>): number {
  return succeeded + failed + timed_out + dead + cancelled;
}

function failedIn({ failed, timed_out, dead }: Readonly<SettledCounts>): number {
  return failed + timed_out + dead;
}

function sumOf(
  minutes: readonly Readonly<SettledCounts>[],
  count: (minute: Readonly<SettledCounts>) => number,
): number {
  return minutes.reduce((sum, minute) => sum + count(minute), 0);
}

/** Rounds a ratio or a rate to four decimals. */
function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
