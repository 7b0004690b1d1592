// What the pipeline actor works on: open runs, what is to be done with them in this turn, and what it has to say.
import type { Config } from '../../config/config.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { CreateJobs, CreateRun, RunIds, SettleRun } from '../job/protocol.ts';
import type { JobGroup, TerminalStatus } from '../job/record.ts';
import type { Chain, ChainEvent } from './chain.ts';
import type { WorkStep } from './compile.ts';
import { Dedupe } from './dedupe.ts';
import { encodePlan, type FanOut } from './fanout.ts';
import { arrivalKey, encodeRun, encodeScope, listKey, loadRuns, scopeKey } from './record.ts';
import { idText, type Outer, type Run, type Scope } from './run.ts';
import { Versions } from './versions.ts';

/** Once the new jobs of a turn take so much, more follow in the next: payloads, and the copies of baggage. */
export const bytesPerTurnMax = 16 * 2 ** 20;
/** Arrivals stay in the record of their run until they take so much; then they get a value of their own. */
export const restBytesMax = 4096;
const openRunsMaxDefault = 16_384;

/** Something left to do in this turn. */
export type Task =
  /** A chain stands before a node. */
  | {
      readonly kind: 'enter';
      readonly run: Run;
      readonly scope: Scope;
      readonly node: number;
      readonly chain: Chain;
    }
  /** A run that a step had called is over. */
  | { readonly kind: 'returned'; readonly outer: Outer; readonly ending: Ending };

/** How a job of a run, or a called run, ended. */
export type Ending = {
  readonly id: JobId;
  readonly name: string;
  readonly status: TerminalStatus;
  readonly result: Uint8Array | undefined;
  readonly error: string;
  readonly depth: number;
};

/** Where new jobs stand. */
export type Stand = {
  readonly scope: number;
  readonly node: number;
  readonly path: readonly number[];
  readonly first: number | null;
  readonly cause: JobId | null;
  readonly depth: number;
  readonly event: ChainEvent;
  readonly context: Uint8Array;
};

export type DeskOptions = {
  readonly store: Reader;
  readonly config: Config;
  readonly runIds: RunIds;
  /** By default 16,384. */
  readonly openRunsMax?: number;
};

export class Desk {
  readonly reader: Reader;
  readonly runIds: RunIds;
  readonly versions = new Versions();
  readonly dedupe: Dedupe;
  readonly runs: Map<string, Run>;
  /** While so many are open, a flood of events starts no more. */
  readonly openRunsMax: number;
  readonly tasks: Task[] = [];
  /** Runs that failed and wait for their last jobs. */
  readonly failing = new Set<Run>();
  /** Runs with fan-outs that may be expanded further. */
  readonly expandable = new Set<Run>();
  /** Ids of runs that somebody waits for. */
  readonly watched = new Set<string>();
  config: Config;
  turn!: Turn;
  /** Counts turns: what was written in an earlier one has been committed. */
  turnNumber = 0;
  /** What the new jobs of this turn take. */
  bytesInTurn = 0;
  /** What lists of fan-outs take in memory. */
  listBytes = 0;
  readonly #dirty = new Set<Run>();

  constructor({ store, config, runIds, openRunsMax = openRunsMaxDefault }: DeskOptions) {
    this.reader = store;
    this.runIds = runIds;
    this.openRunsMax = openRunsMax;
    this.config = config;
    this.dedupe = new Dedupe(store);
    this.versions.load(store);
    this.versions.configure(config.pipelines);
    this.runs = loadRuns(store, this.versions);
    for (const run of this.runs.values()) {
      if (run.failure !== null) this.failing.add(run);
      if (run.fans.size > 0) this.expandable.add(run);
    }
  }

  get batch(): Batch {
    return this.turn.batch;
  }

  /** True when this is another turn than before. */
  open(turn: Turn): boolean {
    if (this.turn === turn) return false;
    this.turn = turn;
    this.turnNumber++;
    this.bytesInTurn = 0;
    this.dedupe.committed();
    return true;
  }

  touch(run: Run, scope?: Scope): void {
    this.#dirty.add(run);
    if (scope) scope.dirty = true;
  }

  /** Nothing new starts in the run from now on. The first failure counts. */
  fail(run: Run, reason: string): void {
    if (run.failure !== null || run.ended) return;
    run.failure = reason;
    this.failing.add(run);
    this.expandable.delete(run);
    this.touch(run);
  }

  /** What may wait for the next turn does. */
  get isFull(): boolean {
    return this.bytesInTurn >= bytesPerTurnMax;
  }

  tellJob(message: CreateJobs | CreateRun | SettleRun): void {
    this.turn.tell('job', message);
  }

  groupOf(run: Run, step: WorkStep, stand: Stand, isHandle: boolean): JobGroup {
    const { scope, node, path, first, cause, depth, event, context } = stand;
    return {
      submittedBy: run.submittedBy,
      parent: cause ?? run.id,
      root: run.root ?? run.id,
      depth,
      event: isHandle ? { type: event.type, source: event.source, eventId: null, dedupeKey: event.dedupeKey } : null,
      context,
      pipeline: run.version.name,
      stepId: step.id,
      run: { run: run.id, node, scope, path, first },
      hooked: run.hooked,
    };
  }

  /** Jobs of a `uses` step, side by side. */
  create(
    run: Run,
    step: Extract<WorkStep, { readonly kind: 'uses' }>,
    stand: Stand,
    payloads: readonly Uint8Array[],
    stillborn: CreateJobs['stillborn'],
  ): void {
    const { instance, command } = step;
    const group = this.groupOf(run, step, stand, command === 'handle');
    run.jobs += payloads.length;
    this.touch(run);
    this.bytesInTurn += stand.context.length;
    for (const payload of payloads) this.bytesInTurn += payload.length;
    this.tellJob({ kind: 'create', plugin: instance, command, group, payloads, stillborn });
  }

  /** Writes what changed since the last call. */
  flush(): void {
    for (const run of this.#dirty) if (!run.ended) this.#write(run);
    this.#dirty.clear();
  }

  #write(run: Run): void {
    const { batch } = this;
    if (run.failure !== null) this.dropParts(run);
    this.versions.keep(run.version, batch);
    for (const fan of run.fans.values()) this.#keepList(run, fan);
    for (const scope of run.scopes.values()) {
      if (!scope.dirty) continue;
      if (scope.rest.length > restBytesMax) this.#spill(run, scope);
      scope.dirty = false;
      if (scope.id === 0) continue;
      scope.persisted = true;
      batch.put('runs', scopeKey(run.id, scope.id), encodeScope(scope));
    }
    run.persisted = true;
    batch.put('runs', run.id, encodeRun(run));
  }

  #keepList(run: Run, fan: FanOut): void {
    if (fan.stored) return;
    fan.stored = true;
    this.batch.put('lists', listKey(run.id, fan.id), encodePlan(fan.plan!));
  }

  #spill(run: Run, scope: Scope): void {
    const value = scope.rest.take();
    const values = scope.fresh.turn === this.turnNumber ? [...scope.fresh.values, value] : [value];
    scope.fresh = { turn: this.turnNumber, values };
    this.batch.put('arrivals', arrivalKey(run.id, scope.id, scope.position, scope.stored++), value);
  }

  /** All arrivals at the next join of the scope. */
  arrivalsOf(run: Run, scope: Scope): Uint8Array[] {
    const logs: Uint8Array[] = [];
    const from = arrivalKey(run.id, scope.id, scope.position, 0);
    const to = arrivalKey(run.id, scope.id, scope.position, scope.stored);
    if (scope.stored > 0) for (const { value } of this.reader.scan('arrivals', { from, to })) logs.push(value);
    if (scope.fresh.turn === this.turnNumber) logs.push(...scope.fresh.values);
    logs.push(scope.rest.bytes());
    return logs;
  }

  dropArrivals(run: Run, scope: Scope): void {
    for (let i = 0; i < scope.stored; i++) {
      this.batch.remove('arrivals', arrivalKey(run.id, scope.id, scope.position, i));
    }
    scope.stored = 0;
    scope.rest.take();
  }

  dropScope(run: Run, scope: Scope): void {
    this.dropArrivals(run, scope);
    run.scopes.delete(scope.id);
    if (scope.persisted) this.batch.remove('runs', scopeKey(run.id, scope.id));
  }

  dropFan(run: Run, fan: FanOut): void {
    run.fans.delete(fan.id);
    if (fan.plan) this.listBytes -= fan.plan.list.length;
    if (fan.stored) this.batch.remove('lists', listKey(run.id, fan.id));
  }

  /** What a run has besides its own record. */
  dropParts(run: Run): void {
    for (const fan of run.fans.values()) this.dropFan(run, fan);
    for (const scope of run.scopes.values()) {
      if (scope.id === 0) this.dropArrivals(run, scope);
      else this.dropScope(run, scope);
    }
  }

  /** The run is over: nothing of it stays. */
  forget(run: Run): void {
    run.ended = true;
    this.dropParts(run);
    if (run.persisted) this.batch.remove('runs', run.id);
    this.runs.delete(idText(run.id));
    this.failing.delete(run);
    this.expandable.delete(run);
    this.#dirty.delete(run);
    this.versions.release(run.version, this.batch);
  }
}
