// The JSON document of `GET /overview`, which `headgate top` shows, and the rate at which jobs end.
import type { overviewDocument } from '../../service/json/overview.ts';
import { msOf } from '../terminal/time.ts';
import type { Client } from './client.ts';

export type OverviewDocument = ReturnType<typeof overviewDocument>;
export type LaneDocument = OverviewDocument['lanes'][number];
export type FailureDocument = OverviewDocument['failures'][number];

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
