// The list, newest first, of the jobs that were accepted in a range of time or that belong to a pipeline. No counter has their number, so
// they are counted again for each page.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockKeyBytes, blockOf, type JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { keysOf } from '../records/accepted.ts';
import { endOfBlocks, endOfIds, numberKey } from '../records/list-indexes.ts';
import { type NameTable, numbersOf } from '../records/name-table.ts';
import { BlockCache } from './block-cache.ts';
import { filterJobs } from './filtered-jobs.ts';
import { countedMax, type JobFilter, type JobPage } from './job-page.ts';
import { narrowed } from './narrowed-ranges.ts';
import { type JobRange, listRanges } from './range-listing.ts';
import { newestKeys, unsuccessfulIds } from './unsuccessful.ts';

const startOfBlocks: BlockKey = Buffer.alloc(blockKeyBytes);
/** The maximum number of keys that one scan reads. */
const keysPerStep = 64;

/** One page of the jobs that match, and the total. `before`: the last job of the previous page; null: the page is the first one. */
export function* listNarrowed(
  reader: Reader,
  names: NameTable,
  filter: JobFilter,
  limit: number,
  before: JobId | null,
): Sliced<JobPage> {
  const { status, accepted } = filter;
  const { from, to } = accepted ? keysOf(accepted) : { from: startOfBlocks, to: endOfBlocks };
  if (status === 'failed' || status === 'timed_out' || status === 'dead' || status === 'cancelled') {
    const ids = idsFrom(unsuccessfulIds(reader, names, filter, Buffer.from(to)), from);
    return yield* filterJobs(reader, filter, ids, null, limit, before ?? endOfIds);
  }
  const rangesBelow = (end: BlockKey) => narrowed(rangesOf(reader, names, filter, from, end), filter);
  const all = { filter, ranges: rangesBelow(to), before: endOfIds, countMax: countedMax };
  if (before === null) return yield* listRanges(reader, { ...all, limit });
  const { total, atLeast } = yield* listRanges(reader, { ...all, limit: -1 });
  const end = keyAfter(blockOf(before));
  const ranges = rangesBelow(Buffer.compare(end, to) < 0 ? end : to);
  return { ...(yield* listRanges(reader, { filter, ranges, limit, before, countMax: 0 })), total, atLeast };
}

/** The ids up to, not including, the first one below `from`. The ids are in descending order. */
function* idsFrom(ids: Iterable<JobId | null>, from: BlockKey): Iterable<JobId | null> {
  for (const id of ids) {
    if (id !== null && Buffer.compare(id, from) < 0) return;
    yield id;
  }
}

/**
 * Whole blocks with keys from `from` up to, not including, `to`, newest first: all that have jobs with the status, plugin and command of the
 * filter, and possibly others. The work can be interrupted at each null.
 */
function* rangesOf(
  reader: Reader,
  names: NameTable,
  filter: JobFilter,
  from: BlockKey,
  to: BlockKey,
): Iterable<JobRange | null> {
  const blocks = new BlockCache(reader);
  const { status, plugin, command } = filter;
  const table = status === 'queued' || status === 'running' ? 'open' : 'blocks';
  const isNamed = table === 'blocks' && (plugin !== null || command !== null);
  const prefixes = isNamed ? numbersOf(names, filter).map(numberKey) : [];
  for (let end = to; ; ) {
    const keys = isNamed
      ? newestKeys(reader, 'by_command', prefixes, Buffer.from(end), keysPerStep)
      : Array.from(reader.keys(table, { from, to: end, reverse: true, limit: keysPerStep }), key => Buffer.from(key));
    for (const key of keys) {
      if (Buffer.compare(key, from) < 0) return;
      const block = blocks.readUsable(key);
      yield block ? { key, block, from: 0, to: block.count, takenOver: null } : null;
    }
    if (keys.length < keysPerStep) return;
    end = keys.at(-1)!;
    yield null;
  }
}
