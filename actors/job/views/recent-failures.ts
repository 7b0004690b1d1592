// The newest jobs that failed, timed out or are dead, found in the table `unsuccessful`.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type CommandCounts, countsKey } from '../records/counts.ts';
import { failureStatuses } from '../records/job.ts';
import { unsuccessfulKey } from '../records/list-indexes.ts';
import type { NameTable } from '../records/name-table.ts';
import { newestKeys } from './unsuccessful.ts';

const noId = Buffer.alloc(0);
const endOfIds = Buffer.alloc(jobIdBytes, 0xff);

/** The ids of the newest failed jobs, at most `max`, newest first. The table `unsuccessful` is searched only for commands that have some. */
export function* recentFailures(
  reader: Reader,
  names: NameTable,
  all: readonly CommandCounts[],
  max: number,
): Sliced<JobId[]> {
  const numbers = new Map(names.commands.map(({ number, plugin, command }) => [countsKey(plugin, command), number]));
  const found: Buffer[] = [];
  for (const { plugin, command, counts } of all) {
    const number = numbers.get(countsKey(plugin, command));
    if (number === undefined) continue;
    const prefixes = failureStatuses
      .filter(status => counts[status] > 0)
      .map(status => unsuccessfulKey(number, status, noId));
    if (prefixes.length === 0) continue;
    found.push(...newestKeys(reader, 'unsuccessful', prefixes, endOfIds, max));
    yield;
  }
  return found.sort((a, b) => Buffer.compare(b, a)).slice(0, max);
}
