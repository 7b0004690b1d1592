// What must be so of runs that go on from what had failed in an earlier one: they run nothing again that had succeeded there, but behind
// something that they had to run, and they miss nothing.
import { pipelinePlugin } from '../../../actors/job/records/job.ts';
import { joinEventType } from '../../../actors/pipeline/protocol.ts';
import { formatId } from '../../../runtime/ids.ts';
import { holds } from './broken.ts';
import { errorOf, type KnownJob } from './commits.ts';

export type Jobs = {
  readonly all: ReadonlyMap<string, KnownJob>;
  /** By run: what stands in it, jobs and runs that its steps called. */
  readonly inside: ReadonlyMap<string, readonly KnownJob[]>;
};

/** The run that this one goes on from; null: it begins anew. */
export function sourceOf({ all }: Jobs, { group }: KnownJob): KnownJob | null {
  return group.rerun?.from === 'failed' ? (all.get(formatId(group.rerun.of)) ?? null) : null;
}

/** All that a run can take over: what had succeeded in the one that it goes on from, and in those before. */
export function* earlierOf(jobs: Jobs, run: KnownJob): Iterable<KnownJob> {
  for (let source = sourceOf(jobs, run); source; source = sourceOf(jobs, source)) yield* membersOf(jobs, source);
}

/** All that stands in a run, and in the runs that it called. */
export function* membersOf(jobs: Jobs, run: KnownJob): Iterable<KnownJob> {
  for (const job of jobs.inside.get(run.id) ?? []) {
    yield job;
    if (job.plugin === pipelinePlugin) yield* membersOf(jobs, job);
  }
}

/** Of what a run has made, nothing had succeeded at the same place before, but behind what had not. */
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
    // A join waits for several: that one of them was made is enough.
    const mayBeBehind = event?.type === joinEventType && made.length > 1;
    if (!twin || own.has(formatId(parent!)) || mayBeBehind) continue;
    const before = twin.attempts.at(-1)!;
    holds(!isWholeSuccess(jobs, twin), () => `${job.id} does again what ${twin.id} had done, in the run ${run.id}`);
    const isStillborn = /^(?:step ".*": with|stopped): /;
    const isFresh = job.plugin === pipelinePlugin && job.group.rerun === null;
    const mayBeFresh = isStillborn.test(errorOf(before.body)) || isStillborn.test(errorOf(job.attempts.at(-1)!.body));
    holds(!isFresh || mayBeFresh, () => `the run ${job.id} begins anew, though ${twin.id} had begun`);
  }
}

/** A called run that succeeded though some of its jobs failed is rerun. */
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
