// Expands fan-outs, a limited number of elements in each turn, and lets parked tokens continue.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { packedNull } from '../../../runtime/packing.ts';
import { isParted } from '../../../runtime/parted.ts';
import { blaming } from '../../failed-record.ts';
import type { PauseTarget } from '../../job/records/pause.ts';
import type { WorkNode } from '../definition/compile.ts';
import { payloadAt, readEvent } from '../events/events.ts';
import { UnfinishedEvaluation } from '../expressions/evaluations.ts';
import { endTokens, failElement } from '../join/join.ts';
import { numberedKey } from '../records/run.ts';
import { groupsPerSlice } from '../reuse/reuse-index.ts';
import type { TokenReuse } from '../reuse/token-reuse.ts';
import { type Run, type Scope, workNode } from '../run.ts';
import { bytesPerTurnMax, evaluationName, type RunTable } from '../run-table.ts';
import type { Children } from '../steps/children.ts';
import { baggageFault, contextFault } from '../tokens/baggage.ts';
import { enterEvent } from '../tokens/event-tokens.ts';
import { addFan, moveBehind, parkedAt } from '../tokens/parked-token.ts';
import { PhaseTokens } from '../tokens/phase-token.ts';
import { asPayload, Packed, type Token } from '../tokens/token.ts';
import {
  decodePlan,
  type FanOut,
  type FanPlan,
  isParked,
  type ParkedPlan,
  park,
  positionOf,
  problemOf,
  takeElement,
  takePayloads,
  waitsForCommit,
} from './fanout.ts';
import { elementBytesMax, isLargeNext, makeElement } from './large-element.ts';
import { PausedRuns } from './paused-runs.ts';

/** The maximum number of children that one call of `Expansion.step` creates. */
export const childrenPerMessageMax = 1024;
/** The maximum number of children that fan-outs create in one turn. */
export const childrenPerTurnMax = 4096;
/** The fan-outs and parked tokens of a run wait while the run has about this many unsettled jobs. */
export const unsettledMax = 16_384;
/** The maximum number of events of a job that are handled before the turn's limits are checked again. */
const eventsPerStepMax = 64;
/** When lists in memory exceed this size, the stored ones are dropped from memory, and read again when they are expanded. */
const listBytesMax = 64 * 2 ** 20;

/** Reads the results, events and payloads that fan-outs do not store themselves. */
export type StoredValues = {
  readonly bodyOf: (job: JobId) => Body;
  readonly payloadOf: (run: JobId) => Uint8Array;
};

export class Expansion {
  readonly #table: RunTable;
  readonly #children: Children;
  readonly #stored: StoredValues;
  readonly #takeOver: TokenReuse;
  readonly #phases: PhaseTokens;
  /** How many children this turn has created. Each examined run that could not continue counts as one child. */
  #madeInTurn = 0;
  /** The names of runs that continue in the next turn. */
  readonly #later: string[] = [];
  /** The runs that a pause holds. They continue when the pause ends. */
  readonly #paused = new PausedRuns();

  constructor(table: RunTable, children: Children, stored: StoredValues, takeOver: TokenReuse) {
    this.#table = table;
    this.#takeOver = takeOver;
    this.#phases = new PhaseTokens(table);
    this.#children = children;
    this.#stored = stored;
  }

  /** Begins a turn: no children have been created in it yet. The runs in `#later` continue, because the writes of the previous turn can be read. */
  renew(): void {
    this.#madeInTurn = 0;
    for (const name of this.#later.splice(0)) this.#table.expandable.add(name);
    this.#trim();
  }

  get #isFull(): boolean {
    const { turn, isFull } = this.#table;
    return this.#madeInTurn >= childrenPerTurnMax || isFull || (this.#madeInTurn > 0 && turn.isSpent);
  }

  /** Whether another turn is needed. */
  get isWaiting(): boolean {
    return this.#table.expandable.size > 0 || this.#later.length > 0;
  }

  /** Parks the token at the node: `step` lets it continue. `id`: the number of the token; null: it gets a new number. */
  park(run: Run, node: number, scope: Scope, token: Token, id: number | null = null): FanOut {
    const fan = park(id ?? run.fansMade++, parkedAt(node, scope, token));
    addFan(this.#table, run, fan);
    return fan;
  }

  /** Parks a token whose evaluation (evaluations.ts) is unfinished. The work done so far stays in memory if there is room for it. */
  parkEvaluation(run: Run, node: number, scope: Scope, token: Token, id: number | null): void {
    const fan = this.park(run, node, scope, token, id);
    fan.isCrowded = this.#table.evaluating.size >= this.#table.evaluationsMax;
    if (!fan.isCrowded) this.#table.evaluating.set(evaluationName(run, fan.id), { node, scope: scope.id, token });
  }

  /** Called when these pauses have ended: the runs that they held continue. `step` stops a run again if another pause holds it. */
  release(pauses: readonly PauseTarget[]): void {
    for (const name of this.#paused.take(pauses)) this.#table.expandable.add(name);
  }

  /** Lets the fan-outs and parked tokens of the run continue if there is room for more jobs. */
  resume(run: Run): void {
    if (run.failure === null && run.fans.size > 0 && hasRoom(run)) this.#table.expandable.add(run.name);
  }

  /** Continues the next run that has fan-outs or parked tokens. False: no further run can continue in this turn. */
  step(): boolean {
    const { expandable } = this.#table;
    const name = this.#isFull ? undefined : expandable.values().next().value;
    if (name === undefined) return false;
    // The run is removed first: if it is added again, it comes after all others.
    expandable.delete(name);
    const run = this.#table.find(name);
    if (!run || run.failure !== null || this.#mustStop(run)) this.#madeInTurn++;
    else if (run.reuse?.isIndexed === false) this.#index(run);
    else if (this.#mustWait(nextFan(run))) this.#later.push(name);
    else {
      blaming({ kind: 'run', id: run.id }, () => this.#expand(run));
      this.resume(run);
    }
    return true;
  }

  /** Whether a pause holds the run, or the run has no room for more jobs. Its unfinished evaluations are then dropped from memory. */
  #mustStop(run: Run): boolean {
    if (this.#table.isPaused(run)) this.#paused.add(run);
    // A run without room continues when some of its jobs settle (`resume`).
    else if (hasRoom(run)) return false;
    this.#table.dropEvaluations(run);
    return true;
  }

  /** Indexes the jobs of the original run, as many as the turn has room for. */
  #index(run: Run): void {
    do {
      this.#madeInTurn += groupsPerSlice;
      if (!blaming({ kind: 'run', id: run.id }, () => this.#takeOver.reuse.index(run))) continue;
      this.#later.push(run.name);
      return;
    } while (!this.#isFull);
    this.#table.expandable.add(run.name);
  }

  /** Whether the fan-out must wait for the next turn: for the commit of this turn, or for room in memory for an evaluation. */
  #mustWait(fan: FanOut | undefined): boolean {
    const isCrowded = fan?.isCrowded === true && this.#table.evaluating.size >= this.#table.evaluationsMax;
    return isCrowded || waitsForCommit(fan);
  }

  #expand(run: Run): void {
    const fan = nextFan(run);
    if (fan === undefined) return;
    if (isParked(fan)) {
      this.#goOn(run, fan);
      return;
    }
    const plan = this.#planOf(run, fan);
    try {
      if ('hasEvents' in plan) this.#takeEvents(run, fan, plan);
      else this.#expandNext(run, fan, plan as FanPlan);
      moveBehind(run, fan);
    } catch (error) {
      if (!(error instanceof UnfinishedEvaluation)) throw error;
      // The evaluation continues later, from the same element: the cursor has not moved.
      this.#madeInTurn++;
    }
  }

  /** Lets a parked token enter its node. */
  #goOn(run: Run, fan: FanOut): void {
    const table = this.#table;
    const waited = table.evaluating.get(evaluationName(run, fan.id)) ?? this.#waited(run, fan);
    if (waited === null) {
      this.#madeInTurn++;
      return;
    }
    const { node, scope: number, token } = waited;
    // One large token fills the turn.
    this.#madeInTurn += token.storedAs && token.payload.stored.length > table.partedBytesMin ? childrenPerTurnMax : 1;
    table.dropFan(run, fan);
    const scope = run.scopes.get(number)!;
    // The scope of a phase begins with the depth 0; its first token has the depth of the run.
    if (token.depth > scope.depth) scope.depth = token.depth;
    table.touch(run, scope);
    table.moves.push({ kind: 'enter', run, scope, node, token, waitedAs: fan.id });
  }

  /** The parked token, with its node and scope. Null: the token begins a phase, and its payload is not complete yet. */
  #waited(run: Run, fan: FanOut): { readonly node: number; readonly scope: number; readonly token: Token } | null {
    const plan = this.#planOf(run, fan) as ParkedPlan;
    const token = plan.isPhase ? this.#phases.next(run, fan, plan) : this.#tokenOf(plan);
    return token && { node: plan.node, scope: plan.scope, token };
  }

  #tokenOf(plan: ParkedPlan): Token {
    const { path, cause, depth, event, context, list, result, isBehindJob, storedAs = 'result', isReused } = plan;
    const payload = new Packed(list, this.#table.evaluationLimits);
    return {
      path,
      payload,
      context: new Packed(context),
      event,
      depth,
      cause,
      result: result ?? list,
      storedAs: isBehindJob ? storedAs : null,
      isReused: isReused === true,
    };
  }

  /** Turns the next events of the token's cause into tokens. */
  #takeEvents(run: Run, fan: FanOut, plan: ParkedPlan): void {
    const table = this.#table;
    const scope = run.scopes.get(plan.scope)!;
    const token = this.#tokenOf(plan);
    const roomFor = Math.ceil((bytesPerTurnMax - table.bytesInTurn) / Math.max(1, plan.context.length));
    const end = Math.min(fan.count, fan.index + eventsPerStepMax, fan.index + roomFor);
    table.touch(run, scope);
    for (; fan.index < end; fan.index++) {
      const { event, end: next } = readEvent(plan.list, fan.at);
      fan.at = next;
      this.#madeInTurn++;
      const path = fan.count > 1 ? [...plan.path, fan.index] : plan.path;
      if (event && enterEvent(table, run, scope, plan.node, token, path, event, fan.index)) scope.live++;
    }
    if (fan.index < fan.count) return;
    table.dropFan(run, fan);
    endTokens(table, run, scope, 1, token.isReused);
  }

  #expandNext(run: Run, fan: FanOut, plan: FanPlan): void {
    const scope = run.scopes.get(plan.scope)!;
    const node = workNode(run, plan.node);
    const { step } = node;
    let countMax = Math.min(childrenPerMessageMax, fan.count - fan.index, childrenPerTurnMax - this.#madeInTurn);
    this.#table.touch(run, scope);
    const first = fan.index;
    if (plan.isReused) {
      const { jobs, count } = this.#takeOver.reuse.elementsFrom(run, plan, first, countMax);
      if (jobs.length > 0) {
        this.#takeOver.elements(run, scope, fan, plan, jobs);
        this.#taken(run, scope, fan, first, plan);
        return;
      }
      countMax = count;
    }
    const bytesMax = elementBytesMax(plan, this.#table);
    if (isLargeNext(plan, fan, bytesMax)) this.#makeLarge(run, scope, node, fan, plan);
    else if (plan.each) this.#makeSingles(run, scope, node, fan, plan, countMax, bytesMax);
    else {
      // Adjacent jobs share their baggage; each called run has its own copy.
      const eachBytes = plan.added.length + (step.kind === 'call' ? plan.context.length : 0);
      const roomFor = Math.ceil((bytesPerTurnMax - this.#table.bytesInTurn) / Math.max(1, eachBytes));
      const room = bytesPerTurnMax - this.#table.bytesInTurn;
      const payloads = takePayloads(fan, plan, Math.min(countMax, roomFor), room, bytesMax);
      this.#children.make(run, step, positionOf(plan, first, plan.context), payloads, problemOf(plan.missing));
    }
    scope.live += fan.index - first;
    this.#taken(run, scope, fan, first, plan);
  }

  /** Counts the elements from `first` up to the fan-out's index toward `childrenPerTurnMax`. Ends the fan-out after its last element. */
  #taken(run: Run, scope: Scope, fan: FanOut, first: number, plan: FanPlan): void {
    this.#madeInTurn += fan.index - first;
    if (run.failure !== null || fan.index < fan.count) return;
    this.#table.dropFan(run, fan);
    endTokens(this.#table, run, scope, 1, plan.isReused === true);
  }

  /**
   * Creates children whose `with` or baggage is rendered for each element. Neighbours with the same context, and with the same missing path
   * in `with` or none, are created together.
   */
  #makeSingles(
    run: Run,
    scope: Scope,
    node: WorkNode,
    fan: FanOut,
    plan: FanPlan,
    countMax: number,
    bytesMax: number,
  ): void {
    const { step } = node;
    let first = fan.index;
    let missing: string | null = null;
    let context = plan.context;
    let payloads: Uint8Array[] = [];
    let bytes = this.#table.bytesInTurn;
    const send = (): void => {
      if (payloads.length > 0)
        this.#children.make(run, step, positionOf(plan, first, context), payloads, problemOf(missing));
      first += payloads.length;
      payloads = [];
    };
    for (let k = 0; k < countMax && bytes < bytesPerTurnMax && (k === 0 || !this.#table.turn.isSpent); k++) {
      if (isLargeNext(plan, fan, bytesMax)) break;
      const single = takeElement(fan, plan);
      const fault = contextFault(step.id, single.context);
      if (fault !== null) {
        if (node.failsLate) send();
        failElement(this.#table, run, scope, node, fault);
        if (run.failure !== null) return;
        first++;
        continue;
      }
      bytes += single.payload.length;
      if (single.context !== context || step.kind === 'call') bytes += single.context.length;
      if (single.missing !== missing || single.context !== context) send();
      ({ missing, context } = single);
      payloads.push(single.payload);
    }
    send();
  }

  /** Creates the child of a large element. May throw UnfinishedEvaluation, but only before it creates the child or moves the cursor. */
  #makeLarge(run: Run, scope: Scope, node: WorkNode, fan: FanOut, plan: FanPlan): void {
    const { job, end } = makeElement(this.#table, run, fan, plan);
    if (job === null) failElement(this.#table, run, scope, node, baggageFault(node.step.id));
    else this.#children.make(run, node.step, positionOf(plan, fan.index, job.context), [job.payload], job.problem);
    fan.at = end;
    fan.index++;
  }

  #planOf(run: Run, fan: FanOut): FanPlan | ParkedPlan {
    if (fan.plan) return fan.plan;
    const bytes = this.#table.reader.get('lists', numberedKey(run.id, fan.id));
    if (!bytes) throw new Error('a fan-out has no list');
    fan.plan = this.#filled(run, decodePlan(bytes));
    this.#table.listBytes += fan.plan.list.length;
    return fan.plan;
  }

  #filled(run: Run, plan: FanPlan | ParkedPlan): FanPlan | ParkedPlan {
    if ('own' in plan) {
      return isParted(plan.list) ? { ...plan, list: this.#table.arrivals.read(plan.list), parted: plan.list } : plan;
    }
    if (!('isBehindJob' in plan)) return plan;
    if (plan.cause === null) return { ...plan, list: this.#stored.payloadOf(run.id), result: packedNull };
    const body = this.#stored.bodyOf(plan.cause);
    const result = bodyPart(body, 'result') ?? packedNull;
    if (plan.hasEvents) return { ...plan, list: bodyPart(body, 'events')!, result };
    return {
      ...plan,
      list: plan.storedAs ? payloadAt(bodyPart(body, 'events')!, plan.storedAs) : asPayload(result),
      result,
    };
  }

  /** If lists take too much memory, drops all stored lists from memory. */
  #trim(): void {
    if (this.#table.listBytes <= listBytesMax) return;
    for (const run of this.#table.runs.values()) {
      for (const fan of run.fans.values()) {
        if (!fan.stored || !fan.plan) continue;
        this.#table.listBytes -= fan.plan.list.length;
        fan.plan = null;
      }
    }
  }
}

/**
 * The fan-out with which the run continues. Parked tokens come first. Among them, tokens whose evaluations have no room in memory come
 * last, so that they do not hold up tokens whose evaluations are in memory.
 */
function nextFan({ fans, parked }: Run): FanOut | undefined {
  let crowded: FanOut | undefined;
  for (const fan of parked) {
    if (fan.isCrowded !== true) return fan;
    crowded ??= fan;
  }
  return crowded ?? fans.values().next().value;
}

function hasRoom(run: Run): boolean {
  return run.jobs <= unsettledMax - childrenPerMessageMax;
}
