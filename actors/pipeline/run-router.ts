// Moves tokens from node to node: when a run begins, when jobs settle, and when parked tokens continue.

import { instanceNamed } from '../../config/config.ts';
import type { Condition } from '../../config/pipeline/definition.ts';
import { type Body, bodyPart } from '../../runtime/host/wire/outcome.ts';
import { formatId } from '../../runtime/ids.ts';
import { type Json, pack, packedNull } from '../../runtime/packing.ts';
import { isParted } from '../../runtime/parted.ts';
import { listCount } from '../../runtime/splice.ts';
import { blaming } from '../failed-record.ts';
import type { JobsSettled, SettledJob } from '../job/protocol.ts';
import { cancelText } from '../job/records/cancel.ts';
import { addUnsuccessful, pipelinePlugin, type TerminalStatus, unsuccessfulOf } from '../job/records/job.ts';
import { keyText } from '../job/records/open.ts';
import type { CompiledPipeline, Node, WorkNode } from './definition/compile.ts';
import { DeferredEvents } from './events/deferred-events.ts';
import type { Emitted } from './events/events.ts';
import type { FindAncestor } from './events/hops.ts';
import { eventsOf, inflated, type JobEvents } from './events/job-events.ts';
import { Signals } from './events/signals.ts';
import { Triggers } from './events/triggers.ts';
import { holds, isLong } from './expressions/condition.ts';
import { UnfinishedEvaluation } from './expressions/evaluations.ts';
import { Expansion, type StoredValues } from './fanout/expansion.ts';
import { beginFanOut } from './fanout/fanout.ts';
import { arriveAtJoin, endTokens, failToken, markFork } from './join/join.ts';
import { endPart, noteFailures, type PartEnd } from './lifecycle/phases.ts';
import { finishRun, succeededWith } from './lifecycle/run-end.ts';
import { Reuse } from './reuse/reuse.ts';
import { type ReusedJob, TokenReuse } from './reuse/token-reuse.ts';
import { type FinishedRun, openScope, type Run, type Scope } from './run.ts';
import type { Move, RunTable } from './run-table.ts';
import { Children } from './steps/children.ts';
import { StepStarter } from './steps/step-starter.ts';
import { enterEvent } from './tokens/event-tokens.ts';
import { addFan, parkedBeforeEvents } from './tokens/parked-token.ts';
import { asPayload, dataOf, movedTo, Packed, type Token } from './tokens/token.ts';

/** The position of a token, and its number (`PartNumber`). */
type Place = { node: number; scope: Scope; token: Token; id: number | null };

export class RunRouter {
  readonly #table: RunTable;
  readonly #starter: StepStarter;
  readonly #signals: Signals;
  readonly triggers: Triggers;
  readonly expansion: Expansion;
  readonly deferred: DeferredEvents;
  readonly reuse: Reuse;

  constructor(table: RunTable, ancestor: FindAncestor, stored: StoredValues) {
    this.#table = table;
    this.reuse = new Reuse(table);
    const children = new Children(table, this.reuse, ancestor);
    const takeOver = new TokenReuse(table, this.reuse, (run, scope, job) => this.#takenOver(run, scope, job));
    this.triggers = new Triggers(table, children);
    this.expansion = new Expansion(table, children, stored, takeOver);
    this.#starter = new StepStarter(table, children, takeOver);
    this.deferred = new DeferredEvents(table, this.triggers, stored.bodyOf);
    this.#signals = new Signals(this.triggers, this.deferred);
  }

  /**
   * Handles settled jobs of one group: their hooks and events start runs, and the tokens of the run that created the
   * jobs continue.
   */
  settled(message: JobsSettled): void {
    const position = message.group.run;
    const run = position && this.#table.find(keyText(position.run));
    if (run) blaming({ kind: 'run', id: run.id }, () => this.#settled(message, run));
    else this.#settled(message, null);
  }

  #settled(message: JobsSettled, run: Run | null): void {
    const { group, jobs } = message;
    const node = run?.version.compiled.nodes[group.run!.node];
    if (run) this.#count(run, group.run!.node, jobs);
    for (const settled of jobs) {
      if (!settled.isSilent) this.#signals.jobEnded(settled, message);
      // Only the run that created the job, and pipelines that events start, need the inflated body.
      if (!run && !this.triggers.hasEvents) continue;
      const job = inflated(settled);
      const events = eventsOf(job, group.context, this.#table.partedBytesMin);
      if (events === null || events.length > 0) this.#signals.emitted(job, events, message);
      if (run && node?.kind === 'work') this.#jobEnded(run, node, job, events, message);
    }
    if (run) this.expansion.resume(run);
  }

  #count(run: Run, node: number, jobs: readonly SettledJob[]): void {
    const unsuccessful = unsuccessfulOf(jobs);
    const { failed, timed_out, dead, cancelled } = unsuccessful;
    const isClean = failed + timed_out + dead + cancelled === 0;
    this.#table.settled(run, jobs.length, unsuccessful, isClean ? 0 : jobs.filter(job => job.neverStarted).length);
    if (!isClean) noteFailures(run, node, jobs);
  }

  /** Performs all pending moves of this turn. If the current part of a run has failed and its jobs have settled, ends the part. */
  drain(): void {
    const { moves, ending } = this.#table;
    while (moves.length > 0 || ending.length > 0) {
      for (let i = 0; i < moves.length; i++) this.#perform(moves[i]!);
      moves.length = 0;
      // A phase may have begun since the run was added to `ending`.
      for (const run of ending.splice(0))
        if (!run.ended && run.failure !== null)
          blaming({ kind: 'run', id: run.id }, () => endPart(this.#table, run, this.#partEnd(run)));
    }
  }

  /** The end of the current part of a failed or stopped run. */
  #partEnd(run: Run): PartEnd {
    const { cancels } = this.#table.jobs;
    const failure = run.failure!;
    const marked = cancels.haveRuns ? cancels.around(run.id) : null;
    const cancel = marked && cancels.of(marked);
    // If the part had failed before the deadline passed, it counts as failed.
    if (!marked || !cancel || (cancel.timeout && failure !== cancelText(cancel)))
      return { status: 'failed', error: failure, isInside: false };
    const status = cancel.timeout ? 'timed_out' : 'cancelled';
    return { status, error: cancelText(cancel), isInside: keyText(marked) !== run.name };
  }

  #perform(move: Move): void {
    if (move.kind === 'settled') {
      this.#signals.runEnded(move.run, move.status, move.body);
      return;
    }
    const run = move.kind === 'enter' ? move.run : this.#table.find(keyText(move.outer.run));
    // The run may have ended since the move was added.
    if (!run || run.ended) return;
    blaming({ kind: 'run', id: run.id }, () => {
      if (move.kind === 'returned') this.#returned(run, move);
      else if (run.failure === null) this.#enter(run, move.scope, move.node, move.token, move.waitedAs ?? null);
    });
  }

  /** Moves the token on, or parks it if it must wait. */
  #enter(run: Run, at: Scope, number: number, entering: Token, waitedAs: number | null): void {
    const place = { node: number, scope: at, token: entering, id: waitedAs };
    this.#table.touch(run, at);
    try {
      if (waitedAs === null && this.#mustWait(run, entering)) this.expansion.park(run, number, at, entering);
      else this.#goFrom(run, place, waitedAs !== null);
    } catch (error) {
      if (!(error instanceof UnfinishedEvaluation)) throw error;
      this.expansion.parkEvaluation(run, place.node, place.scope, place.token, place.id);
    }
  }

  #mustWait(run: Run, token: Token): boolean {
    if (this.#isWritten(token)) return true;
    // In a full turn, a token waits if the store has its large payload: parking such a token does not write the payload again.
    if (token.storedAs !== null && token.payload.isLarge && this.#table.isFull) return true;
    // A token that has passed only reused jobs must wait for the index of the original run's jobs, and must not take too much of
    // a turn.
    return token.isReused && (!run.reuse!.isIndexed || this.#table.turn.isSpent || this.#table.isFull);
  }

  /**
   * Whether the token's payload is large and this turn may be writing it. If so, the values that are made from the payload must be written
   * in the next turn: one turn must not write both.
   */
  #isWritten({ storedAs, payload: { stored } }: Token): boolean {
    return storedAs !== null && !isParted(stored) && stored.length > this.#table.partedBytesMin;
  }

  /**
   * Moves the token from node to node until it enters a step with jobs, divides, is parked, or arrives at a join or at the end. If the
   * pipeline's own condition does not hold, the run ends. `place` is updated at each node: an unfinished evaluation continues there.
   */
  #goFrom(run: Run, place: Place, hasWaited: boolean): void {
    const table = this.#table;
    const { nodes } = run.version.compiled;
    let { node: here, scope, token } = place;
    let node = nodes[here]!;
    let mayTest = hasWaited;
    for (;;) {
      Object.assign(place, { node: here, scope, token });
      const condition = conditionAt(node);
      if (condition !== null && isLong(condition)) {
        if (!mayTest && table.turn.isSpent) {
          this.expansion.park(run, here, scope, token, place.id);
          return;
        }
        mayTest = false;
      }
      const passed = condition !== null && !holds(condition, dataOf(token, this.#configAt(node)));
      if (passed && node.kind === 'start') {
        finishRun(table, run, succeededWith(packedNull));
        return;
      }
      if (node.kind === 'join' || node.kind === 'end') {
        const { path, result, cause, depth, isReused } = token;
        const context = token.context.bytes;
        arriveAtJoin(table, run, scope, { path, result, failed: false, cause, context, depth, isReused });
        return;
      }
      if (node.kind === 'scope') {
        const origin = { cause: token.cause, context: token.context.bytes };
        scope = openScope(run, node.sequence, scope.id, token.path, origin, token.isReused);
        scope.depth = token.depth;
        token = movedTo(token, []);
        here = node.first;
      } else if (passed || node.kind === 'start') here = node.next;
      else if (node.kind === 'steps') here = node.first;
      else if (node.kind === 'split') {
        this.#fork(run, scope, node.branches, token);
        return;
      } else {
        if (table.isPaused(run)) this.expansion.park(run, here, scope, token, place.id);
        else this.#starter.enter(run, scope, here, node, token, place);
        return;
      }
      node = nodes[here]!;
    }
  }

  #configAt(node: Node): Json {
    if (node.kind !== 'work' || node.step.kind !== 'uses') return null;
    return instanceNamed(this.#table.config, node.step.instance)?.config ?? null;
  }

  #fork(run: Run, scope: Scope, branches: readonly number[], token: Token): void {
    markFork(scope, token.path, { cause: token.cause, context: token.context.bytes });
    scope.live += branches.length - 1;
    branches.forEach((node, i) => {
      this.#table.moves.push({ kind: 'enter', run, scope, node, token: movedTo(token, [...token.path, i]) });
    });
  }

  #jobEnded(run: Run, node: WorkNode, job: SettledJob, events: JobEvents, message: JobsSettled): void {
    if (run.failure !== null) return;
    const { group, plugin, command } = message;
    const { path: before, first, scope: scopeId } = group.run!;
    const { context, depth } = group;
    const scope = run.scopes.get(scopeId)!;
    const path = first === null ? before : [...before, first + job.offset];
    if (job.status !== 'succeeded') {
      const text = bodyPart(job.body, 'error');
      const error = text ? Buffer.from(text).toString() : job.status;
      const failed = { id: job.id, name: `${plugin}.${command}`, status: job.status, error, depth };
      this.#failed(run, scope, node, failed, path, context);
      return;
    }
    const { id, body } = job;
    this.#goOn(run, scope, node, { id, plugin, command, path, context, depth, body, isReused: false }, events);
  }

  /** Lets the token of a successful job continue: as one token per event or, if the job has no events, with the job's result. */
  #goOn(run: Run, scope: Scope, node: WorkNode, job: PassedJob, events: JobEvents): void {
    const { id, plugin, command, path, context, depth, body, isReused } = job;
    const result = bodyPart(body, 'result');
    const isLarge = result !== undefined && result.length > this.#table.partedBytesMin;
    if (!isLarge && events !== null && events.length < 2 && isGathering(run.version.compiled, node.next)) {
      const arrival = { path, result: result ?? packedNull, failed: false, cause: id, context, depth, isReused };
      arriveAtJoin(this.#table, run, scope, arrival);
      return;
    }
    const token: Token = {
      path,
      payload: new Packed(asPayload(result), this.#table.evaluationLimits),
      context: new Packed(context),
      event: { type: `${plugin}.${command}.result`, source: plugin, dedupeKey: null },
      depth,
      cause: id,
      result: result ?? packedNull,
      storedAs: 'result',
      isReused,
    };
    if (events === null) {
      const packed = bodyPart(body, 'events')!;
      if (listCount(packed) > 1) markFork(scope, path, { cause: id, context });
      this.#table.touch(run, scope);
      const plan = parkedBeforeEvents(node.next, scope, token, packed);
      addFan(this.#table, run, beginFanOut(run.fansMade++, listCount(packed), plan));
    } else if (events.length > 0) this.#emit(run, scope, node.next, token, events);
    else this.#table.moves.push({ kind: 'enter', run, scope, node: node.next, token });
  }

  /** Moves the token past a reused job. */
  #takenOver(run: Run, scope: Scope, { id, node: number, path, context, depth, body: stored }: ReusedJob): void {
    const node = run.version.compiled.nodes[number] as WorkNode;
    const { step } = node;
    if (step.kind === 'call') {
      const result = bodyPart(stored, 'result') ?? packedNull;
      const name = step.pipeline;
      this.#goOnBehindRun(run, scope, node, { id, name, path, context, depth, result, isReused: true });
      return;
    }
    const { instance: plugin, command } = step;
    const job = inflated({ id, offset: 0, status: 'succeeded', body: stored });
    const passed = { id, plugin, command, path, context, depth, body: job.body, isReused: true };
    this.#goOn(run, scope, node, passed, eventsOf(job, context, this.#table.partedBytesMin));
  }

  #emit(run: Run, scope: Scope, node: number, token: Token, events: readonly Emitted[]): void {
    const forks = events.length > 1;
    if (forks) markFork(scope, token.path, { cause: token.cause, context: token.context.bytes });
    scope.live += events.length - 1;
    let seen = 0;
    events.forEach((event, i) => {
      const path = forks ? [...token.path, i] : token.path;
      if (!enterEvent(this.#table, run, scope, node, token, path, event, i)) seen++;
    });
    if (seen > 0) endTokens(this.#table, run, scope, seen, token.isReused);
  }

  #failed(
    run: Run,
    scope: Scope,
    node: WorkNode,
    { id, name, status, error, depth }: FailedStep,
    path: readonly number[],
    context: Uint8Array,
  ): void {
    if (node.step.onError === 'fail') {
      const failure = `step "${node.step.id}": ${name} ${status} (${formatId(id)}): ${error}`;
      failToken(this.#table, run, scope, node, failure);
      return;
    }
    const result = pack({ error, status, job_id: formatId(id) });
    const arrival = { path, result, failed: true, cause: id, context, depth, isReused: false };
    arriveAtJoin(this.#table, run, scope, arrival);
  }

  /** Handles the end of a called run in the run that called it. */
  #returned(run: Run, { outer, run: called, end }: Extract<Move, { readonly kind: 'returned' }>): void {
    const table = this.#table;
    const { id, name, depth } = called;
    const unsuccessful = unsuccessfulOf([end]);
    addUnsuccessful(unsuccessful, called.unsuccessful);
    // If no job inside the called run has started, the run itself counts as not started.
    const unstarted = called.unstarted + (called.unstarted === called.inside ? 1 : 0);
    table.settled(run, 1, unsuccessful, unstarted, called.inside);
    if (end.status !== 'succeeded') noteFailures(run, outer.node, [{ id, status: end.status }]);
    if (run.reuse) run.reuse.jobs += called.reused;
    this.expansion.resume(run);
    const node = run.version.compiled.nodes[outer.node]!;
    if (run.failure !== null || node.kind !== 'work') return;
    const scope = run.scopes.get(outer.scope)!;
    const { path, context } = outer;
    const { status, result, error } = end;
    if (status !== 'succeeded') {
      this.#failed(run, scope, node, { id, name: `pipeline ${name}`, status, error, depth }, path, context);
      return;
    }
    this.#goOnBehindRun(run, scope, node, { id, name, path, context, depth, result, isReused: false });
  }

  #goOnBehindRun(run: Run, scope: Scope, node: WorkNode, called: PassedRun): void {
    const { id, name, path, context, depth, result, isReused } = called;
    const table = this.#table;
    const token: Token = {
      path,
      payload: new Packed(asPayload(result, table.arrivals.headOf), table.evaluationLimits),
      context: new Packed(context),
      event: { type: `${pipelinePlugin}.${name}.result`, source: pipelinePlugin, dedupeKey: null },
      depth,
      cause: id,
      result,
      storedAs: null,
      isReused,
    };
    table.moves.push({ kind: 'enter', run, scope, node: node.next, token });
  }
}

/** A successful job of a step, new or reused. */
type PassedJob = PassedPlace & { readonly plugin: string; readonly command: string; readonly body: Body };
/** A successful run that a step called. */
type PassedRun = PassedPlace & { readonly name: string; readonly result: Uint8Array };
type PassedPlace = Pick<ReusedJob, 'id' | 'path' | 'context' | 'depth'> & { readonly isReused: boolean };

/** An unsuccessful job of a step, or an unsuccessful called run. */
type FailedStep = Pick<FinishedRun, 'id' | 'name' | 'depth'> & {
  readonly status: TerminalStatus;
  readonly error: string;
};

function conditionAt(node: Node): Condition | null {
  if (node.kind === 'start') return node.condition;
  return 'step' in node ? node.step.if : null;
}

function isGathering({ nodes }: CompiledPipeline, number: number): boolean {
  const { kind } = nodes[number]!;
  return kind === 'join' || kind === 'end';
}
