// What the pipeline actor works on: open runs, what is to be done with them in this turn, and what it has to say.

import type { Config } from '../../config/config.ts';
import { unpinned } from '../../runtime/bytes.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import { encodeParted, joinedSections, type Section } from '../../runtime/parted.ts';
import type { Sliced } from '../../runtime/slices.ts';
import { SetAside } from '../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blaming } from '../failed-record.ts';
import type { JobCalls, NewJobs } from '../job/protocol.ts';
import { cancelText } from '../job/records/cancel.ts';
import { addUnsuccessful, type JobGroup, type Unsuccessful } from '../job/records/job.ts';
import { Arrivals } from './arrivals.ts';
import type { WorkStep } from './compile.ts';
import { Dedupe } from './dedupe.ts';
import { DefinitionVersions } from './definition-versions.ts';
import { Descendants } from './descendants.ts';
import { encodePlan, type FanOut, isParked } from './fanout.ts';
import { partedBytesMin } from './join-payload.ts';
import { type Sight, stepBytesMax, wholeBytesMax } from './looks.ts';
import { type CallSite, encodeRun, encodeScope, listKey, madeKey, scopeKey } from './records/run.ts';
import { recount } from './recount.ts';
import { type FinishedRun, idText, type Run, type RunEnd, type Scope } from './run.ts';
import { Runs } from './run-cache.ts';
import type { StepPosition, Token } from './token.ts';

/** The most bytes of new jobs in a turn (payloads and copies of baggage); more follow in the next. */
export const bytesPerTurnMax = 8 * 2 ** 20;
/** A part of a value that is written over some turns. */
const partBytesMax = 2 ** 20;
/** Looks that go on over turns, and keep what they have found in memory. */
export const looksMax = 4;
/** Arrivals stay in the record of their run until they exceed this many bytes; then they get a value of their own. */
export const inlineArrivalsBytesMax = 4096;
const openRunsMaxDefault = 16_384;
/** Once the records of open runs take this many bytes, calls are refused and events wait. */
export const openRunsBytesMax = 8 * 2 ** 30;

/** Something left to do in this turn. */
export type Move =
  /** A token is at a node. */
  | {
      readonly kind: 'enter';
      readonly run: Run;
      readonly scope: Scope;
      readonly node: number;
      readonly token: Token;
      /** It has waited for this turn, under this number: the first condition that it meets is looked at now. */
      readonly waitedAs?: number;
    }
  /** A run that hooks may wait for is over. */
  | { readonly kind: 'settled'; readonly run: FinishedRun; readonly end: RunEnd }
  /** A run that a step had called is over. */
  | { readonly kind: 'returned'; readonly outer: CallSite; readonly run: FinishedRun; readonly end: RunEnd };

export type RunTableOptions = {
  readonly store: Reader;
  readonly config: Config;
  readonly jobs: JobCalls;
  /** Records that cannot be used; absent: a list of its own. */
  readonly setAside?: SetAside;
  /** While this many runs are open, events start no others; by default 16,384. */
  readonly openRunsMax?: number;
  /** Once the records of open runs take this many bytes, no run is accepted; by default 8 GiB. */
  readonly openRunsBytesMax?: number;
  /** What the runs in memory may take; by default 64 MiB. */
  readonly loadedBytesMax?: number;
  /** Gathered results that take more are not put together; by default 4 MiB. */
  readonly partedBytesMin?: number;
};

export class RunTable {
  readonly reader: Reader;
  readonly jobs: JobCalls;
  readonly setAside: SetAside;
  readonly versions = new DefinitionVersions();
  readonly dedupe: Dedupe;
  readonly runs: Runs;
  readonly descendants: Descendants;
  readonly #openRunsMax: number;
  readonly #openRunsBytesMax: number;
  readonly partedBytesMin: number;
  readonly arrivals: Arrivals;
  /** For looks that may go on in later turns. */
  readonly sight: Sight;
  /** Tokens whose looks go on, by `lookName`, at the nodes that they have come to. */
  readonly looking = new Map<string, { readonly node: number; readonly scope: number; readonly token: Token }>();
  readonly moves: Move[] = [];
  /** Runs that failed, and whose last jobs have settled in this turn. */
  readonly ending: Run[] = [];
  /** The names of runs with fan-outs that may be expanded further. */
  readonly expandable = new Set<string>();
  /** Ids of runs that callers wait for. */
  readonly awaited = new Set<string>();
  config: Config;
  turn!: Turn;
  /** A pipeline waits for the end of runs. */
  hasRunHooks = false;
  /** Counts turns: what was written in an earlier one has been committed. */
  turnNumber = 0;
  /** What the new jobs of this turn take. */
  bytesInTurn = 0;
  /** What lists of fan-outs take in memory. */
  listBytes = 0;
  readonly #dirty = new Set<Run>();

  constructor(options: RunTableOptions) {
    const { store, config, jobs, loadedBytesMax } = options;
    this.reader = store;
    this.jobs = jobs;
    this.#openRunsMax = options.openRunsMax ?? openRunsMaxDefault;
    this.#openRunsBytesMax = options.openRunsBytesMax ?? openRunsBytesMax;
    this.arrivals = new Arrivals(store);
    this.partedBytesMin = options.partedBytesMin ?? partedBytesMin;
    this.sight = {
      parts: this.arrivals.parts,
      isSpent: () => this.turn.isSpent || this.isFull,
      wholeBytesMax: Math.min(wholeBytesMax, this.partedBytesMin),
      stepBytes: Math.min(stepBytesMax, this.partedBytesMin),
    };
    this.config = config;
    this.setAside = options.setAside ?? new SetAside();
    this.descendants = new Descendants(store, () => this.config.service.jobsPerRootMax, this.setAside);
    this.dedupe = new Dedupe(store, 'dedupe');
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
    for (const key of store.keys('lists', {})) this.expandable.add(idText(key.subarray(0, jobIdBytes)));
  }

  get batch(): Batch {
    return this.turn.batch;
  }

  /** So many runs are open that events start no more: at most half of the queue is left to them. */
  get isCrowded(): boolean {
    const runsMax = Math.min(this.#openRunsMax, Math.ceil(this.config.service.queueDepthMax / 2));
    return this.versions.open.runs >= runsMax || this.isFullOfRuns;
  }

  /** The records of open runs take so much that no more are taken. */
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
  }

  /** Its pipeline is paused: its tokens go no further than the next step. */
  isPaused({ version }: Run): boolean {
    return this.jobs.pauseOf(version.name) !== null;
  }

  touch(run: Run, scope?: Scope): void {
    this.#dirty.add(run);
    if (scope) scope.dirty = true;
  }

  /** Nothing new starts in the run from now on. The first failure counts. */
  fail(run: Run, reason: string): void {
    if (run.failure !== null || run.ended) return;
    run.failure = reason;
    this.expandable.delete(run.name);
    this.touch(run);
    if (run.jobs === 0) this.ending.push(run);
  }

  /** The open run of this name. If it was cancelled, with a run around it, nothing new starts in it. */
  find(name: string): Run | undefined {
    const run = this.runs.find(name);
    const { cancels } = this.jobs;
    if (run && cancels.haveRuns && run.failure === null && cancels.around(run.id) !== null) this.cancel(run);
    return run;
  }

  /** The run, or one around it, is marked as cancelled. */
  cancel(run: Run): void {
    const { cancels } = this.jobs;
    const marked = cancels.around(run.id);
    if (marked === null || run.failure !== null) return;
    let elements = 0;
    for (const fan of run.fans.values()) if (!isParked(fan)) elements += fan.count - fan.index;
    cancels.countNotStarted(marked, 0, elements);
    this.fail(run, cancelText(cancels.of(marked)!));
  }

  /** Jobs of the run have settled, some of them without success; `inside`: that many more jobs that are part of them. */
  settled(run: Run, jobs: number, unsuccessful: Unsuccessful, inside = 0): void {
    run.jobs -= jobs;
    run.settled += jobs + inside;
    addUnsuccessful(run.unsuccessful, unsuccessful);
    this.versions.count(run.version, 0, 0, jobs + inside, 0);
    this.touch(run);
    if (run.jobs === 0 && run.failure !== null) this.ending.push(run);
  }

  /** This turn has created enough bytes of new jobs: work that can wait is left to the next one. */
  get isFull(): boolean {
    return this.bytesInTurn >= bytesPerTurnMax;
  }

  groupOf(run: Run, step: WorkStep, position: StepPosition, isHandle: boolean): JobGroup {
    const { scope, node, path, first, cause, depth, event, context } = position;
    return {
      submittedBy: run.submittedBy,
      parent: cause ?? run.id,
      root: run.root ?? run.id,
      depth,
      event: isHandle ? event : null,
      context,
      pipeline: run.version.name,
      stepId: step.id,
      run: { run: run.id, node, scope, path, first },
      hooked: run.hooked,
      rerun: null,
    };
  }

  /** Jobs of a `uses` step, side by side. */
  create(
    run: Run,
    step: Extract<WorkStep, { readonly kind: 'uses' }>,
    position: StepPosition,
    payloads: readonly Uint8Array[],
    failedAtCreation: NewJobs['failedAtCreation'],
  ): void {
    const { instance, command } = step;
    const group = this.groupOf(run, step, position, command === 'handle');
    run.jobs += payloads.length;
    this.descendants.made(run.tree, payloads.length);
    this.touch(run);
    this.bytesInTurn += position.context.length;
    for (const payload of payloads) this.bytesInTurn += payload.length;
    this.jobs.createJobs({ plugin: instance, command, group, payloads, failedAtCreation }, this.turn);
  }

  /** Writes what changed since the last call. */
  flush(): void {
    for (const run of this.#dirty) if (!run.ended) blaming({ kind: 'run', id: run.id }, () => this.#write(run));
    this.#dirty.clear();
    this.descendants.flush(this.batch);
    this.versions.flush(this.batch);
  }

  #write(run: Run): void {
    const { batch } = this;
    if (run.failure !== null) this.dropParts(run);
    this.versions.keep(run.version, batch);
    for (const fan of run.fans.values()) this.#keepList(run, fan);
    for (const scope of run.scopes.values()) {
      if (!scope.dirty) continue;
      keepOrigin(scope);
      if (scope.inlineArrivals.length > inlineArrivalsBytesMax) this.arrivals.spill(run, scope);
      scope.dirty = false;
      if (scope.id === 0) continue;
      const record = encodeScope(scope);
      batch.put('runs', scopeKey(run.id, scope.id), record);
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

  #keepList(run: Run, fan: FanOut): void {
    if (fan.stored) return;
    fan.stored = true;
    this.batch.put('lists', listKey(run.id, fan.id), encodePlan(fan.plan!));
  }

  /** Writes what is not stored of a value, a part a step; what it stands for then is named. The same token writes the same parts again. */
  *writeParts(run: Run, id: number, sections: readonly Section[]): Sliced<Uint8Array> {
    const named: Section[] = [];
    for (const section of joinedSections(sections, Math.min(partBytesMax, Math.max(64, this.partedBytesMin)))) {
      if (!(section instanceof Uint8Array)) {
        named.push(section);
        continue;
      }
      const number = named.length;
      this.arrivals.writePart(madeKey(run.id, id, number), section);
      this.bytesInTurn += section.length;
      named.push({ base: madeKey(run.id, id, 0).subarray(0, -4), at: [number, 0, section.length] });
      yield;
    }
    return encodeParted(named);
  }

  dropScope(run: Run, scope: Scope): void {
    this.arrivals.drop(run, scope);
    run.scopes.delete(scope.id);
    if (!scope.persisted) return;
    this.batch.remove('runs', scopeKey(run.id, scope.id));
    this.#countRecord(run, -1, -scope.recordBytes);
  }

  dropFan(run: Run, fan: FanOut): void {
    run.fans.delete(fan.id);
    this.looking.delete(lookName(run, fan.id));
    if (fan.plan) this.listBytes -= fan.plan.list.length;
    if (fan.stored) this.batch.remove('lists', listKey(run.id, fan.id));
  }

  /** What a run has besides its own record. */
  dropParts(run: Run): void {
    for (const fan of run.fans.values()) this.dropFan(run, fan);
    for (const scope of run.scopes.values()) {
      if (scope.id === 0) this.arrivals.drop(run, scope);
      else this.dropScope(run, scope);
    }
  }

  add(run: Run): void {
    this.versions.count(run.version, 1, 0, 0, 0);
    this.runs.add(run);
  }

  /** The run is over: nothing of it stays. */
  forget(run: Run): void {
    run.ended = true;
    this.dropParts(run);
    if (run.persisted) this.batch.remove('runs', run.id);
    this.versions.count(run.version, -1, run.persisted ? -1 : 0, -run.settled, -run.bytes);
    this.runs.remove(run);
    this.expandable.delete(run.name);
    this.#dirty.delete(run);
    this.versions.release(run.version, this.batch);
    this.descendants.close(run.tree);
  }

  /** Lists are in the store, too. */
  #releaseLists(run: Run): void {
    for (const { plan } of run.fans.values()) if (plan) this.listBytes -= plan.list.length;
  }
}

/** The name of the look of a waiting token. */
export function lookName(run: Run, id: number): string {
  return `${run.name}${id}`;
}

/** Copies the scope's origin, so that the scope does not pin the packet or block it came from. */
function keepOrigin(scope: Scope): void {
  scope.lastEqualContext = null;
  if (scope.origin === scope.kept) return;
  const { cause, context } = scope.origin;
  scope.origin = { cause: cause && unpinned(cause), context: unpinned(context) };
  scope.kept = scope.origin;
}
