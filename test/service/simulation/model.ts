// How everything must have ended: worked out from the requests and from what plugins do, by recursion over plain values, without turns,
// records or faults. The ledger must have the same on disk.
import { headgatePlugin, isHosted, pipelinePlugin, readTally } from '../../../actors/job/records/job.ts';
import { originPrefix } from '../../../actors/schedule/protocol.ts';
import { formatId } from '../../../runtime/ids.ts';
import { type Json, unpack } from '../../../runtime/packing.ts';
import { applies, type Made, masked, Naive, type Pipeline, type Step } from '../../unit/actors/pipeline/naive.ts';
import { holds } from './broken.ts';
import type { Fate } from './callers.ts';
import type { CancelModel } from './cancel-model.ts';
import { errorOf, type KnownJob, partOf } from './commits.ts';
import { nameOf } from './hosts.ts';
import { keysHold, rootsHold } from './once.ts';
import { mainMembersOf, phasesHold } from './phases.ts';
import type { Call, PluginCode } from './plugin-code.ts';
import { earlierOf, isSuccessfulJob, type Jobs, runsWhatFailed, sourceOf, without } from './taken-over.ts';
import type { Times } from './times.ts';

export type Past = {
  readonly jobs: readonly KnownJob[];
  readonly fates: ReadonlyMap<number, Fate>;
  readonly chargeable: ReadonlySet<string>;
  readonly untakeable: ReadonlySet<string>;
  /** Roots of trees with an undecodable record: these may have stopped anywhere. */
  readonly damaged: ReadonlySet<string>;
  readonly cancels: CancelModel;
  readonly times: Times;
  /** How often the tree of the job has been run again. */
  readonly againOf: (id: string) => number;
  /** The commit in which retention removed the job; null if the job is still stored. */
  readonly prunedAt: (id: string) => number | null;
  readonly code: PluginCode;
  readonly jobsPerRootMax: number;
  /** Attempts that the job may have; and whether it may be retried. */
  readonly attemptsOf: (job: KnownJob) => { readonly attemptsMax: number; readonly retrySafe: boolean };
  /** The pipelines that may have been in force at this commit: several if they may have changed in it. */
  readonly pipelinesAt: (commit: number) => readonly (readonly Pipeline[])[];
};

/** How much was compared: a comparison of nothing proves nothing. */
export type Compared = {
  jobs: number;
  runs: number;
  results: number;
  children: number;
  taken: number;
  started: number;
  /** Runs that went through a phase. */
  phases: number;
};

export function compare(whole: Past): Compared {
  const compared: Compared = { jobs: 0, runs: 0, results: 0, children: 0, taken: 0, started: 0, phases: 0 };
  answersHold(whole);
  const past = { ...whole, jobs: whole.jobs.filter(job => !whole.damaged.has(rootOf(job))) };
  for (const job of past.jobs) {
    const last = job.attempts.at(-1);
    holds(last?.final === true, () => `the job ${job.id} of ${job.plugin} has not ended`);
    if (!isHosted(job.plugin)) continue;
    jobHolds(past, job);
    compared.jobs++;
  }
  keysHold(past);
  rootsHold(past);
  const family = familyOf(whole.jobs);
  const full = fullRootsOf(past);
  for (const job of past.jobs) {
    if (job.plugin === pipelinePlugin) {
      runHolds(past, family, job, compared);
      if (phasesHold(family, generationsOf(past, family, job), job, full.has(rootOf(job)))) compared.phases++;
    }
    startsHold(past, family, job, full, compared);
  }
  return compared;
}

/** A request that was acknowledged has one job, a refused one has none, and none has two. */
function answersHold({ jobs, fates }: Past): void {
  const made = new Map<number, string>();
  for (const { id, plugin, payload, group } of jobs) {
    if (group.parent !== null || group.rerun !== null || plugin === headgatePlugin) continue;
    if (group.submittedBy.startsWith(originPrefix)) continue;
    const { n } = payload as { readonly n: number };
    const fate = fates.get(n);
    holds(!made.has(n), () => `request ${n} made ${made.get(n)} and ${id}`);
    made.set(n, id);
    holds(fate !== undefined && fate.kind !== 'refused', () => `request ${n} was refused, and made ${id}`);
    holds(
      fate?.kind !== 'accepted' || fate.id === id,
      () => `request ${n} made ${id}, and was answered ${JSON.stringify(fate)}`,
    );
  }
  for (const [n, fate] of fates) {
    holds(
      fate.kind !== 'accepted' || made.has(n),
      () => `request ${n} was acknowledged as ${(fate as { id: string }).id}, which does not exist`,
    );
  }
}

function callOf({ againOf }: Past, { id, plugin, group, payload }: KnownJob): Call {
  return { instance: plugin, stepId: group.stepId, payload, context: unpack(group.context), again: againOf(id) };
}

/** Errors of lost attempts. */
const losses = /^(?:lost while running|the service ended while the job ran|the plugin host ended while the job ran)/;
/** Errors of jobs that never ran. */
const unrun = /^(?:step ".*": with: |stopped|held since |the principal )/;
/** The error of a job whose outcome could not be handled. */
const untaken = /^the plugin's answer cannot be processed: /;

/** Each attempt ended as its plugin decides, or was lost and may be charged; no attempt may follow or be missing. */
function jobHolds(past: Past, job: KnownJob): void {
  const { code, chargeable, untakeable, attemptsOf, cancels, times } = past;
  const call = callOf(past, job);
  const { attemptsMax, retrySafe } = attemptsOf(job);
  for (const { number, status, final, body } of job.attempts) {
    const error = errorOf(body);
    const name = `attempt ${number} of ${job.id} (${job.plugin})`;
    if (status === 'cancelled') {
      const isSo = cancels.isAsked(job) || cancels.isOverdue(job);
      holds(final && isSo, () => `${name} is cancelled, and nobody asked for it`);
      continue;
    }
    if (final && status === 'timed_out' && (times.hasEnded(job) || cancels.isOverdue(job))) continue;
    if (unrun.test(error)) {
      holds(final, () => `${name} never ran, and another follows`);
      continue;
    }
    if (untaken.test(error)) {
      const isSo = final && untakeable.has(nameOf({ id: job.id, attempt: number }));
      holds(isSo, () => `${name} could have been handled: ${error}`);
      continue;
    }
    const isLost = losses.test(error);
    if (isLost)
      holds(
        chargeable.has(nameOf({ id: job.id, attempt: number })),
        () => `${name} is charged for a loss that may not be its own: ${error}`,
      );
    const act = code.act(call, number);
    if (!isLost) {
      const wanted =
        act.verdict === 'ok'
          ? 'succeeded'
          : final && number === attemptsMax && attemptsMax > 1 && !act.permanent && retrySafe
            ? 'dead'
            : act.verdict === 'timed_out'
              ? 'timed_out'
              : 'failed';
      holds(status === wanted, () => `${name} is ${status}, not ${wanted}`);
      holds(error === (act.error ?? ''), () => `${name} says "${error}", not "${act.error}"`);
      const result = partOf(body, 'result');
      holds(
        JSON.stringify(result) === JSON.stringify(act.result),
        () => `${name} has another result than its plugin gave`,
      );
    }
    const ends = (!isLost && (act.verdict === 'ok' || act.permanent)) || !retrySafe || number >= attemptsMax;
    holds(
      final === ends,
      () => `${name} is ${final ? 'the last' : 'followed by another'}, which it must ${final ? 'not be' : 'not'}`,
    );
  }
}

type Family = Jobs & {
  /** By job: the runs that its events and hooks have started. */
  readonly started: ReadonlyMap<string, readonly KnownJob[]>;
};

function familyOf(jobs: readonly KnownJob[]): Family {
  const inside = new Map<string, KnownJob[]>();
  const started = new Map<string, KnownJob[]>();
  const put = (map: Map<string, KnownJob[]>, key: string, job: KnownJob) => {
    const list = map.get(key);
    if (list) list.push(job);
    else map.set(key, [job]);
  };
  for (const job of jobs) {
    const { run, parent } = job.group;
    if (run) put(inside, formatId(run.run), job);
    else if (parent) put(started, formatId(parent), job);
  }
  return { all: new Map(jobs.map(job => [job.id, job])), inside, started };
}

function runHolds(past: Past, family: Family, run: KnownJob, compared: Compared): void {
  compared.runs++;
  runsWhatFailed(family, run);
  const last = run.attempts.at(-1)!;
  const members = [...mainMembersOf(family, run)];
  const earlier = [...earlierOf(family, run)];
  const error = errorOf(last.body);
  if (/jobs of the run .* are no longer stored/.test(error)) {
    const isSo = earlier.some(({ id }) => (past.prunedAt(id) ?? run.commit + 1) <= run.commit);
    holds(isSo, () => `the run ${run.id} misses jobs that are kept: ${error}`);
  }
  if (
    last.status === 'cancelled' ||
    last.status === 'timed_out' ||
    /stopped|no longer stored/.test(error) ||
    isStillborn(run) ||
    members.some(job => isDisturbed(past, job))
  )
    return;
  const generations = generationsOf(past, family, run);
  // Called runs use the definitions in force when they began; if these are others, nothing is compared.
  const inside = [...members, ...earlier].filter(job => job.plugin === pipelinePlugin);
  if (inside.some(job => !isSameTime(past, family, run, job))) return;
  const problems = generations.map(pipelines => problemOf(past, pipelines, run, { members, earlier }, compared));
  holds(
    problems.some(problem => problem === null),
    () => problems[0]!,
  );
}

/** The definitions that the run may use. A rerun `from: failed` uses those of the run that it repeats. */
function generationsOf(past: Past, family: Family, run: KnownJob): readonly (readonly Pipeline[])[] {
  const source = sourceOf(family, run);
  return source ? generationsOf(past, family, source) : past.pipelinesAt(run.commit);
}

function isSameTime(past: Past, family: Family, run: KnownJob, called: KnownJob): boolean {
  const then = generationsOf(past, family, run);
  const now = generationsOf(past, family, called);
  return then.length === 1 && now.length === 1 && then[0] === now[0];
}

/** Whether not only the plugin decided how the job ended: its attempts were lost, its secrets were revoked, or it was held too long. */
function isDisturbed(past: Past, job: KnownJob): boolean {
  const { status, body } = job.attempts.at(-1)!;
  const error = errorOf(body);
  if (status === 'cancelled' || past.times.hasEnded(job)) return true;
  if (status === 'timed_out' && past.cancels.isOverdue(job)) return true;
  if (job.plugin === pipelinePlugin) return /stopped|no longer stored/.test(error);
  if (isStillborn(job)) return false;
  const end = past.code.end(callOf(past, job));
  return (
    losses.test(error) ||
    unrun.test(error) ||
    untaken.test(error) ||
    (status === 'succeeded') !== (end.verdict === 'ok') ||
    status === 'dead'
  );
}

function isStillborn(job: KnownJob): boolean {
  return /^step ".*": with: /.test(errorOf(job.attempts.at(-1)!.body));
}

function problemOf(
  past: Past,
  pipelines: readonly Pipeline[],
  run: KnownJob,
  { members, earlier }: { readonly members: readonly KnownJob[]; readonly earlier: readonly KnownJob[] },
  compared: Compared,
): string | null {
  const { code } = past;
  const again = past.againOf(run.id);
  const uses = usesOf(pipelines);
  // The model must not start runs by events, because these runs are compared by themselves.
  const deaf = pipelines.map(({ on, ...rest }) => rest);
  const naive = new Naive(deaf, (stepId, payload, context) => {
    const { verdict, ...act } = code.end({ instance: uses.get(stepId)!, stepId, payload, context, again });
    return verdict === 'ok' ? act : { error: act.error ?? '' };
  });
  const expected = naive.run(run.command, run.payload as never, unpack(run.group.context));
  const { status, body } = run.attempts.at(-1)!;
  if (status !== expected.status)
    return `the run ${run.id} of ${run.command} ${status}, and should have ${expected.status}: ${errorOf(body)}`;
  compared.results++;
  if (expected.status === 'failed') return null;
  const result = JSON.stringify(masked(partOf(body, 'result') ?? null));
  const wanted = JSON.stringify(masked(expected.result));
  if (result !== wanted) return `the run ${run.id} of ${run.command} gives ${result}, and should give ${wanted}`;
  // A called run that fails stops somewhere, and the model does not say where.
  if (members.some(job => job.plugin === pipelinePlugin && job.attempts.at(-1)!.status !== 'succeeded')) return null;
  const made = members.filter(job => job.plugin !== pipelinePlugin && !isStillborn(job)).map(madeOf);
  compared.children += made.length;
  const there = sorted(made);
  const should = sorted(naive.made);
  // Jobs that the run has not made must be reused ones.
  const missing = without(should, there);
  const taken = sorted(earlier.filter(isSuccessfulJob).map(madeOf));
  if (without(there, should).length === 0 && without(missing, taken).length === 0) {
    compared.taken += missing.length;
    return null;
  }
  return `the run ${run.id} of ${run.command} has ${there.length} jobs:\n${there.join('\n')}\nand should have ${should.length}:\n${should.join('\n')}`;
}

function madeOf({ group, payload }: KnownJob): Made {
  return { step: group.stepId!, payload: masked(payload), context: masked(unpack<Json>(group.context)) };
}

function sorted(made: readonly Made[]): string[] {
  return made.map(each => JSON.stringify(each)).sort();
}

/** The plugin of each step. */
export function usesOf(pipelines: readonly Pipeline[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (steps: readonly Step[]): void => {
    for (const step of steps) {
      if (typeof step['uses'] === 'string') found.set(step.id, step['uses']);
      if (step['steps']) visit(step['steps'] as Step[]);
      for (const branch of (step['split'] ?? []) as Step[][]) visit(branch);
    }
  };
  for (const { steps } of pipelines) visit(steps);
  return found;
}

/** Roots that have reached the limit of descendants. */
function fullRootsOf({ jobs }: Past): ReadonlySet<string> {
  const cut = jobs.filter(job => /stopped: /.test(errorOf(job.attempts.at(-1)!.body)));
  return new Set(cut.map(job => rootOf(job)));
}

function rootOf({ id, group }: KnownJob): string {
  return group.root ? formatId(group.root) : id;
}

/** Each event, and each end with a hook, must have started the pipelines that wait for it, once. */
function startsHold(past: Past, family: Family, job: KnownJob, full: ReadonlySet<string>, compared: Compared): void {
  const last = job.attempts.at(-1)!;
  const events =
    last.status === 'succeeded'
      ? ((partOf(last.body, 'events') ?? []) as { type: string; payload: Json; dedupe_key?: string }[])
      : [];
  const started = family.started.get(job.id) ?? [];
  const context = unpack<Json>(job.group.context);
  // The last five pipelines, which events and hooks start, are the same in every generation.
  for (const wanted of past.pipelinesAt(job.commit)[0]!.slice(-5)) {
    const { name } = wanted;
    const fitting = events.filter(
      ({ type, payload }) => type === wanted.on && applies(wanted['if'], { payload, context } as never),
    );
    const runs = started.filter(run => run.command === name);
    const count = runs.length;
    const isHooked = 'on_hook' in wanted && hookOf(job) === wanted.on_hook;
    const most = fitting.length + (isHooked ? 1 : 0);
    if (isHooked && job.plugin === pipelinePlugin) for (const run of runs) tellingHolds(job, run);
    compared.started += count;
    holds(count <= most, () => `the job ${job.id} has started ${count} runs of ${name}, and gives reason for ${most}`);
    const isCut = full.has(rootOf(job)) || past.cancels.isDetached(job);
    const isSure = !isCut && fitting.every(event => event.dedupe_key === undefined);
    holds(
      count === most || !isSure,
      () => `the job ${job.id} has started ${count} runs of ${name}, and gives reason for ${most}`,
    );
  }
}

/** The type of hook that the end of the job starts; null if there is none. */
function hookOf({ plugin, group, attempts }: KnownJob): string | null {
  const { status } = attempts.at(-1)!;
  if (group.hooked) return null;
  const hasFailed = status === 'failed' || status === 'dead';
  if (plugin !== pipelinePlugin) return hasFailed ? 'job.failed' : null;
  // A called run reports its end to the step that called it, and starts no hook.
  if (group.run !== null) return null;
  if (status === 'cancelled' || status === 'timed_out') return null;
  return hasFailed ? 'pipeline.failed' : 'pipeline.completed';
}

/** The payload of a hook must say of the run what the run's own record says. */
function tellingHolds(ended: KnownJob, { id, payload }: KnownJob): void {
  const { status, body } = ended.attempts.at(-1)!;
  const told = payload as { readonly [name: string]: Json };
  const counts = JSON.stringify(Object.values(told['counts'] ?? {}));
  const said = [told['job_id'], told['pipeline'], told['status'], told['error'] ?? '', counts, told['submitted_by']];
  const wanted = [ended.id, ended.command, status, errorOf(body), JSON.stringify(Object.values(readTally(body) ?? {}))];
  wanted.push(ended.group.submittedBy);
  holds(JSON.stringify(said) === JSON.stringify(wanted), () => `the run ${id} was told ${said} of ${wanted}`);
}
