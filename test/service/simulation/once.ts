// What may exist only once, or in a limited number: runs of events with the same dedupe key, and descendants of a root.
import { pipelinePlugin } from '../../../actors/job/records/job.ts';
import { formatId } from '../../../runtime/ids.ts';
import { holds } from './broken.ts';
import type { KnownJob } from './commits.ts';

/** Keys are remembered for a day. This is less, because the clock may be set back meanwhile. */
const rememberedUs = 20 * 3_600_000_000;

/** A second event with the same dedupe key must not start a run. */
export function keysHold({ jobs }: { jobs: readonly KnownJob[] }): void {
  const seen = new Map<string, number>();
  for (const { id, plugin, command, createdUs, group } of jobs) {
    const key = group.event?.dedupeKey;
    if (plugin !== pipelinePlugin || group.run !== null || group.rerun !== null || key === null || key === undefined)
      continue;
    const name = `${command} ${key}`;
    const before = seen.get(name);
    seen.set(name, createdUs);
    const isNew = before === undefined || Math.abs(createdUs - before) > rememberedUs;
    holds(isNew, () => `the run ${id} of ${command} is started by an event with the key ${key}, which was seen before`);
  }
}

/** At most one descendant above the limit exists, and it is dead with an error that names the limit. */
export function rootsHold({ jobs, jobsPerRootMax }: { jobs: readonly KnownJob[]; jobsPerRootMax: number }): void {
  const counts = new Map<string, number>();
  for (const { group } of jobs) {
    if (group.root === null) continue;
    const root = formatId(group.root);
    const count = (counts.get(root) ?? 0) + 1;
    counts.set(root, count);
    holds(count <= jobsPerRootMax + 1, () => `${root} has ${count} descendants, and may have ${jobsPerRootMax}`);
  }
}
