// Reads the jobs that the runs of a tree reused from other trees, and shows them as a part of this tree.
import { keyAfter } from '../../../runtime/bytes.ts';
import { blockKeyBytes, blockOf, formatId, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { reusedOf } from '../../pipeline/records/reuse.ts';
import { latestAttempt } from '../records/attempts.ts';
import { type Block, groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';
import { keyText } from '../records/open.ts';
import { takersOver } from '../records/reruns.ts';
import { rangesOf } from '../records/tree.ts';
import type { BlockCache } from './block-cache.ts';
import { BlockJobs, type JobView } from './job-view.ts';

const entriesAtOnce = 16;

/**
 * The jobs that the runs of this tree reused. Before such a job, its parent run and the ancestors of that run are listed, if their ids are
 * not in `shown`; these ids are then added to `shown`. `isBelow`: whether the wanted part of the tree contains the children of a job. The
 * caller can pause at each null.
 */
export function* reusedJobs(
  reader: Reader,
  blocks: BlockCache,
  successors: Successors,
  isBelow: (parent: JobId) => boolean,
  shown: Set<string>,
): Iterable<JobView | null> {
  let { from, to } = reusedOf(successors.root);
  for (;;) {
    const entries = [...reader.scan('reused', { from, to, limit: entriesAtOnce })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(jobIdBytes, jobIdBytes + blockKeyBytes));
      const block = blocks.read(key);
      // The block may have been pruned.
      if (!block) continue;
      const jobs = new BlockJobs(reader, key, block);
      for (const { group, first, end } of groupsIn(block, rangesOf(entry.value))) {
        const parent = group.parent && successors.of(group.parent);
        if (!parent || !isBelow(parent)) continue;
        yield* unshown(reader, blocks, successors.root, parent, shown);
        for (let index = first; index < end; index++)
          yield jobs.view(index, latestAttempt(reader, jobId(key, index)), { parent });
        yield null;
      }
    }
    yield null;
    if (entries.length < entriesAtOnce) return;
    from = keyAfter(entries.at(-1)!.key);
  }
}

/** Divides ranges of jobs into ranges of jobs that share a group. */
function* groupsIn(block: Block, ranges: readonly number[]) {
  for (let pair = 0; pair < ranges.length; pair += 2) {
    for (let first = ranges[pair]!; first < ranges[pair + 1]!; ) {
      const { group, left } = groupOf(block, first);
      const end = Math.min(first + left, ranges[pair + 1]!);
      yield { group, first, end };
      first = end;
    }
  }
}

/**
 * The run with this id, after its ancestors that are not in `shown`. Yields nothing if the run is in `shown`, is the root, or is in another
 * tree.
 */
function* unshown(reader: Reader, blocks: BlockCache, root: JobId, id: JobId, shown: Set<string>): Iterable<JobView> {
  const name = formatId(id);
  const group = groupIn(blocks, id);
  if (shown.has(name) || !group?.root || keyText(group.root) !== keyText(root)) return;
  shown.add(name);
  if (group.parent) yield* unshown(reader, blocks, root, group.parent, shown);
  const key = Buffer.from(blockOf(id));
  const block = blocks.read(key);
  if (block) yield new BlockJobs(reader, key, block).view(indexOf(id), latestAttempt(reader, id));
}

function groupIn(blocks: BlockCache, id: JobId): JobGroup | undefined {
  const block = blocks.find(blockOf(id));
  return block && groupOf(block, indexOf(id)).group;
}

/** Finds, for a run of another tree, its rerun in this tree. */
export class Successors {
  readonly root: JobId;
  readonly #reader: Reader;
  readonly #blocks: BlockCache;
  readonly #rootName: string;
  readonly #known = new Map<string, JobId>();

  /** The `Successors` of a tree. Null: no run of the tree reused a job. */
  static in(reader: Reader, blocks: BlockCache, root: JobId): Successors | null {
    // Only a rerun `from: failed` reuses jobs. A root that has been pruned may have been such a rerun.
    const top = groupIn(blocks, root);
    if (top && top.rerun?.from !== 'failed') return null;
    for (const _ of reader.keys('reused', { ...reusedOf(root), limit: 1 })) return new Successors(reader, blocks, root);
    return null;
  }

  private constructor(reader: Reader, blocks: BlockCache, root: JobId) {
    this.root = root;
    this.#reader = reader;
    this.#blocks = blocks;
    this.#rootName = keyText(root);
  }

  /** The rerun of the job in this tree, possibly a rerun of a rerun; the job itself if this tree has none. */
  of(job: JobId): JobId {
    const name = keyText(job);
    const known = this.#known.get(name);
    if (known) return known;
    const found = this.#find(job) ?? job;
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }

  /** The group of reused jobs as it would be if runs of this tree had created them. */
  groupHere(group: JobGroup): JobGroup {
    const { parent, run } = group;
    return {
      ...group,
      root: this.root,
      parent: parent && this.of(parent),
      run: run && { ...run, run: this.of(run.run) },
    };
  }

  #find(job: JobId): JobId | null {
    const waiting = [job];
    for (let at = waiting.shift(), left = examinedMax; at && left > 0; at = waiting.shift(), left--) {
      for (const rerun of takersOver(this.#reader, at)) {
        if (this.#isHere(rerun)) return rerun;
        waiting.push(rerun);
      }
    }
    return null;
  }

  #isHere(run: JobId): boolean {
    if (keyText(run) === this.#rootName) return true;
    const root = groupIn(this.#blocks, run)?.root;
    return root != null && keyText(root) === this.#rootName;
  }
}

const knownMax = 10_000;
/** The maximum number of runs whose reruns `Successors` examines to find a job's rerun in this tree. */
const examinedMax = 1000;
