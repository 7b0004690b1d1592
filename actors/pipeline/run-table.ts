// The state of the pipeline actor: the open runs, the work left in this turn, and the writes at the end of the turn.

import type { Config } from '../../config/config.ts';
import type { Body } from '../../runtime/host/wire/outcome.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blaming } from '../failed-record.ts';
import type { JobCalls, NewJobs } from '../job/protocol.ts';
import { cancelText } from '../job/records/cancel.ts';
import { addUnsuccessful, type JobGroup, type TerminalStatus, type Unsuccessful } from '../job/records/job.ts';
import { keyText } from '../job/records/open.ts';
import { taggedWith } from '../job/records/options.ts';
import { hasExemptions } from '../job/records/pause.ts';
import type { WorkNode, WorkStep } from './definition/compile.ts';
import { DefinitionVersions } from './definition/definition-versions.ts';
import { Descendants } from './descendants.ts';
import { Dedupe } from './events/dedupe.ts';
import { type EvaluationLimits, evaluationsMax, stepBytesMax, wholeBytesMax } from './expressions/evaluations.ts';
import { encodePlan, type FanOut, isParked, type UnfinishedElement } from './fanout/fanout.ts';
import { Arrivals } from './join/arrivals.ts';
import { partedBytesMin } from './join/join-payload.ts';
import { Deadlines } from './lifecycle/deadlines.ts';
import { exemptSince } from './lifecycle/exempt-run.ts';
import { type CallSite, encodeRun, encodeScope, numberedKey } from './records/run.ts';
import { recount } from './recount.ts';
import { ReuseSources } from './reuse/reuse-sources.ts';
import { type FinishedRun, keepOrigin, pathsAround, type Run, type RunEnd, type Scope } from './run.ts';
import { Runs } from './run-cache.ts';
import type { StepPosition, Token } from './tokens/token.ts';

/** When a turn has created this many bytes (`bytesInTurn`), other work waits for the next turn. */
export const bytesPerTurnMax = 8 * 2 ** 20;
/** When the arrivals in the record of a scope exceed this size, they move to a value of the table `arrivals`. */
export const inlineArrivalsBytesMax = 4096;
const openRunsMaxDefault = 16_384;
/** At this total size of the records of open runs, no run is accepted (except delayed runs), and events wait. */
export const openRunsBytesMax = 8 * 2 ** 30;

type UsesStep = Extract<WorkStep, { readonly kind: 'uses' }>;

/** Work that must still be done in this turn. */
export type Move =
  | {
      readonly kind: 'enter';
      readonly run: Run;
      readonly scope: Scope;
      readonly node: number;
      readonly token: Token;
      /**
       * The number of the token, if it was parked. The first condition with a pattern that such a token reaches is tested even if the turn
       * has no time left, so that the token makes progress.
       */
      readonly waitedAs?: number;
    }
  /** A run has ended, and hooks may wait for it. */
  | { readonly kind: 'settled'; readonly run: FinishedRun; readonly status: TerminalStatus; readonly body: Body }
  /** A called run has ended. */
  | { readonly kind: 'returned'; readonly outer: CallSite; readonly run: FinishedRun; readonly end: RunEnd };

export type RunTableOptions = {
  readonly store: Reader;
  readonly config: Config;
  readonly jobs: JobCalls;
  /** The list of unusable records. */
  readonly setAside: SetAside;
  /** The number of open runs at which events start no further runs. Default: 16,384. */
  readonly openRunsMax?: number;
  /** The size of the records of open runs at which no run is accepted (except delayed runs). Default: 8 GiB. */
  readonly openRunsBytesMax?: number;
  /** Above this estimated total size of the runs in memory, runs are dropped from memory. Default: 64 MiB. */
  readonly loadedBytesMax?: number;
  /** The size above which a value refers to stored bytes instead of copying them. Default: 4 MiB. */
  readonly partedBytesMin?: number;
  /** The maximum number of unfinished evaluations in memory. Default: `evaluationsMax`. */
  readonly evaluationsMax?: number;
};

export class RunTable {
  readonly reader: Reader;
  readonly jobs: JobCalls;
  readonly setAside: SetAside;
  readonly versions = new DefinitionVersions();
  readonly dedupe: Dedupe;
  readonly runs: Runs;
  readonly descendants: Descendants;
  readonly deadlines: Deadlines;
  readonly sources: ReuseSources;
  readonly #openRunsMax: number;
  readonly #openRunsBytesMax: number;
  readonly partedBytesMin: number;
  readonly evaluationsMax: number;
  readonly arrivals: Arrivals;
  /** The `EvaluationLimits` of evaluations that may take several turns (evaluations.ts). */
  readonly evaluationLimits: EvaluationLimits;
  /** Tokens with an unfinished evaluation, by `evaluationName`, with their positions. */
  readonly evaluating = new Map<string, { readonly node: number; readonly scope: number; readonly token: Token }>();
  /** The large elements for which jobs are being made, by `evaluationName`. */
  readonly unfinishedElements = new Map<string, UnfinishedElement>();
  readonly moves: Move[] = [];
  /** Runs whose current part has failed and has no unsettled jobs: the part ends in this turn. */
  readonly ending: Run[] = [];
  /** The names of runs with fan-outs or parked tokens that may be able to continue. */
  readonly expandable = new Set<string>();
  config: Config;
  turn!: Turn;
  /** Whether the configuration has a hook for the end of runs. */
  hasRunHooks = false;
  /** The number of the current turn. Reads of the store show what turns with lower numbers wrote, but not what this turn has written. */
  turnNumber = 0;
  /** The size of the payloads, baggage, bodies of reused jobs, and parts of values that this turn has created. */
  bytesInTurn = 0;
  /** The size of the fan-outs' lists in memory. */
  listBytes = 0;
  readonly #dirty = new Set<Run>();

  constructor(options: RunTableOptions) {
    const { store, config, jobs, setAside, loadedBytesMax } = options;
    this.reader = store;
    this.jobs = jobs;
    this.#openRunsMax = options.openRunsMax ?? openRunsMaxDefault;
    this.#openRunsBytesMax = options.openRunsBytesMax ?? openRunsBytesMax;
    this.arrivals = new Arrivals(store);
    this.partedBytesMin = options.partedBytesMin ?? partedBytesMin;
    this.evaluationsMax = options.evaluationsMax ?? evaluationsMax;
    this.evaluationLimits = {
      parts: this.arrivals.parts,
      isSpent: () => this.turn.isSpent || this.isFull,
      wholeBytesMax: Math.min(wholeBytesMax, this.partedBytesMin),
      stepBytes: Math.min(stepBytesMax, this.partedBytesMin),
    };
    this.config = config;
    this.setAside = setAside;
    this.descendants = new Descendants(store, () => this.config.service.jobsPerRootMax, this.setAside);
    this.deadlines = new Deadlines(store, this.setAside);
    this.sources = new ReuseSources(store, this.setAside);
    this.dedupe = new Dedupe(store, 'dedupe', this.setAside);
    const isCounted = this.versions.load(store, this.setAside);
    this.versions.configure(config.pipelines);
    if (!isCounted) recount(store, this.versions, this.descendants, this.setAside);
    this.runs = new Runs({
      reader: store,
      versions: this.versions,
      descendants: this.descendants,
      setAside: this.setAside,
      onReleased: run => this.#releaseLists(run),
      ...(loadedBytesMax !== undefined && { loadedBytesMax }),
    });
    for (const key of store.keys('lists', {})) this.expandable.add(keyText(key.subarray(0, jobIdBytes)));
  }

  get batch(): Batch {
    return this.turn.batch;
  }

  /**
   * Whether events must wait to start runs. They wait if the number of open runs has reached `openRunsMax` or half of
   * `queueDepthMax`, or if the records of open runs have reached their maximum size (`isFullOfRuns`).
   */
  get isCrowded(): boolean {
    const runsMax = Math.min(this.#openRunsMax, Math.ceil(this.config.service.queueDepthMax / 2));
    return this.versions.open.runs >= runsMax || this.isFullOfRuns;
  }

  /** Whether the records of open runs have reached their maximum size: then no run is accepted, except delayed runs. */
  get isFullOfRuns(): boolean {
    return this.versions.open.bytes >= this.#openRunsBytesMax;
  }

  begin(turn: Turn): void {
    this.turn = turn;
    this.turnNumber++;
    this.bytesInTurn = 0;
    this.arrivals.renew(turn.batch, this.turnNumber);
    this.runs.renew(this.turnNumber);
    this.descendants.renew();
    this.deadlines.renew();
  }

  /** Whether a pause holds the run: its tokens stop at the next step. */
  isPaused(run: Run): boolean {
    const pause = this.jobs.pauseOf(run.version.name);
    if (pause === null || !hasExemptions(pause)) return pause !== null;
    return exemptSince(run, id => this.runs.find(keyText(id))) === null;
  }

  touch(run: Run, scope?: Scope): void {
    this.#dirty.add(run);
    if (scope) scope.dirty = true;
  }

  /** Fails the current part of the run: no more jobs start in it. If the part has failed already, it keeps its first reason. */
  fail(run: Run, reason: string): void {
    if (run.failure !== null || run.ended) return;
    run.failure = reason;
    this.expandable.delete(run.name);
    this.touch(run);
    if (run.jobs === 0) this.ending.push(run);
  }

  /** The open run with this name. If it, or a run that contains it, is cancelled, this call fails the current part of the found run. */
  find(name: string): Run | undefined {
    const run = this.runs.find(name);
    const { cancels } = this.jobs;
    if (run && cancels.haveRuns && run.failure === null && cancels.around(run.id) !== null) this.cancel(run);
    return run;
  }

  /** Fails the run's current part if the run, or a run that contains it, is cancelled. False: neither is, or the part had failed before. */
  cancel(run: Run): boolean {
    const { cancels } = this.jobs;
    const marked = cancels.around(run.id);
    if (marked === null || run.failure !== null) return false;
    let elements = 0;
    for (const fan of run.fans.values()) if (!isParked(fan)) elements += fan.count - fan.index;
    cancels.countNotStarted(marked, 0, elements);
    this.fail(run, cancelText(cancels.of(marked)!));
    return true;
  }

  /**
   * Counts jobs of the run that have settled. `inside`: the number of settled jobs inside them, if the jobs are called runs. `unsuccessful`,
   * `unstarted`: how many of all these jobs did not succeed, and how many never started.
   */
  settled(run: Run, jobs: number, unsuccessful: Unsuccessful, unstarted: number, inside = 0): void {
    run.jobs -= jobs;
    run.settled += jobs + inside;
    run.unstarted += unstarted;
    addUnsuccessful(run.unsuccessful, unsuccessful);
    this.versions.count(run.version, 0, 0, jobs + inside, 0);
    this.touch(run);
    if (run.jobs === 0 && run.failure !== null) this.ending.push(run);
  }

  /** Whether the turn has created `bytesPerTurnMax` bytes or more: other work then waits for the next turn. */
  get isFull(): boolean {
    return this.bytesInTurn >= bytesPerTurnMax;
  }

  #groupOf(run: Run, step: UsesStep, position: StepPosition): JobGroup {
    const { scope, node, path, first, cause, depth, event, context } = position;
    const { limits, phase } = run.version.compiled.nodes[node] as WorkNode;
    const place = { run: run.id, node, scope, path, first };
    return {
      submittedBy: run.submittedBy,
      parent: cause ?? run.id,
      root: run.root ?? run.id,
      depth,
      event: step.command === 'handle' ? event : null,
      context,
      pipeline: run.version.name,
      stepId: step.id,
      run: scope === 0 ? place : { ...place, within: pathsAround(run, scope) },
      hooked: run.hooked,
      rerun: null,
      options: taggedWith(run.tags),
      limits,
      phase,
    };
  }

  /** Creates adjacent jobs of a `uses` step. */
  create(
    run: Run,
    step: UsesStep,
    position: StepPosition,
    payloads: readonly Uint8Array[],
    failedAtCreation: NewJobs['failedAtCreation'],
  ): void {
    const { instance, command } = step;
    const group = this.#groupOf(run, step, position);
    run.jobs += payloads.length;
    this.descendants.made(run.tree, payloads.length);
    this.touch(run);
    this.bytesInTurn += position.context.length;
    for (const payload of payloads) this.bytesInTurn += payload.length;
    this.jobs.createJobs({ plugin: instance, command, group, payloads, failedAtCreation }, this.turn);
  }

  /** Writes the runs and counts that have changed since the last call. */
  flush(): void {
    for (const run of this.#dirty) if (!run.ended) blaming({ kind: 'run', id: run.id }, () => this.#write(run));
    this.#dirty.clear();
    this.descendants.flush(this.batch);
    this.versions.flush(this.batch);
  }

  #write(run: Run): void {
    const { batch } = this;
    if (run.failure !== null) this.dropParts(run, run.phase?.status === 'succeeded');
    this.versions.keep(run.version, batch);
    for (const fan of run.fans.values()) {
      if (fan.stored) continue;
      fan.stored = true;
      batch.put('lists', numberedKey(run.id, fan.id), encodePlan(fan.plan!));
    }
    for (const scope of run.scopes.values()) {
      if (!scope.dirty) continue;
      keepOrigin(scope);
      if (scope.inlineArrivals.length > inlineArrivalsBytesMax) this.arrivals.spill(run, scope);
      scope.dirty = false;
      if (scope.id === 0) continue;
      const record = encodeScope(scope);
      batch.put('runs', numberedKey(run.id, scope.id), record);
      this.#countRecord(run, scope.persisted ? 0 : 1, record.length - scope.recordBytes);
      scope.persisted = true;
      scope.recordBytes = record.length;
    }
    const record = encodeRun(run, run.version.hash, run.fans.values(), run.scopes.get(0)!);
    batch.put('runs', run.id, record);
    this.#countRecord(run, run.persisted ? 0 : 1, record.length - run.ownBytes);
    run.persisted = true;
    run.ownBytes = record.length;
    this.runs.weigh(run);
  }

  #countRecord(run: Run, records: number, bytes: number): void {
    if (records === 0 && bytes === 0) return;
    run.bytes += bytes;
    this.versions.count(run.version, 0, records, 0, bytes);
  }

  dropScope(run: Run, scope: Scope): void {
    this.arrivals.drop(run, scope);
    run.scopes.delete(scope.id);
    if (!scope.persisted) return;
    this.batch.remove('runs', numberedKey(run.id, scope.id));
    this.#countRecord(run, -1, -scope.recordBytes);
  }

  /** Drops the unfinished evaluations of the run from memory. */
  dropEvaluations(run: Run): void {
    for (const { id } of run.fans.values()) this.#dropEvaluation(run, id);
  }

  #dropEvaluation(run: Run, id: number): void {
    this.evaluating.delete(evaluationName(run, id));
    this.unfinishedElements.delete(evaluationName(run, id));
  }

  dropFan(run: Run, fan: FanOut): void {
    run.fans.delete(fan.id);
    run.parked.delete(fan);
    this.#dropEvaluation(run, fan.id);
    if (fan.plan) this.listBytes -= fan.plan.list.length;
    if (fan.stored) this.batch.remove('lists', numberedKey(run.id, fan.id));
  }

  /**
   * Removes the run's fan-outs and its scopes, except the main part's top scope. If `keepsResult` is false, also drops
   * the results that arrived at this scope.
   */
  dropParts(run: Run, keepsResult: boolean): void {
    for (const fan of run.fans.values()) this.dropFan(run, fan);
    for (const scope of run.scopes.values()) {
      if (scope.id !== 0) this.dropScope(run, scope);
      else if (!keepsResult) this.arrivals.drop(run, scope);
    }
  }

  add(run: Run): void {
    this.versions.count(run.version, 1, 0, 0, 0);
    this.runs.add(run);
  }

  /** Removes a run that has ended. */
  forget(run: Run): void {
    run.ended = true;
    this.dropParts(run, false);
    if (run.deadlines.length > 0) this.deadlines.set(this.batch, run, []);
    if (run.persisted) this.batch.remove('runs', run.id);
    this.versions.count(run.version, -1, run.persisted ? -1 : 0, -run.settled, -run.bytes);
    this.runs.remove(run);
    this.expandable.delete(run.name);
    this.#dirty.delete(run);
    this.versions.release(run.version, this.reader, this.turn);
    this.descendants.close(run.tree);
  }

  /** Stops counting the lists of a run that is dropped from memory. The store has the lists. */
  #releaseLists(run: Run): void {
    for (const { plan } of run.fans.values()) if (plan) this.listBytes -= plan.list.length;
  }
}

/** The key, in `evaluating` and in `unfinishedElements`, of the parked token or fan-out with this number. */
export function evaluationName(run: Run, id: number): string {
  return `${run.name}${id}`;
}
