// Narrows ranges of jobs down to the jobs that were accepted in a range of time, and to the jobs of a pipeline.
import { isAcceptedIn } from '../records/accepted.ts';
import { type Block, groupOf } from '../records/block.ts';
import { type JobGroup, pipelinePlugin } from '../records/job.ts';
import type { JobFilter } from './job-page.ts';
import type { JobRange } from './range-listing.ts';

/** Whether the jobs of a group are runs of the pipeline, or belong to its steps. */
export function isOfPipeline(
  pipeline: string,
  { plugin, command }: Pick<Block, 'plugin' | 'command'>,
  group: JobGroup,
): boolean {
  return (plugin === pipelinePlugin && command === pipeline) || group.pipeline === pipeline;
}

/** The parts of the ranges whose jobs match the filter's `accepted` and `pipeline`, in the order of the ranges. */
export function* narrowed(
  ranges: Iterable<JobRange | null>,
  { accepted, pipeline }: Pick<JobFilter, 'accepted' | 'pipeline'>,
): Iterable<JobRange | null> {
  for (const range of ranges) {
    const isOutside = range !== null && accepted !== undefined && !isAcceptedIn(accepted, range.key, range.block);
    if (range === null || isOutside) yield null;
    else if (pipeline === undefined) yield range;
    else yield* ofPipeline(range, pipeline);
  }
}

function* ofPipeline(range: JobRange, pipeline: string): Iterable<JobRange | null> {
  const { block, from: first } = range;
  for (let to = range.to; to > first; ) {
    const { group, offset } = groupOf(block, to - 1);
    const from = Math.max(first, to - 1 - offset);
    yield isOfPipeline(pipeline, block, group) ? { ...range, from, to } : null;
    to = from;
  }
}
