// Reads the overview. The caller passes the state of the queue, which the ledger has just reported. The counters, pauses, recent times, recent
// failures and groups of failures come from the stores. How long the read takes does not depend on the number of waiting jobs.

import type { FailureGroup } from '../../actors/index/records/failures.ts';
import { minuteUs } from '../../actors/index/records/stopwatch.ts';
import { listFailures } from '../../actors/index/views/failures.ts';
import { recentTimes, type TimesOfPlugins } from '../../actors/index/views/recent-times.ts';
import { jobsByStatus, readCounts } from '../../actors/job/records/counts.ts';
import type { Status } from '../../actors/job/records/job.ts';
import { type SettledCounts, settledSince } from '../../actors/job/records/minute-counters.ts';
import { NameTable } from '../../actors/job/records/name-table.ts';
import type { Pause } from '../../actors/job/records/pause.ts';
import type { QueueReply } from '../../actors/job/reports/queue-protocol.ts';
import { BlockCache } from '../../actors/job/views/block-cache.ts';
import type { JobView } from '../../actors/job/views/job-view.ts';
import { findJob } from '../../actors/job/views/jobs.ts';
import { listPauses } from '../../actors/job/views/pauses.ts';
import { recentFailures } from '../../actors/job/views/recent-failures.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import { readable } from '../../runtime/store/set-aside.ts';
import { type IndexTable, IndexUnavailable, type Reader } from '../../runtime/store/store.ts';
import { cutText } from '../../runtime/text.ts';

/** Recent figures cover the current minute and this many minutes before it. */
export const recentMinutes = 5;
/** The number of minutes of the trend. The last one is the current minute. */
export const trendMinutes = 60;
export const recentFailuresMax = 10;
/** The maximum number of groups of failed jobs. */
export const overviewGroupsMax = 10;
/** The maximum length of a recent failure's error. The rest is cut. */
export const failureCharsMax = 300;

/** The arguments of the read. */
export type OverviewQuery = {
  readonly nowUs: number;
  /** The end of the windows of `times` and of the groups' trends: `nowUs`, or the end of the newest attempt if that is later. */
  readonly endUs: number;
  /** The state of the queue at `nowUs`, as the ledger has reported it. */
  readonly queue: Omit<QueueReply, 'kind' | 'active' | 'nowUs'>;
};

export type RecentFailure = Pick<JobView, 'jobId' | 'plugin' | 'command' | 'status' | 'attempt'> & {
  readonly completedUs: number;
  readonly error: string | null;
};

export type Overview = OverviewQuery & {
  readonly counts: { readonly [S in Status]: number };
  readonly pauses: readonly Pause[];
  /** How many jobs ended in each minute of the trend, oldest first. */
  readonly minutes: readonly Readonly<SettledCounts>[];
  /** The first minute of the trend, in minutes since the epoch. */
  readonly firstMinute: number;
  /** Null: the index is unavailable at the moment. */
  readonly times: TimesOfPlugins | null;
  /** Newest first, by the end of the job. */
  readonly failures: readonly RecentFailure[];
  /** The groups with the newest failures. Null: the index is unavailable at the moment. */
  readonly failureGroups: readonly FailureGroup[] | null;
};

const anyGroup = { plugin: null, command: null, fromUs: null, toUs: null };

export function openOverview(
  reader: Reader,
  index: () => Reader<IndexTable>,
): (wanted: OverviewQuery) => Sliced<Overview> {
  const names = new NameTable(reader);
  const blocks = new BlockCache(reader);
  /** The failures of the last overview. They are kept, because an ended job does not change. */
  let known = new Map<string, RecentFailure>();

  function* times({ queue, endUs }: OverviewQuery): Sliced<TimesOfPlugins | null> {
    const plugins = queue.lanes.map(({ plugin }) => plugin);
    const minute = Math.floor(endUs / minuteUs);
    return yield* ifIndexed(() => recentTimes(index(), plugins, { from: minute - recentMinutes, to: minute }));
  }

  function* failureGroups(): Sliced<readonly FailureGroup[] | null> {
    const page = yield* ifIndexed(() => listFailures(index(), anyGroup, overviewGroupsMax, null));
    return page?.groups ?? null;
  }

  function* failuresAmong(ids: readonly JobId[]): Sliced<RecentFailure[]> {
    const found = new Map<string, RecentFailure>();
    for (const id of ids) {
      const text = formatId(id);
      // A job whose records cannot be decoded is left out.
      const failure = known.get(text) ?? readable(() => failureOf(id));
      if (failure) found.set(text, failure);
      yield;
    }
    known = found;
    return [...found.values()].sort((a, b) => b.completedUs - a.completedUs);
  }

  function failureOf(id: JobId): RecentFailure | null {
    const job = findJob(reader, id, blocks);
    if (!job || job.completedUs === null) return null;
    const { jobId, plugin, command, status, attempt, completedUs, lastError } = job;
    return {
      jobId,
      plugin,
      command,
      status,
      attempt,
      completedUs,
      error: lastError === null ? null : cutText(lastError, failureCharsMax),
    };
  }

  return function* overview(wanted) {
    const minute = Math.floor(wanted.nowUs / minuteUs);
    const firstMinute = minute - trendMinutes + 1;
    const counted = readCounts(reader);
    const minutes = minutesFrom(reader, firstMinute, minute);
    const pauses = listPauses(reader);
    yield;
    const failures = yield* failuresAmong(yield* recentFailures(reader, names, counted, recentFailuresMax));
    return {
      ...wanted,
      counts: jobsByStatus(counted),
      pauses,
      minutes,
      firstMinute,
      times: yield* times(wanted),
      failures,
      failureGroups: yield* failureGroups(),
    };
  };
}

/** The result of `read`; null if the index is unavailable at the moment. */
function* ifIndexed<T>(read: () => Sliced<T>): Sliced<T | null> {
  try {
    return yield* read();
  } catch (error) {
    if (error instanceof IndexUnavailable) return null;
    throw error;
  }
}

const nothing: Readonly<SettledCounts> = { succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };

function minutesFrom(reader: Reader, first: number, last: number): Readonly<SettledCounts>[] {
  const settled = new Map(Array.from(settledSince(reader, first), ({ minute, counts }) => [minute, counts]));
  return Array.from({ length: last - first + 1 }, (_, at) => settled.get(first + at) ?? nothing);
}
