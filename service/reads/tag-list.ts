// Finds jobs by their tags, newest first. The newest blocks, which the index may lack, are read one by one, up to a limit. In the blocks
// that are indexed, the index finds the jobs.

import { taggedUpTo } from '../../actors/index/records/tags.ts';
import {
  countListed,
  indexedBlocks,
  listedBlocks,
  startOfBlocks,
  type TaggedBlock,
} from '../../actors/index/views/tagged-jobs.ts';
import { keysOf } from '../../actors/job/records/accepted.ts';
import { type Block, groupEnd } from '../../actors/job/records/block.ts';
import { endOfBlocks, endOfIds } from '../../actors/job/records/list-indexes.ts';
import { hasTags } from '../../actors/job/records/tags.ts';
import { BlockCache } from '../../actors/job/views/block-cache.ts';
import { countedMax, type JobFilter, type JobPage } from '../../actors/job/views/job-page.ts';
import { narrowed } from '../../actors/job/views/narrowed-ranges.ts';
import { type JobRange, listRanges } from '../../actors/job/views/range-listing.ts';
import { keyAfter } from '../../runtime/bytes.ts';
import { type BlockKey, blockOf, type JobId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';

/** The maximum number of blocks that a list reads because the index lacks them. The index is rarely this far behind. */
export const unindexedBlocksMax = 1_000;

export type TagSearch = {
  readonly filter: JobFilter & { readonly tags: readonly string[] };
  readonly limit: number;
  /** The last job of the previous page. Null: this is the first page. */
  readonly before: JobId | null;
  readonly unindexedMax?: number;
};

export function* listByTags(
  ledger: Reader,
  index: Reader<IndexTable>,
  { filter, limit, before, unindexedMax = unindexedBlocksMax }: TagSearch,
): Sliced<JobPage> {
  const upTo = taggedUpTo(index);
  const indexedTo = upTo ? keyAfter(upTo) : startOfBlocks;
  const { from: readFrom, unindexed } = yield* tailOf(ledger, indexedTo, unindexedMax);
  const blocks = new BlockCache(ledger);

  const keys = filter.accepted ? keysOf(filter.accepted) : { from: startOfBlocks, to: endOfBlocks };

  function* rangesBelow(bound: BlockKey): Iterable<JobRange | null> {
    const end = lesser(bound, keys.to);
    yield* jobsIn(blocks, listedBlocks(ledger, 'down', greater(readFrom, keys.from), end), filter.tags);
    yield* jobsIn(blocks, indexedBlocks(index, filter.tags, 'down', keys.from, lesser(end, indexedTo)), filter.tags);
  }
  const below = (bound: BlockKey) => narrowed(rangesBelow(bound), filter);

  const all = { filter, ranges: below(endOfBlocks), before: endOfIds, countMax: countedMax };
  if (before === null) return { ...(yield* listRanges(ledger, { ...all, limit })), unindexed };
  const { total, atLeast } = yield* listRanges(ledger, { ...all, limit: -1 });
  const ranges = below(keyAfter(blockOf(before)));
  const page = yield* listRanges(ledger, { filter, ranges, limit, before, countMax: 0 });
  return { ...page, total, atLeast, unindexed };
}

/**
 * Divides the blocks that the index lacks into two parts. The newer ones, from `from` on, are read by the list. The older ones are not read:
 * `unindexed` is the number of jobs with tags in them. Counting ends at a limit (`countListed`).
 */
function* tailOf(
  ledger: Reader,
  indexedTo: BlockKey,
  max: number,
): Sliced<{ readonly from: BlockKey; readonly unindexed: number }> {
  let from: BlockKey = endOfBlocks;
  let read = 0;
  for (const block of listedBlocks(ledger, 'down', indexedTo, endOfBlocks)) {
    if (block === null) yield;
    else if (read++ === max) return { from, unindexed: yield* countListed(ledger, indexedTo, from) };
    else from = block.key;
  }
  return { from, unindexed: 0 };
}

function lesser(a: BlockKey, b: BlockKey): BlockKey {
  return Buffer.compare(a, b) < 0 ? a : b;
}

function greater(a: BlockKey, b: BlockKey): BlockKey {
  return Buffer.compare(a, b) > 0 ? a : b;
}

/** The jobs that have the tags, in the blocks of `tagged`. */
function* jobsIn(
  blocks: BlockCache,
  tagged: Iterable<TaggedBlock | null>,
  tags: readonly string[],
): Iterable<JobRange | null> {
  for (const found of tagged) {
    // An entry of the index may outlast its block.
    const block = found && blocks.findUsable(found.key);
    if (!block) {
      yield null;
      continue;
    }
    const ranges = found.ranges ?? rangesWith(block, tags);
    for (let pair = ranges.length - 2; pair >= 0; pair -= 2) {
      yield { key: found.key, block, from: ranges[pair]!, to: ranges[pair + 1]!, takenOver: null };
    }
  }
}

/** The jobs of a block that have the tags, as pairs `from, to`. */
function rangesWith(block: Block, tags: readonly string[]): number[] {
  const ranges: number[] = [];
  for (const [place, start] of block.starts.entries()) {
    if (!hasTags(block.group(place), tags)) continue;
    const end = groupEnd(block, place);
    if (ranges.at(-1) === start) ranges[ranges.length - 1] = end;
    else ranges.push(start, end);
  }
  return ranges;
}
