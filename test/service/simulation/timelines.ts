// Timelines at the end of a world: each counts every job inside its run once, and its critical path covers the time of the run.
import { pipelinePlugin, statuses } from '../../../actors/job/records/job.ts';
import { keyOf, stepNameOf } from '../../../actors/job/views/timeline.ts';
import { readTimeline, type Timeline } from '../../../actors/job/views/timeline-reading.ts';
import { formatId, parseId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Commits, KnownJob } from './commits.ts';

type Past = {
  readonly store: Reader;
  readonly commits: Commits;
  readonly poison: { readonly roots: { has(root: string): boolean } };
};

export function timelinesHold({ store, commits, poison }: Past): void {
  const inside = jobsByRun(commits);
  for (const { id, plugin } of commits.jobs()) {
    const isKept = plugin === pipelinePlugin && commits.prunedAt(id) === null;
    if (!isKept || poison.roots.has(commits.rootOf(parseId(id)!))) continue;
    const timeline = whole(readTimeline(store, { id: parseId(id)!, buckets: 7, nowUs: 0 }))!;
    const jobs = inside.get(id) ?? [];
    countsHold(id, timeline, jobs);
    pathHolds(id, timeline);
  }
}

/** By run: the jobs inside it that are still stored, including those of the runs that it called. */
function jobsByRun(commits: Commits): Map<string, KnownJob[]> {
  const inside = new Map<string, KnownJob[]>();
  for (const job of commits.jobs()) {
    if (commits.prunedAt(job.id) !== null) continue;
    for (let run = job.group.run?.run; run; run = commits.find(formatId(run))?.group.run?.run) {
      const known = inside.get(formatId(run));
      if (known) known.push(job);
      else inside.set(formatId(run), [job]);
    }
  }
  return inside;
}

function countsHold(id: string, { steps }: Timeline, jobs: readonly KnownJob[]): void {
  const wanted: { [place: string]: number } = {};
  for (const job of jobs) {
    const place = `${keyOf(stepNameOf(job, job.group))} ${job.attempts.at(-1)?.status}`;
    wanted[place] = (wanted[place] ?? 0) + 1;
  }
  const told = steps.flatMap(({ name, byStatus }) =>
    statuses.flatMap(status => (byStatus[status] === 0 ? [] : [[`${keyOf(name)} ${status}`, byStatus[status]]])),
  );
  const text = (counts: readonly (readonly unknown[])[]) =>
    counts
      .map(count => count.join(' '))
      .sort()
      .join(', ');
  const [expected, found] = [text(Object.entries(wanted)), text(told)];
  holds(found === expected, () => `the timeline of ${id} counts ${found}, and there are ${expected}`);
}

function pathHolds(id: string, { time, path: { steps, isCut, gaps } }: Timeline): void {
  let at = time.fromUs;
  for (const { fromUs, toUs } of steps) {
    holds(fromUs === at, () => `the critical path of ${id} has a gap from ${at} to ${fromUs}`);
    at = toUs;
  }
  const running = steps.reduce((sum, { runningUs }) => sum + runningUs, 0);
  const sum = running + gaps.handingOutUs + gaps.waitingUs + gaps.retryingUs + gaps.commitUs;
  const us = time.toUs - time.fromUs;
  holds(isCut || sum === us, () => `the critical path of ${id} adds up to ${sum} µs, and the run took ${us}`);
}

function whole<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
