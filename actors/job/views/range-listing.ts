// Makes a page of the list of jobs, and the total, from ranges of jobs: of a tree, of a pipeline, with certain tags, or accepted in a range of
// time.
import { type BlockKey, blockKeyBytes, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { StoredAttempt } from '../records/attempt.ts';
import type { Block } from '../records/block.ts';
import { matchesCommand } from '../records/job.ts';
import { type JobFilter, type JobPage, type JobRow, rowOf } from './job-page.ts';
import { BlockJobs, type ReusedJobPlace } from './job-view.ts';
import { usableAttempts } from './jobs.ts';

/** The maximum number of jobs whose attempts are read between two interruptions. */
const attemptsPerStep = 256;

/** Neighbouring jobs of a block, from index `from` up to, not including, `to`. */
export type JobRange = {
  readonly key: BlockKey;
  readonly block: Block;
  readonly from: number;
  readonly to: number;
  /** The place of reused jobs in the tree of a rerun. Null: the jobs are not shown as reused. */
  readonly takenOver: ReusedJobPlace | null;
};

/** Whether the latest attempt of a job matches. `owner`: the plugin and command of the job. */
export type HasAttempt = (attempt: StoredAttempt, owner: Pick<Block, 'plugin' | 'command'>) => boolean;

export type RangeListing = {
  readonly filter: Pick<JobFilter, 'plugin' | 'command' | 'status'>;
  /** The ranges, newest first. The work can be interrupted at each null. */
  readonly ranges: Iterable<JobRange | null>;
  /** The maximum number of rows. -1: the caller wants only the total. */
  readonly limit: number;
  /** Only jobs with smaller ids become rows. */
  readonly before: JobId;
  /** A test that the latest attempt must pass. Absent: attempts are not tested. */
  readonly has?: HasAttempt | undefined;
  /** Counting stops at this number once the page is full; the total is then a lower bound. */
  readonly countMax: number;
};

export function* listRanges(
  reader: Reader,
  { filter, ranges, limit, before, has, countMax }: RangeListing,
): Sliced<JobPage> {
  const { status } = filter;
  // Whether each job must be read to see whether it matches. Otherwise a range matches as a whole or not at all, and jobs are read only until
  // the page is full.
  const isSifted = status !== null || has !== undefined;
  const rows: JobRow[] = [];
  let total = 0;
  for (const range of ranges) {
    yield;
    if (range === null) continue;
    const { key, block, from, to, takenOver } = range;
    if (!matchesCommand(filter, block)) continue;
    if (!isSifted) total += to - from;
    const end = isSifted ? to : endBelow(key, from, to, before);
    const jobs = new BlockJobs(reader, key, block);
    for (let top = end; top > from; top -= attemptsPerStep) {
      if (rows.length > limit && (!isSifted || total >= countMax)) break;
      const bottom = Math.max(from, top - attemptsPerStep);
      const endings = usableAttempts(reader, key, bottom, top);
      for (let index = top - 1; index >= bottom; index--) {
        const ending = endings.get(index);
        if (has && !(ending && has(ending.attempt, block))) continue;
        const view = jobs.view(index, ending, takenOver);
        if (status !== null && view.status !== status) continue;
        if (isSifted) total++;
        const id = jobId(key, index);
        if (rows.length <= limit && Buffer.compare(id, before) < 0) rows.push(rowOf(id, view));
      }
      yield;
    }
    if (total >= countMax && rows.length > limit)
      return { rows: rows.slice(0, limit), total: countMax, more: true, atLeast: true };
  }
  return { rows: rows.slice(0, Math.max(0, limit)), total, more: rows.length > limit, atLeast: false };
}

/** The index after the last job of the range whose id is below `before`; `from` if there is none. */
function endBelow(key: BlockKey, from: number, to: number, before: JobId): number {
  const order = Buffer.compare(key, Buffer.from(before.buffer, before.byteOffset, blockKeyBytes));
  if (order !== 0) return order < 0 ? to : from;
  return Math.max(from, Math.min(to, indexOf(before)));
}
