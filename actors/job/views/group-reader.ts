// Looks up the groups of many jobs, one after another. The last group is cached, because neighbouring jobs often share a group.
import { blockOf, indexOf, isOfBlock, type JobId } from '../../../runtime/ids.ts';
import { type Block, groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';

type Found<T> = { readonly block: Uint8Array; readonly from: number; readonly to: number; readonly value: T };

/** Looks up a value derived from a job's group. Consecutive lookups for jobs of the same group return the same object. */
export class GroupReader<T> {
  readonly #read: (id: JobId) => Block | undefined;
  readonly #derive: (group: JobGroup) => T;
  #last: Found<T> | null = null;

  /** `read` finds the block of a job; undefined: the block is not stored. */
  constructor(read: (id: JobId) => Block | undefined, derive: (group: JobGroup) => T) {
    this.#read = read;
    this.#derive = derive;
  }

  /** The value for this job. Null: the job is not stored. */
  find(id: JobId): T | null {
    const index = indexOf(id);
    const known = this.#last;
    if (known && index >= known.from && index < known.to && isOfBlock(id, known.block)) return known.value;
    const block = this.#read(id);
    if (!block || index >= block.count) return null;
    const { group, offset, left } = groupOf(block, index);
    const value = this.#derive(group);
    this.#last = { block: Buffer.from(blockOf(id)), from: index - offset, to: index + left, value };
    return value;
  }
}
