// What must hold for the phases and deadlines of runs, whatever fails.
import { pipelinePlugin, readPhaseError } from '../../../actors/job/records/job.ts';
import { readUs } from '../../../actors/job/records/journal.ts';
import { readRunDeadlineKey } from '../../../actors/pipeline/records/run-deadline.ts';
import { blockKeyBytes, blockOf, formatId, jobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Pipeline, Step } from '../../unit/actors/pipeline/naive.ts';
import { holds } from './broken.ts';
import { type Commits, errorOf, type KnownJob } from './commits.ts';
import type { Poison } from './poison.ts';
import type { Authored } from './setup.ts';
import type { Jobs } from './taken-over.ts';

type Generations = readonly (readonly Pipeline[])[];

/** Whether the run, its phases, or the step that called it may have a time limit. `inForce`: the definitions at each commit. */
export function isLimited(commits: Commits, inForce: { at(commit: number): Generations }, run: KnownJob): boolean {
  const { plugin, command, group } = run;
  if (plugin !== pipelinePlugin) return false;
  if (group.options?.deadlineMs !== undefined) return true;
  const caller = group.run && commits.find(formatId(group.run.run))!;
  const isTimed = (pipeline: Pipeline) => callsInTime(allSteps(pipeline as Authored), command);
  if (caller && inForce.at(firstOf(commits, caller).commit).some(pipelines => pipelines.some(isTimed))) return true;
  return inForce.at(firstOf(commits, run).commit).some(pipelines => {
    const { deadline, on_failure, finally: last } = definitionOf(pipelines, command) ?? {};
    return deadline !== undefined || on_failure !== undefined || last !== undefined;
  });
}

/** The run whose definition this one uses: for a rerun `from: failed`, the first run that it repeats. */
function firstOf(commits: Commits, run: KnownJob): KnownJob {
  const { rerun } = run.group;
  const source = rerun?.from === 'failed' ? commits.find(formatId(rerun.of)) : undefined;
  return source ? firstOf(commits, source) : run;
}

/** The steps of the main part and of the phases. */
function allSteps({ steps, on_failure = [], finally: last = [] }: Authored): readonly Step[] {
  return [...steps, ...on_failure, ...last];
}

/** Whether one of the steps calls the pipeline with a timeout. */
function callsInTime(steps: readonly Step[], pipeline: string): boolean {
  return steps.some(step => {
    if (step['call'] === pipeline && step['timeout'] !== undefined) return true;
    const inner = [...((step['steps'] ?? []) as Step[]), ...((step['split'] ?? []) as Step[][]).flat()];
    return callsInTime(inner, pipeline);
  });
}

function definitionOf(pipelines: readonly Pipeline[], name: string): Authored | undefined {
  return pipelines.find(pipeline => pipeline.name === name) as Authored | undefined;
}

/** Between turns, an alarm must be set no later than the first timer and the first deadline, except those of undecodable records. */
export function deadlinesHold(
  store: Reader,
  alarmUs: number | null,
  commits: Commits,
  poison: Pick<Poison, 'has' | 'roots'>,
): void {
  for (const key of store.keys('timers', {})) {
    const id = jobId(key.subarray(9, 9 + blockKeyBytes), 0);
    if (poison.has('open', blockOf(id))) continue;
    const isAwaited = alarmUs !== null && alarmUs <= readUs(key);
    holds(isAwaited, () => `nobody comes back for the timer of ${formatId(id)} at ${readUs(key)}`);
    break;
  }
  for (const key of store.keys('run_deadlines', {})) {
    const { run, deadline } = readRunDeadlineKey(key)!;
    if (poison.roots.has(commits.rootOf(run))) continue;
    const isAwaited = alarmUs !== null && alarmUs <= deadline[0];
    holds(isAwaited, () => `nobody comes back to stop the run ${formatId(run)} at ${deadline[0]}`);
    return;
  }
}

/** The jobs of a run's main part, and of those of the runs that it called. */
export function* mainMembersOf(jobs: Jobs, run: KnownJob): Iterable<KnownJob> {
  for (const job of jobs.inside.get(run.id) ?? []) {
    if (job.group.phase !== undefined) continue;
    yield job;
    if (job.plugin === pipelinePlugin) yield* mainMembersOf(jobs, job);
  }
}

/** Checks that each phase of the run began at most once, when it should, and after the one before. Returns whether it had any. */
export function phasesHold(jobs: Jobs, generations: Generations, run: KnownJob, isCut: boolean): boolean {
  const inside = jobs.inside.get(run.id) ?? [];
  const last = run.attempts.at(-1)!;
  const error = `${errorOf(last.body)} ${readPhaseError(last.body) ?? ''}`;
  const hasStarted = [...mainMembersOf(jobs, run)].some(
    job => job.plugin !== pipelinePlugin && job.attempts.some(({ number }) => number > 0),
  );
  const [definition, ...others] = generations.map(pipelines => definitionOf(pipelines, run.command));
  const begun = (['on_failure', 'finally'] as const).map(phase => {
    const own = inside.filter(job => job.group.phase === phase);
    const steps = definition?.[phase];
    const first = own.filter(job => job.group.stepId === `${run.command}${phase === 'finally' ? 'f' : 'x'}0`);
    const places = new Set(first.map(({ place }) => place));
    holds(places.size === first.length, () => `the run ${run.id} has gone through ${phase} more than once`);
    holds(own.length === 0 || hasStarted, () => `no job of the run ${run.id} has started, and ${phase} has begun`);
    // With several possible definitions, or a full tree, a missing phase is no fault; nor is it if its `foreach` may have no elements.
    const isSure = others.length === 0 && !isCut && !/cannot continue|stopped|no longer stored/.test(error);
    const isOver = error.includes(`${phase}: took longer than`) || error.includes(`${phase}: cancelled by`);
    const isDue = phase === 'finally' || (last.status === 'failed' && run.group.run === null);
    const isMissing = steps !== undefined && hasStarted && isDue && own.length === 0;
    const mayBeEmpty = steps?.[0]?.['foreach'] !== undefined;
    holds(
      !isSure || !isMissing || mayBeEmpty || isOver,
      () => `the run ${run.id} (${last.status}) has left out ${phase}`,
    );
    if (phase === 'on_failure') holds(own.length === 0 || last.status !== 'succeeded', () => `${run.id} succeeded`);
    return own.length > 0;
  });
  return begun.includes(true);
}
