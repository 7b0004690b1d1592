// Jobs that did not succeed, or whose last attempt did not, newest first, found by the tables that have only these.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Status, statuses } from '../records/job.ts';
import type { NameTable } from '../records/name-table.ts';
import type { JobFilter } from './job-page.ts';

/** Keys of each range that are read in one scan. */
const keysPerStep = 256;

type IndexRange = { readonly table: 'unsuccessful' | 'retries'; readonly prefix: Buffer };

/** Jobs of the plugin, command and status that the filter names. At a null the walk may pause. */
export function* unsuccessfulIds(reader: Reader, names: NameTable, filter: JobFilter): Iterable<JobId | null> {
  const ranges = rangesOf(names, filter);
  for (let to: Buffer = Buffer.alloc(jobIdBytes, 0xff); ; ) {
    const found: Buffer[] = [];
    for (const { table, prefix } of ranges) {
      const range = { from: prefix, to: Buffer.concat([prefix, to]), reverse: true, limit: keysPerStep };
      for (const { key } of reader.scan(table, range)) found.push(Buffer.from(key.subarray(prefix.length)));
    }
    const page = found.sort((a, b) => Buffer.compare(b, a)).slice(0, keysPerStep);
    yield* page;
    if (page.length < keysPerStep) return;
    to = page.at(-1)!;
    yield null;
  }
}

function rangesOf(names: NameTable, { plugin, command, status }: JobFilter): IndexRange[] {
  const ranges: IndexRange[] = [];
  const wanted: readonly Status[] = status === null ? ['failed', 'timed_out', 'dead'] : [status];
  for (const name of names.commands) {
    if ((plugin !== null && name.plugin !== plugin) || (command !== null && name.command !== command)) continue;
    for (const each of wanted) {
      if (each === 'queued' || each === 'running') continue;
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(name.number, 0);
      prefix[4] = statuses.indexOf(each);
      ranges.push({ table: 'unsuccessful', prefix });
    }
  }
  // Another attempt of these follows.
  if (status === null || status === 'queued' || status === 'running')
    ranges.push({ table: 'retries', prefix: Buffer.alloc(0) });
  return ranges;
}
