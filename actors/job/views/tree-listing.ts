// Lists the jobs of a tree: its own jobs, newest first, then the jobs that its runs reused from other trees.
import { type BlockKey, blockKeyBytes, blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { type Block, groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';
import { keyText } from '../records/open.ts';
import { hasTags } from '../records/tags.ts';
import { rangesOf, treeRange } from '../records/tree.ts';
import { BlockCache } from './block-cache.ts';
import { countedMax, type JobFilter, type JobPage, type JobScopeFilter } from './job-page.ts';
import { narrowed } from './narrowed-ranges.ts';
import { type HasAttempt, type JobRange, listRanges } from './range-listing.ts';
import { Successors } from './reused-jobs.ts';

/** The maximum number of entries of a tree that one scan reads. */
const entriesPerStep = 16;

/**
 * One page of the jobs that match, and the total. `before`: only jobs with smaller ids become rows. `has`: a test that the latest attempt of a
 * job must pass; absent: attempts are not tested.
 */
export function listWithin(
  reader: Reader,
  filter: JobFilter,
  limit: number,
  before: JobId,
  has?: HasAttempt,
): Sliced<JobPage> {
  const isCounted = filter.status !== null || has !== undefined;
  const countMax = isCounted ? countedMax : Number.POSITIVE_INFINITY;
  const ranges = narrowed(rangesWithin(reader, filter), filter);
  return listRanges(reader, { filter, ranges, limit, before, has, countMax });
}

/**
 * The ranges of jobs that match `within` and have the tags: the tree's own jobs, newest first, then the reused jobs. The caller can pause
 * at each null.
 */
function* rangesWithin(reader: Reader, { within, tags = [] }: JobFilter): Iterable<JobRange | null> {
  const blocks = new BlockCache(reader);
  const { id } = within[0]!;
  const key = Buffer.from(blockOf(id));
  const block = blocks.find(key);
  if (!block || indexOf(id) >= block.count) return;
  const members = within.map(each => memberOf(blocks, each));
  const isInside = (group: JobGroup) => members.every(isMember => isMember(group)) && hasTags(group, tags);
  const { group: own } = groupOf(block, indexOf(id));
  const { root } = own;
  const top = root ?? id;
  yield* rangesOfTable(reader, blocks, 'tree', top, group => isInside(group) && { takenOver: null });
  // The root is in no run and has no parent, so only a filter `root` selects it.
  const isRootWanted = root === null && within.every(each => each.of === 'root' && keyText(each.id) === keyText(id));
  if (isRootWanted && hasTags(own, tags)) yield { key, block, from: indexOf(id), to: indexOf(id) + 1, takenOver: null };
  const successors = Successors.in(reader, blocks, top);
  if (!successors) return;
  yield* rangesOfTable(reader, blocks, 'reused', top, group => {
    const here = successors.groupHere(group);
    return isInside(here) && { takenOver: { parent: here.parent! } };
  });
}

/** Whether the jobs of a group are wanted, and how they are shown. False: they are not wanted. */
type Wanted = (group: JobGroup) => false | Pick<JobRange, 'takenOver'>;

function* rangesOfTable(
  reader: Reader,
  blocks: BlockCache,
  table: 'tree' | 'reused',
  root: JobId,
  wanted: Wanted,
): Iterable<JobRange | null> {
  let { from, to } = treeRange(root);
  for (;;) {
    // Reads all entries of a step at once: no scan stays open while other reads run.
    const entries = [...reader.scan(table, { from, to, reverse: true, limit: entriesPerStep })];
    for (const entry of entries) {
      const at = Buffer.from(entry.key.subarray(-blockKeyBytes));
      // The block may have been pruned since the scan. An entry of the table `reused` can remain after its block has been pruned.
      const found = blocks.readUsable(at);
      if (found) yield* rangesOfEntry(at, found, rangesOf(entry.value), wanted);
      yield null;
    }
    if (entries.length < entriesPerStep) return;
    to = entries.at(-1)!.key;
  }
}

function* rangesOfEntry(
  key: BlockKey,
  block: Block,
  ranges: readonly number[],
  wanted: Wanted,
): Iterable<JobRange | null> {
  for (let pair = ranges.length - 2; pair >= 0; pair -= 2) {
    const first = ranges[pair]!;
    for (let to = ranges[pair + 1]!; to > first; ) {
      const { group, offset } = groupOf(block, to - 1);
      const from = Math.max(first, to - 1 - offset);
      const how = wanted(group);
      yield how ? { key, block, from, to, ...how } : null;
      to = from;
    }
  }
}

/** Returns a function that checks whether a job matches all these filters. */
export function membersOf(
  blocks: BlockCache,
  within: readonly JobScopeFilter[],
): (id: JobId, group: JobGroup) => boolean {
  const each = within.map(wanted => {
    const isMember = memberOf(blocks, wanted);
    const top = keyText(wanted.id);
    const isTop = (id: JobId, { root }: JobGroup) => wanted.of === 'root' && root === null && keyText(id) === top;
    return (id: JobId, group: JobGroup) => isMember(group) || isTop(id, group);
  });
  return (id, group) => each.every(isMember => isMember(id, group));
}

/** Returns a function that checks whether the jobs of a group match the filter. */
function memberOf(blocks: BlockCache, { of, id }: JobScopeFilter): (group: JobGroup) => boolean {
  const wanted = keyText(id);
  if (of === 'root') return ({ root }) => root !== null && keyText(root) === wanted;
  if (of === 'parent') return ({ parent }) => parent !== null && keyText(parent) === wanted;
  const known = new Map<string, boolean>([[wanted, true]]);
  const isInside = (run: JobId | undefined): boolean => {
    if (run === undefined) return false;
    const name = keyText(run);
    let answer = known.get(name);
    if (answer === undefined) {
      const block = blocks.find(blockOf(run));
      answer = block !== undefined && isInside(groupOf(block, indexOf(run)).group.run?.run);
      known.set(name, answer);
    }
    return answer;
  };
  return group => isInside(group.run?.run);
}
