// Reading jobs from the store, on any thread.
import type { Body } from '../../runtime/host/outcome.ts';
import {
  type BlockKey,
  blockKeyBytes,
  blockOf,
  indexOf,
  isOfBlock,
  type JobId,
  jobId,
  jobIdBytes,
} from '../../runtime/ids.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { attemptsOf, type Ending, latestAttempt } from './attempts.ts';
import { type Block, groupOf } from './block.ts';
import { BlockShelf } from './block-shelf.ts';
import { type JobView, Members } from './job-view.ts';

/** The job of this id, as it is committed now; undefined when there is none. */
export function findJob(reader: Reader, id: JobId, blocks = new BlockShelf(reader)): JobView | undefined {
  return findPlace(reader, id, blocks)?.job;
}

/** What the latest attempt of a job left behind, as it is committed now. */
export function findBody(reader: Reader, id: JobId): Body | undefined {
  return latestAttempt(reader, id)?.attempt.body;
}

type Place = { readonly block: Block; readonly job: JobView };

function findPlace(reader: Reader, id: JobId, blocks: BlockShelf): Place | undefined {
  const ending = latestAttempt(reader, id);
  const key = blockOf(id);
  // An attempt is pruned with its block.
  const block = ending ? blocks.find(key) : blocks.read(key);
  const index = indexOf(id);
  if (!block || index >= block.count) return undefined;
  return { block, job: new Members(reader, key, block).view(index, ending) };
}

/** The job and all its descendants, parents before children; undefined when there is no such job. Lazy: use it up at once or in pages. */
export function findTree(reader: Reader, id: JobId, blocks = new BlockShelf(reader)): Iterable<JobView> | undefined {
  const place = findPlace(reader, id, blocks);
  return place && walkTree(reader, blocks, id, place);
}

function* walkTree(reader: Reader, blocks: BlockShelf, id: JobId, { block, job }: Place): Iterable<JobView> {
  yield job;
  const { root } = groupOf(block, indexOf(id)).group;
  // Below another job of the tree: only what descends from it.
  const inside = root === null ? null : new Set([job.jobId]);
  let from: Uint8Array = root ?? id;
  const to = Buffer.concat([from, afterBlocks]);
  for (;;) {
    // A few blocks at a time: no scan stays open while the reader waits for its next page.
    const entries = [...reader.scan('tree', { from, to, limit: entriesAtOnce })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(jobIdBytes));
      // An entry of the tree is pruned with its block.
      const members = blocks.find(key);
      if (members) yield* jobsOf(reader, members, key, rangesOf(entry.value), inside);
    }
    if (entries.length < entriesAtOnce) return;
    from = Buffer.concat([entries.at(-1)!.key, Buffer.of(0)]);
  }
}

/** Above every key of a block. */
const afterBlocks = Buffer.alloc(blockKeyBytes, 0xff);
/** Entries of the tree that are read in one scan. */
const entriesAtOnce = 16;

function* jobsOf(
  reader: Reader,
  block: Block,
  key: BlockKey,
  ranges: readonly number[],
  inside: Set<string> | null,
): Iterable<JobView> {
  const members = new Members(reader, key, block);
  for (let pair = 0; pair < ranges.length; pair += 2) {
    const endings = endingsOf(reader, key, ranges[pair]!, ranges[pair + 1]!);
    for (let index = ranges[pair]!; index < ranges[pair + 1]!; index++) {
      const view = members.view(index, endings.get(index));
      // What an attempt left behind may be large: that of one job is let go before the range is over.
      endings.delete(index);
      if (inside) {
        if (view.parentJobId === null || !inside.has(view.parentJobId)) continue;
        inside.add(view.jobId);
      }
      yield view;
    }
  }
}

/** So few attempts are found faster one by one than by a scan. */
const singlyMax = 4;

/** The latest attempt of each of these jobs of a block. */
export function endingsOf(reader: Reader, key: BlockKey, from: number, to: number): Map<number, Ending> {
  const endings = new Map<number, Ending>();
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

function rangesOf(value: Uint8Array): number[] {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  const ranges: number[] = [];
  for (let at = 0; at < value.length; at += 4) ranges.push(view.getUint32(at, true));
  return ranges;
}

/** A step of a pipeline. */
export type Step = { readonly pipeline: string; readonly stepId: string };

/** Which steps of pipelines jobs are of, for whoever asks for many in the order of their ends: neighbours are often of one. */
export class Steps {
  readonly #blocks: BlockShelf;
  /** Of the jobs `from` to below `to` of this block. */
  #last:
    | { readonly block: BlockKey; readonly from: number; readonly to: number; readonly step: Step | null }
    | undefined;

  constructor(reader: Reader) {
    this.#blocks = new BlockShelf(reader);
  }

  /** The same object for neighbours. Null: of none, or the job is pruned. */
  find(id: JobId): Step | null {
    const index = indexOf(id);
    const known = this.#last;
    if (known && index >= known.from && index < known.to && isOfBlock(id, known.block)) return known.step;
    const block = this.#blocks.find(blockOf(id));
    if (!block) return null;
    const { group, offset, left } = groupOf(block, index);
    const { pipeline, stepId } = group;
    const step = pipeline === null || stepId === null ? null : { pipeline, stepId };
    this.#last = { block: Buffer.from(blockOf(id)), from: index - offset, to: index + left, step };
    return step;
  }
}
