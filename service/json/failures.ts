// Writes a page of the list of failures as JSON (docs/contract.md#failures).
import { type FailureGroup, hourUs, trendHours } from '../../actors/index/records/failures.ts';
import type { FailurePage } from '../../actors/index/views/failures.ts';
import { formatId } from '../../runtime/ids.ts';
import { writeCursor } from './cursor.ts';
import { placeBytes } from './list.ts';
import { timestamp } from './timestamp.ts';

/** The letter that identifies the list of failures in cursors. */
export const failuresList = 'f';

export function writeFailures({ groups, total, more, indexedUs }: FailurePage, nowUs: number): string {
  const last = groups.at(-1);
  return JSON.stringify({
    failures: groups.map(group => failureJson(group, nowUs)),
    total,
    ...(indexedUs !== null && { indexed_to: timestamp(indexedUs) }),
    ...(more && last && { next_cursor: writeCursor(failuresList, placeBytes(last.last)) }),
  });
}

/** A group of failed jobs, as answers show it. */
export function failureJson(group: FailureGroup, nowUs: number) {
  const { fingerprint, plugin, command, pattern, count, first, last, sample, hours } = group;
  const hour = Math.floor(nowUs / hourUs);
  return {
    fingerprint,
    plugin,
    command,
    pattern,
    count,
    trend: Array.from({ length: trendHours }, (_, k) => hours.get(hour - trendHours + 1 + k) ?? 0),
    first_at: timestamp(first.atUs),
    last_at: timestamp(last.atUs),
    sample: { job_id: formatId(sample.jobId), message: sample.message },
  };
}
