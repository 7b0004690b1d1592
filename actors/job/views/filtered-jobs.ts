// Makes a page of the list of jobs from given ids. The page has the jobs that match a filter and whose latest attempts pass a test.
import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { isAcceptedIn } from '../records/accepted.ts';
import { latestAttempt } from '../records/attempts.ts';
import { groupOf } from '../records/block.ts';
import { matchesCommand } from '../records/job.ts';
import { hasTags } from '../records/tags.ts';
import { BlockCache } from './block-cache.ts';
import { countedMax, type JobFilter, type JobPage, type JobRow, rowOf } from './job-page.ts';
import { BlockJobs } from './job-view.ts';
import { isOfPipeline } from './narrowed-ranges.ts';
import type { HasAttempt } from './range-listing.ts';
import { membersOf } from './tree-listing.ts';

/** The maximum number of jobs between two points at which the work can be interrupted. */
const jobsPerStep = 64;

/**
 * A page of those jobs among `ids` (newest first) that match the filter, and whose latest attempt passes `has`. If `has` is null, no
 * attempt is tested, and a job without an attempt matches, too. At each null among the ids, the work can be interrupted.
 */
export function* filterJobs(
  reader: Reader,
  filter: JobFilter,
  ids: Iterable<JobId | null>,
  has: HasAttempt | null,
  limit: number,
  before: JobId,
): Sliced<JobPage> {
  const { status, tags = [], accepted, pipeline } = filter;
  const blocks = new BlockCache(reader);
  const isInside = membersOf(blocks, filter.within);
  const rows: JobRow[] = [];
  let total = 0;
  let examined = 0;
  for (const id of ids) {
    if (id === null || ++examined % jobsPerStep === 0) yield;
    if (id === null) continue;
    const ending = readable(() => latestAttempt(reader, id));
    // A cached block can be used if the job has an attempt: both are pruned together.
    const block = ending ? blocks.findUsable(blockOf(id)) : blocks.readUsable(blockOf(id));
    if (!block || !matchesCommand(filter, block)) continue;
    if (accepted && !isAcceptedIn(accepted, blockOf(id), block)) continue;
    const { group } = groupOf(block, indexOf(id));
    if (pipeline !== undefined && !isOfPipeline(pipeline, block, group)) continue;
    if (!hasTags(group, tags) || !isInside(id, group)) continue;
    if (has && !(ending && has(ending.attempt, block))) continue;
    const view = new BlockJobs(reader, blockOf(id), block).view(indexOf(id), ending);
    if (status !== null && view.status !== status) continue;
    total++;
    if (rows.length <= limit && Buffer.compare(id, before) < 0) rows.push(rowOf(id, view));
    if (total >= countedMax && rows.length > limit)
      return { rows: rows.slice(0, limit), total: countedMax, more: true, atLeast: true };
  }
  return { rows: rows.slice(0, limit), total, more: rows.length > limit, atLeast: false };
}
