// Finds jobs by their tags. Blocks that the index has processed are found in the index, and later blocks in the
// ledger's table of tagged jobs.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockKeyBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { taggedCount } from '../../job/records/tags.ts';
import { rangesOf } from '../../job/records/tree.ts';
import { blockOfTagKey, tagHash, tagKey } from '../records/tags.ts';

const keysPerScan = 64;
/** `countListed` stops when it has counted the jobs of at least this many blocks. */
const countedMax = 100_000;

/** The order in which blocks are listed. `up`: the oldest first. `down`: the newest first. */
export type Direction = 'up' | 'down';

/**
 * `ranges`: the jobs of the block that have the wanted tags, as pairs of indexes `from, to` (`to` not included). Null: unknown, so the
 * reader must examine each job.
 */
export type TaggedBlock = { readonly key: BlockKey; readonly ranges: readonly number[] | null };

/** Below every block key. */
export const startOfBlocks: BlockKey = Buffer.alloc(blockKeyBytes);

/** The indexed blocks between `from` (inclusive) and `to` (exclusive) with jobs that have all of the tags. The caller can pause at each null. */
export function* indexedBlocks(
  index: Reader<IndexTable>,
  tags: readonly string[],
  direction: Direction,
  from: BlockKey,
  to: BlockKey,
): Iterable<TaggedBlock | null> {
  const lists = tags.map(tag => blocksWith(index, tag, direction, from, to));
  const isUp = direction === 'up';
  for (let bound = isUp ? from : to, step = 1; ; step++) {
    if (step % keysPerScan === 0) yield null;
    const next = lists.map(nextBlock => nextBlock(bound)).filter(entry => entry !== undefined);
    if (next.length < lists.length) return;
    const { key } = next.reduce((a, b) => (isBefore(a.key, b.key, direction) ? b : a));
    if (next.every(entry => Buffer.compare(entry.key, key) === 0)) {
      const ranges = next.map(entry => entry.ranges).reduce(inBoth);
      if (ranges.length > 0) yield { key, ranges };
      bound = isUp ? keyAfter(key) : key;
    } else bound = isUp ? key : keyAfter(key);
  }
}

/**
 * The blocks from `from` up to, not including, `to` that have jobs with any tags, read from the ledger. The caller can pause at each
 * null.
 */
export function* listedBlocks(
  ledger: Reader,
  direction: Direction,
  from: BlockKey,
  to: BlockKey,
): Iterable<TaggedBlock | null> {
  const isUp = direction === 'up';
  for (let bound = isUp ? from : to; ; ) {
    const ends = isUp ? { from: bound, to } : { from, to: bound, reverse: true };
    const keys = Array.from(ledger.keys('tagged', { ...ends, limit: keysPerScan }), key => Buffer.from(key));
    for (const key of keys) yield { key, ranges: null };
    const last = keys.at(-1);
    if (!last || keys.length < keysPerScan) return;
    bound = isUp ? keyAfter(last) : last;
    yield null;
  }
}

/**
 * The number of jobs with tags in the blocks from `from` up to, not including, `to`. The count stops early after `countedMax`
 * blocks.
 */
export function* countListed(ledger: Reader, from: BlockKey, to: BlockKey): Sliced<number> {
  let jobs = 0;
  let blocks = 0;
  for (let bound = from; blocks < countedMax; ) {
    const range = { from: bound, to, limit: keysPerScan };
    const entries = Array.from(
      ledger.scan('tagged', range),
      ({ key, value }) => [Buffer.from(key), taggedCount(value)] as const,
    );
    for (const [, count] of entries) jobs += count;
    blocks += entries.length;
    if (entries.length < keysPerScan) break;
    bound = keyAfter(entries.at(-1)![0]);
    yield;
  }
  return jobs;
}

type IndexedBlock = { readonly key: BlockKey; readonly ranges: readonly number[] };

/**
 * Returns a function that finds the next block with jobs that have a given tag. Upwards: the first block from `bound` on. Downwards: the last
 * block below `bound`. Undefined: no block is left. The blocks are read page by page.
 */
function blocksWith(index: Reader<IndexTable>, tag: string, direction: Direction, from: BlockKey, to: BlockKey) {
  const hash = tagHash(tag);
  const isUp = direction === 'up';
  const isNext = (key: BlockKey, bound: BlockKey) => Buffer.compare(key, bound) >= 0 === isUp;
  let page: IndexedBlock[] = [];
  let at = 0;
  return (bound: BlockKey): IndexedBlock | undefined => {
    while (at < page.length && !isNext(page[at]!.key, bound)) at++;
    if (at < page.length) return page[at];
    const ends = isUp ? [bound, to] : [from, bound];
    const range = { from: tagKey(hash, ends[0]!), to: tagKey(hash, ends[1]!), reverse: !isUp, limit: keysPerScan };
    page = Array.from(index.scan('tags', range), ({ key, value }) => ({
      key: blockOfTagKey(key),
      ranges: rangesOf(value),
    }));
    at = 0;
    return page[0];
  };
}

/** Whether `a` comes before `b` in this order. */
function isBefore(a: BlockKey, b: BlockKey, direction: Direction): boolean {
  const order = Buffer.compare(a, b);
  return direction === 'up' ? order < 0 : order > 0;
}

/** The ranges in which two ascending lists of ranges overlap. */
export function inBoth(a: readonly number[], b: readonly number[]): number[] {
  const both: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const from = Math.max(a[i]!, b[j]!);
    const to = Math.min(a[i + 1]!, b[j + 1]!);
    if (from < to) both.push(from, to);
    if (a[i + 1]! < b[j + 1]!) i += 2;
    else j += 2;
  }
  return both;
}
