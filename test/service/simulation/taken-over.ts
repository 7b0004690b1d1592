// What must hold for reruns `from: failed`: they run no job again that had succeeded, except after a job that they had to run, and they leave
// nothing out.
import { pipelinePlugin } from '../../../actors/job/records/job.ts';
import { joinEventType } from '../../../actors/pipeline/protocol.ts';
import { formatId } from '../../../runtime/ids.ts';
import { holds } from './broken.ts';
import { errorOf, type KnownJob } from './commits.ts';

export type Jobs = {
  readonly all: ReadonlyMap<string, KnownJob>;
  /** By run: the jobs and called runs that belong to it. */
  readonly inside: ReadonlyMap<string, readonly KnownJob[]>;
};

/** The run that this one repeats from its failed jobs; null if it is no such rerun. */
export function sourceOf({ all }: Jobs, { group }: KnownJob): KnownJob | null {
  return group.rerun?.from === 'failed' ? (all.get(formatId(group.rerun.of)) ?? null) : null;
}

/** All jobs from which a run can reuse: those of the run that it repeats, and of those before. */
export function* earlierOf(jobs: Jobs, run: KnownJob): Iterable<KnownJob> {
  for (let source = sourceOf(jobs, run); source; source = sourceOf(jobs, source)) yield* membersOf(jobs, source);
}

/** All jobs of a run, and of the runs that it called. */
export function* membersOf(jobs: Jobs, run: KnownJob): Iterable<KnownJob> {
  for (const job of jobs.inside.get(run.id) ?? []) {
    yield job;
    if (job.plugin === pipelinePlugin) yield* membersOf(jobs, job);
  }
}

/** No job that the rerun made may have succeeded before at the same place, unless it follows another job that the rerun made. */
export function runsWhatFailed(jobs: Jobs, run: KnownJob): void {
  const source = sourceOf(jobs, run);
  if (!source) return;
  const isMain = ({ group }: KnownJob) => group.phase === undefined;
  const earlier = new Map((jobs.inside.get(source.id) ?? []).filter(isMain).map(job => [job.place, job]));
  const made = (jobs.inside.get(run.id) ?? []).filter(isMain);
  const own = new Set(made.map(({ id }) => id));
  for (const job of made) {
    const twin = earlier.get(job.place);
    const { parent, event } = job.group;
    // A join follows several jobs, of which one that the rerun made is enough.
    const mayBeBehind = event?.type === joinEventType && made.length > 1;
    if (!twin || own.has(formatId(parent!)) || mayBeBehind) continue;
    const before = twin.attempts.at(-1)!;
    holds(!isWholeSuccess(jobs, twin), () => `${job.id} does again what ${twin.id} had done, in the run ${run.id}`);
    const isStillborn = /^(?:step ".*": with|stopped): /;
    const isFresh = job.plugin === pipelinePlugin && job.group.rerun === null;
    const mayBeFresh = isStillborn.test(errorOf(before.body)) || isStillborn.test(errorOf(job.attempts.at(-1)!.body));
    holds(!isFresh || mayBeFresh, () => `the run ${job.id} begins again, though ${twin.id} had begun`);
  }
}

/** Whether the job succeeded, and if it is a run, all its jobs too: a successful run with failed jobs is rerun. */
function isWholeSuccess(jobs: Jobs, job: KnownJob): boolean {
  const isSuccess = ({ attempts }: KnownJob) => attempts.at(-1)!.status === 'succeeded';
  return isSuccess(job) && [...membersOf(jobs, job)].every(isSuccess);
}

export function isSuccessfulJob({ plugin, attempts }: KnownJob): boolean {
  return plugin !== pipelinePlugin && attempts.at(-1)!.status === 'succeeded';
}

/** The texts of the first list for which the second one has none. */
export function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const text of others) left.set(text, (left.get(text) ?? 0) + 1);
  return texts.filter(text => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}
