// Runs that have lost jobs: the run is stored, but jobs inside it, or jobs that it reused, have been pruned. Such a run can no
// longer be rerun `from: failed`. A record for each such run names one of the pruned jobs.
import { type BlockKey, blockOf, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { reusedKey, writeLostJob } from '../../pipeline/records/reuse.ts';
import { type Block, groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';
import { keyText } from '../records/open.ts';
import { takersOver } from '../records/reruns.ts';
import { BlockCache, twoBlocks } from '../views/block-cache.ts';

/** Collects the runs that lose jobs in one turn. */
export class LostJobs {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  readonly #blocks: BlockCache;
  readonly #pruned = new Set<string>();
  /** By run: the run, with one of the jobs that it loses. */
  readonly #lost = new Map<string, { readonly run: JobId; readonly job: JobId }>();

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.#blocks = new BlockCache(reader, twoBlocks);
  }

  /** Records which runs lose jobs with this block. Must be called for each block that this turn prunes. */
  prune(key: BlockKey, block: Block): void {
    this.#pruned.add(keyText(key));
    const seen = new Set<string>();
    for (const [place, start] of block.starts.entries()) {
      const position = block.group(place).run;
      if (position) this.#lose(position.run, key, jobId(key, start), seen);
    }
  }

  /**
   * Records that this run loses the job. `key`: the block of the job. The runs that contain this run lose the job, too, and so do reruns of
   * this run whose trees have reused jobs of this block.
   */
  #lose(run: JobId, key: BlockKey, job: JobId, seen: Set<string>): void {
    const name = keyText(run);
    if (seen.has(name)) return;
    seen.add(name);
    const group = this.#groupOf(run);
    // If the run has been pruned, the run that called it has been pruned, too: a called run is pruned after its caller.
    if (!group) return;
    if (!this.#lost.has(name)) this.#lost.set(name, { run, job });
    for (const taker of takersOver(this.#reader, run)) {
      const root = this.#groupOf(taker)?.root ?? taker;
      if (this.#reader.peek('reused', reusedKey(root, key)) !== undefined) this.#lose(taker, key, job, seen);
    }
    if (group.run) this.#lose(group.run.run, key, job, seen);
  }

  /** The group of the run. Undefined: the run has been pruned, which is the usual case, or its block is unusable. */
  #groupOf(run: JobId): JobGroup | undefined {
    const key = blockOf(run);
    if (this.#reader.peek('blocks', key) === undefined) return undefined;
    return this.#setAside.read('blocks', key, () => groupOf(this.#blocks.find(key)!, indexOf(run)).group);
  }

  flush(batch: Batch): void {
    for (const { run, job } of this.#lost.values()) {
      if (!this.#pruned.has(keyText(blockOf(run)))) writeLostJob(batch, run, job);
    }
  }
}
