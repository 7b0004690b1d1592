// Finds ended jobs that did not succeed (table `unsuccessful`) and unsettled jobs that have a record in the table `retries`, newest
// first.
import type { JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { failureStatuses, type Status } from '../records/job.ts';
import { endOfIds, unsuccessfulKey } from '../records/list-indexes.ts';
import { type NameTable, numbersOf } from '../records/name-table.ts';
import type { JobFilter } from './job-page.ts';

/** The maximum number of keys that one scan reads. */
const keysPerStep = 256;

/**
 * The keys that begin with one of the prefixes, each without its prefix. Of these, the greatest keys below `to`, at most `limit`, are returned,
 * in descending order.
 */
export function newestKeys(
  reader: Reader,
  table: 'by_command' | 'unsuccessful' | 'retries',
  prefixes: readonly Buffer[],
  to: Buffer,
  limit: number,
): Buffer[] {
  const found: Buffer[] = [];
  for (const prefix of prefixes) {
    const range = { from: prefix, to: Buffer.concat([prefix, to]), reverse: true, limit };
    for (const { key } of reader.scan(table, range)) found.push(Buffer.from(key.subarray(prefix.length)));
  }
  return found.sort((a, b) => Buffer.compare(b, a)).slice(0, limit);
}

/**
 * The jobs with ids below `before` that did not succeed and have the plugin, command and status of the filter, newest first. If the filter
 * accepts unsettled jobs, all jobs below `before` with a record in `retries` are included, whatever their plugin and command. The caller can
 * pause at each null.
 */
export function* unsuccessfulIds(
  reader: Reader,
  names: NameTable,
  filter: JobFilter,
  before: Buffer = endOfIds,
): Iterable<JobId | null> {
  const { status } = filter;
  const prefixes = prefixesOf(names, filter);
  // Whether the filter accepts unsettled jobs.
  const areRetried = status === null || status === 'queued' || status === 'running';
  for (let to = before; ; ) {
    const ended = newestKeys(reader, 'unsuccessful', prefixes, to, keysPerStep);
    const retried = areRetried ? newestKeys(reader, 'retries', [Buffer.alloc(0)], to, keysPerStep) : [];
    const page = [...ended, ...retried].sort((a, b) => Buffer.compare(b, a)).slice(0, keysPerStep);
    yield* page;
    if (page.length < keysPerStep) return;
    to = page.at(-1)!;
    yield null;
  }
}

function prefixesOf(names: NameTable, filter: JobFilter): Buffer[] {
  const wanted: readonly Status[] = filter.status === null ? [...failureStatuses, 'cancelled'] : [filter.status];
  return numbersOf(names, filter).flatMap(number =>
    wanted.map(status => unsuccessfulKey(number, status, Buffer.alloc(0))),
  );
}
