// Reads jobs from the store, on any thread.
import { keyAfter } from '../../../runtime/bytes.ts';
import type { Body } from '../../../runtime/host/wire/outcome.ts';
import { type BlockKey, blockOf, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { attemptsOf, latestAttempt, type NumberedAttempt } from '../records/attempts.ts';
import { type Block, findBlock, groupOf } from '../records/block.ts';
import { endOfBlocks } from '../records/list-indexes.ts';
import { type KeyText, keyText } from '../records/open.ts';
import { indexesIn, rangesOf, treeRange } from '../records/tree.ts';
import { BlockCache } from './block-cache.ts';
import { BlockJobs, type JobView } from './job-view.ts';
import { reusedJobs, Successors } from './reused-jobs.ts';

/** The job as of the last commit. Undefined: there is no job with this id. */
export function findJob(reader: Reader, id: JobId, blocks = new BlockCache(reader)): JobView | undefined {
  return locateJob(reader, id, blocks)?.job;
}

/** The plugin, the command and the parent of a job. Undefined: there is no job with this id. Only one record is read. */
export function findOrigin(
  reader: Reader,
  id: JobId,
): { readonly plugin: string; readonly command: string; readonly parent: JobId | null } | undefined {
  const block = findBlock(reader, id);
  if (!block) return undefined;
  return { plugin: block.plugin, command: block.command, parent: groupOf(block, indexOf(id)).group.parent };
}

/** The number of a root's stored descendants, counted in the first `entriesMax` entries of its tree. */
export function countDescendants(reader: Reader, root: JobId, entriesMax: number): number {
  let count = 0;
  for (const { value } of reader.scan('tree', { ...treeRange(root), limit: entriesMax })) {
    const ranges = rangesOf(value);
    for (let pair = 0; pair < ranges.length; pair += 2) count += ranges[pair + 1]! - ranges[pair]!;
  }
  return count;
}

/** The descendants of a root. Null: there are more than `jobsMax`. */
export function descendantsOf(
  reader: Reader,
  root: JobId,
  jobsMax: number,
): { readonly key: BlockKey; readonly index: number }[] | null {
  const found: { readonly key: BlockKey; readonly index: number }[] = [];
  for (const entry of reader.scan('tree', { ...treeRange(root), limit: jobsMax + 1 })) {
    const key = Buffer.from(entry.key.subarray(root.length));
    for (const index of indexesIn(rangesOf(entry.value))) found.push({ key, index });
    if (found.length > jobsMax) return null;
  }
  return found;
}

/** The body of a job's latest ended attempt, as of the last commit. Undefined: no attempt of the job has ended. */
export function findBody(reader: Reader, id: JobId): Body | undefined {
  return latestAttempt(reader, id)?.attempt.body;
}

type LocatedJob = { readonly block: Block; readonly job: JobView };

function locateJob(reader: Reader, id: JobId, blocks: BlockCache): LocatedJob | undefined {
  const ending = latestAttempt(reader, id);
  const key = blockOf(id);
  // A cached block can be used if the job has an attempt: both are pruned together.
  const block = ending ? blocks.find(key) : blocks.read(key);
  const index = indexOf(id);
  if (!block || index >= block.count) return undefined;
  return { block, job: new BlockJobs(reader, key, block).view(index, ending) };
}

/**
 * The job and all its descendants, parents before children, read on demand. Undefined: there is no such job. The caller can pause at
 * each null.
 */
export function findTree(
  reader: Reader,
  id: JobId,
  blocks = new BlockCache(reader),
): Iterable<JobView | null> | undefined {
  const place = locateJob(reader, id, blocks);
  return place && walkTree(reader, blocks, id, place);
}

function* walkTree(
  reader: Reader,
  blocks: BlockCache,
  id: JobId,
  { block, job }: LocatedJob,
): Iterable<JobView | null> {
  yield job;
  const { root } = groupOf(block, indexOf(id)).group;
  const successors = Successors.in(reader, blocks, root ?? id);
  // If the job is not the root, only the job and its descendants are listed.
  const below = root === null ? null : new DescendantFilter(blocks, id, successors);
  const shown = new Set([job.jobId]);
  if (successors) yield* reusedJobs(reader, blocks, successors, parent => below?.has(parent) ?? true, shown);
  const early = new EarlyJobs(id);
  let { from, to } = treeRange(root ?? id);
  for (;;) {
    // Reads a few blocks at a time: no scan stays open while the caller pauses.
    const entries = [...reader.scan('tree', { from, to, limit: entriesAtOnce })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(jobIdBytes));
      const members = blocks.find(key);
      const views = members ? jobsOf(reader, members, key, rangesOf(entry.value), below, early) : [];
      for (const view of views) if (view === null || !shown.has(view.jobId)) yield view;
      yield* earlyJobs(reader, blocks, early.after(key));
      yield null;
    }
    if (entries.length < entriesAtOnce) break;
    from = keyAfter(entries.at(-1)!.key);
  }
  yield* earlyJobs(reader, blocks, early.after(endOfBlocks));
}

/** Jobs of a block with one parent, from index `from` up to, not including, `to`. `parent`: the parent's block. */
type EarlyPiece = { readonly key: BlockKey; readonly from: number; readonly to: number; readonly parent: BlockKey };

/**
 * Jobs of a tree whose block is older than the block of their parent. A turn puts jobs of several runs into one block, which it may have begun
 * before it accepted some of these runs. The parent itself is never such a job: it is a run, and the block of a run is newer than the block of
 * the run's parent (run-jobs.ts).
 */
class EarlyJobs {
  readonly #top: JobId;
  #pieces: EarlyPiece[] = [];

  /** `top`: the job whose tree is listed, which comes first. */
  constructor(top: JobId) {
    this.#top = top;
  }

  /** Keeps the jobs if their parent has not been listed yet. False: it has been. */
  keep(parent: JobId | null, key: BlockKey, from: number, to: number): boolean {
    if (parent === null || Buffer.compare(parent, this.#top) === 0) return false;
    const parentKey = blockOf(parent);
    if (Buffer.compare(parentKey, key) <= 0) return false;
    this.#pieces.push({ key, from, to, parent: parentKey });
    return true;
  }

  /** Removes and returns the jobs whose parents have been listed, now that the block with this key has been. */
  after(key: BlockKey): readonly EarlyPiece[] {
    if (this.#pieces.length === 0) return [];
    const isListed = ({ parent }: EarlyPiece) => Buffer.compare(parent, key) <= 0;
    const ready = this.#pieces.filter(isListed);
    this.#pieces = this.#pieces.filter(piece => !isListed(piece));
    return ready;
  }
}

function* earlyJobs(reader: Reader, blocks: BlockCache, pieces: readonly EarlyPiece[]): Iterable<JobView | null> {
  for (const { key, from, to } of pieces) {
    const block = blocks.find(key);
    if (block) yield* jobsOf(reader, block, key, [from, to], null, null);
  }
}

/** The maximum number of entries of a tree that one scan reads. */
const entriesAtOnce = 16;
/** The maximum number of jobs whose attempts one scan reads. */
const attemptsAtOnce = 256;

function* jobsOf(
  reader: Reader,
  block: Block,
  key: BlockKey,
  ranges: readonly number[],
  below: DescendantFilter | null,
  early: EarlyJobs | null,
): Iterable<JobView | null> {
  const members = new BlockJobs(reader, key, block);
  for (let pair = 0; pair < ranges.length; pair += 2) {
    const end = ranges[pair + 1]!;
    for (let from = ranges[pair]!; from < end; ) {
      const { group, left } = groupOf(block, from);
      const to = Math.min(end, from + Math.min(left, attemptsAtOnce));
      const next = Math.min(end, from + left);
      if ((below && !below.has(group.parent)) || early?.keep(group.parent, key, from, next)) {
        from = next;
        yield null;
        continue;
      }
      const endings = attemptsOfJobs(reader, key, from, to);
      // The cached block may have been pruned since the scan, together with the attempts of its jobs.
      if (endings.size === 0 && !reader.get('blocks', key)) return;
      for (; from < to; from++) {
        const view = members.view(from, endings.get(from));
        // Drops the attempt, so that its page can be freed once all jobs of the page have been shown.
        endings.delete(from);
        yield view;
      }
    }
  }
}

/** The maximum number of jobs for which `DescendantFilter` caches a result. */
const parentsMax = 10_000;

/** Determines which jobs of a tree descend from the job `top`, by following their parents. */
class DescendantFilter {
  readonly #blocks: BlockCache;
  readonly #successors: Successors | null;
  readonly #top: KeyText;
  readonly #known = new Map<KeyText, boolean>();

  constructor(blocks: BlockCache, top: JobId, successors: Successors | null) {
    this.#blocks = blocks;
    this.#successors = successors;
    this.#top = keyText(top);
  }

  /** Whether the job is `top`, or descends from it. */
  has(job: JobId | null): boolean {
    const way: KeyText[] = [];
    let isInside = false;
    for (let at = job; at !== null; at = this.#parentOf(at)) {
      const name = keyText(at);
      const known = name === this.#top || this.#known.get(name);
      if (known !== undefined) {
        isInside = known;
        break;
      }
      way.push(name);
    }
    if (this.#known.size + way.length > parentsMax) this.#known.clear();
    for (const name of way) this.#known.set(name, isInside);
    return isInside;
  }

  #parentOf(id: JobId): JobId | null {
    const block = this.#blocks.find(blockOf(id));
    const parent = block ? groupOf(block, indexOf(id)).group.parent : null;
    // The parent of a reused job may be a run of another tree. Then this tree's rerun of that run counts as the parent.
    return parent && (this.#successors?.of(parent) ?? parent);
  }
}

/** The maximum number of jobs whose attempts are looked up one by one. For more jobs, a scan is faster. */
const singlyMax = 4;

/**
 * By index: the latest attempt of each job of the block from index `from` up to, not including, `to`. A job without an attempt has no
 * entry.
 */
export function attemptsOfJobs(reader: Reader, key: BlockKey, from: number, to: number): Map<number, NumberedAttempt> {
  const endings = new Map<number, NumberedAttempt>();
  if (to - from <= singlyMax) {
    for (let index = from; index < to; index++) {
      const ending = latestAttempt(reader, jobId(key, index));
      if (ending) endings.set(index, ending);
    }
    return endings;
  }
  for (const ending of attemptsOf(reader, key, from, to)) endings.set(ending.index, ending);
  return endings;
}

/** As `attemptsOfJobs`, for lists: attempts that cannot be decoded are left out, as if they were not stored. */
export function usableAttempts(reader: Reader, key: BlockKey, from: number, to: number): Map<number, NumberedAttempt> {
  return usableOf(from, to, (first, end) => attemptsOfJobs(reader, key, first, end));
}

/** What `read` finds for the jobs from index `from` up to, not including, `to`. If it throws, it reads job by job, and leaves jobs out. */
export function usableOf<T>(
  from: number,
  to: number,
  read: (from: number, to: number) => Map<number, T>,
): Map<number, T> {
  const all = readable(() => read(from, to));
  if (all) return all;
  const usable = new Map<number, T>();
  for (let index = from; index < to; index++) {
    const one = readable(() => read(index, index + 1).get(index));
    if (one !== undefined) usable.set(index, one);
  }
  return usable;
}
