// Finds the jobs of a run's critical path. Most jobs are created in the turn that commits the end of the job before them. The journal then
// has this end under the time at which the later job was created. If a fan-out or a parked token had to wait, the end is in an earlier commit.
import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';
import { entriesOf, readUs, usKey } from '../records/journal.ts';
import { keyText } from '../records/open.ts';
import type { BlockCache } from './block-cache.ts';
import type { PathJob } from './critical-path.ts';
import { BlockJobs } from './job-view.ts';
import { timedJobs } from './timed-jobs.ts';
import { stepNameOf } from './timeline.ts';

/** The maximum number of commits that are searched for the job that precedes a job. */
const commitsMax = 32;
/** The maximum number of journal entries that are searched for a whole path. Beyond it, only parents are followed. */
const entriesMax = 65_536;

export class PathReader {
  readonly #reader: Reader;
  readonly #blocks: BlockCache;
  readonly #run: string;
  readonly #fromUs: number;
  #entriesLeft = entriesMax;

  /** `fromUs`: when the run began. */
  constructor(reader: Reader, blocks: BlockCache, run: JobId, fromUs: number) {
    this.#reader = reader;
    this.#blocks = blocks;
    this.#run = keyText(run);
    this.#fromUs = fromUs;
  }

  /** Whether jobs of this group belong to the run itself, not to a run inside it. */
  isOfRun({ run }: JobGroup): boolean {
    return run !== null && keyText(run.run) === this.#run;
  }

  /** An ended job of the run. Null: the job is not stored, has not ended, or does not belong to the run. */
  job(id: JobId): PathJob | null {
    const key = Buffer.from(blockOf(id));
    const block = this.#blocks.find(key);
    const index = indexOf(id);
    if (!block || index >= block.count) return null;
    const { group } = groupOf(block, index);
    if (!this.isOfRun(group)) return null;
    const { status, createdUs, startedUs, ranUs, endedUs } = timedJobs(
      new BlockJobs(this.#reader, key, block),
      key,
      index,
      index + 1,
    )[0]!;
    const name = stepNameOf(block, group);
    return endedUs === null ? null : { id: Buffer.from(id), name, status, createdUs, startedUs, ranUs, endedUs };
  }

  /**
   * The job whose end led to `job`. Null: the start of the run led to `job`.
   *
   * If the parent of `job` ended in the turn that created `job`, the result is the parent. Otherwise a join, a fan-out or a parked token
   * created `job`. The result then is the job that had ended last by that time, among the parent and its descendants. If the parent is not
   * stored, has not ended or does not belong to the run, all jobs of the run are searched. If the search finds no job or reaches a limit, the
   * result is the parent.
   */
  *before(job: PathJob): Sliced<PathJob | null> {
    const parentId = this.#parentOf(job.id);
    const parent = parentId && this.job(parentId);
    if (parent && parent.endedUs >= job.createdUs) return parent;
    const from = usKey(parent?.endedUs ?? this.#fromUs);
    // If the clock was set back, the job may have ended before the time at which it was created.
    for (let toUs = Math.min(job.createdUs, job.endedUs) + 1, commit = 0; commit < commitsMax; commit++) {
      const range = { from, to: usKey(toUs), reverse: true, limit: 1 };
      const [found] = [...this.#reader.scan('journal', range)];
      if (!found) break;
      toUs = readUs(found.key);
      for (const { id, final } of entriesOf(toUs, found.value).reverse()) {
        yield;
        if (this.#entriesLeft-- <= 0) return parent;
        if (final && this.#led(id, job, parent)) return this.job(id);
      }
    }
    return parent;
  }

  /**
   * Whether the end of the job `id` may have led to `job`: the job `id` is older than `job`, belongs to the run, and is `parent` or a
   * descendant of `parent`. If `parent` is null, any older job of the run qualifies.
   */
  #led(id: JobId, job: PathJob, parent: PathJob | null): boolean {
    const block = this.#blocks.find(blockOf(id));
    if (!block || block.createdUs === job.createdUs || indexOf(id) >= block.count) return false;
    // Only an older job can lead to `job`. The keys of blocks show which job is older even if the clock was set back.
    if (Buffer.compare(blockOf(id), blockOf(job.id)) >= 0) return false;
    if (!this.isOfRun(groupOf(block, indexOf(id)).group)) return false;
    if (parent === null) return true;
    const top = keyText(parent.id);
    for (let at: JobId | null = id; at !== null; at = this.#parentOf(at)) if (keyText(at) === top) return true;
    return false;
  }

  /** The parent of a job of the run. Null: the job is the run itself, is not stored, or does not belong to the run. */
  #parentOf(id: JobId): JobId | null {
    const block = this.#blocks.find(blockOf(id));
    if (!block || indexOf(id) >= block.count) return null;
    const { group } = groupOf(block, indexOf(id));
    return this.isOfRun(group) ? group.parent : null;
  }
}
