// Records which jobs the runs of a tree reused: one write per turn for each block of reused jobs.
import { blockKeyBytes, blockOf, indexOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { encodeRanges, rangesOf } from '../../job/records/tree.ts';
import { reusedKey } from '../records/reuse.ts';

export class ReusedJobs {
  readonly #reader: Reader;
  /** By key of the table `reused` (root and block): the indexes of the block's jobs that this turn reused. */
  readonly #added = new Map<string, number[]>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  add(root: JobId, id: JobId): void {
    const name = Buffer.from(reusedKey(root, blockOf(id))).toString('latin1');
    const known = this.#added.get(name);
    if (known) known.push(indexOf(id));
    else this.#added.set(name, [indexOf(id)]);
  }

  flush(batch: Batch): void {
    for (const [name, indexes] of this.#added) {
      const key = Buffer.from(name, 'latin1').subarray(0, jobIdBytes + blockKeyBytes);
      const known = this.#reader.get('reused', key);
      batch.put('reused', key, encodeRanges(mergedRanges(known ? rangesOf(known) : [], indexes)));
    }
    this.#added.clear();
  }
}

/** The ranges with the indexes added, as pairs of `from` and `to` (exclusive). */
function mergedRanges(ranges: readonly number[], indexes: readonly number[]): number[] {
  const pairs: [number, number][] = indexes.map(index => [index, index + 1]);
  for (let at = 0; at < ranges.length; at += 2) pairs.push([ranges[at]!, ranges[at + 1]!]);
  pairs.sort(([a], [b]) => a - b);
  const merged: number[] = [];
  for (const [from, to] of pairs) {
    if (merged.length > 0 && from <= merged.at(-1)!) merged[merged.length - 1] = Math.max(merged.at(-1)!, to);
    else merged.push(from, to);
  }
  return merged;
}
