// Routing: where tokens go on when jobs settle, node by node. Decides from the definition, the outcome and the run alone.

import { checkBody } from '../../runtime/host/wire/body-check.ts';
import { type Body, bodyPart, encodeBody, inflateBody } from '../../runtime/host/wire/outcome.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack, packedNull } from '../../runtime/packing.ts';
import { listCount } from '../../runtime/splice.ts';
import { blame } from '../failed-record.ts';
import type { JobsSettled, SettledJob } from '../job/protocol.ts';
import type { JobGroup } from '../job/records/job.ts';
import { addUnsuccessful, pipelinePlugin, unsuccessfulOf } from '../job/records/job.ts';
import { Children } from './children.ts';
import type { CompiledPipeline, Node } from './compile.ts';
import { holds, isLong } from './condition.ts';
import { DeferredEvents, type EmissionPlan, type EmissionSteps, eventsAtOnceMax } from './deferred-events.ts';
import { type Emitted, readEvents } from './events.ts';
import { Expansion } from './expansion.ts';
import type { FindAncestor } from './hops.ts';
import { arriveAtJoin, endTokens, markFork } from './join.ts';
import { isParkable, parkedAt, parkedBehindJob } from './parked-token.ts';
import { type CallSite, idText, openScope, type Run, type Scope } from './run.ts';
import { finishRun } from './run-end.ts';
import { bytesPerTurnMax, type Ending, type RunTable, type Task } from './run-table.ts';
import { Work, type WorkNode } from './step-starter.ts';
import { asPayload, dataOf, movedTo, Packed, type Token } from './token.ts';
import { Triggers } from './triggers.ts';

export class RunRouter {
  readonly #table: RunTable;
  readonly #work: Work;
  readonly triggers: Triggers;
  readonly expansion: Expansion;
  readonly emissions: DeferredEvents;

  constructor(table: RunTable, ancestor: FindAncestor, bodyOf: (job: JobId) => Body) {
    this.#table = table;
    const children = new Children(table, ancestor);
    this.triggers = new Triggers(table, children);
    this.expansion = new Expansion(table, children, bodyOf);
    this.#work = new Work(table, children, this.expansion);
    const steps: EmissionSteps = {
      take: (plan, event, index) => this.#takeEvent(plan, event, index),
      end: plan => this.#endEvents(plan),
    };
    this.emissions = new DeferredEvents(table, steps, bodyOf);
  }

  /** Jobs of one group have ended: hooks and events start runs, and the tokens of their run go on. */
  settled(message: JobsSettled): void {
    const position = message.group.run;
    const run = position && this.#table.runs.find(idText(position.run));
    try {
      this.#settled(message, run);
    } catch (error) {
      throw run ? blame({ kind: 'run', id: run.id }, error) : error;
    }
  }

  #settled(message: JobsSettled, run: Run | null | undefined): void {
    const { group, jobs } = message;
    const position = group.run;
    const node = run?.version.compiled.nodes[position!.node];
    if (run) this.#table.settled(run, jobs.length, unsuccessfulOf(jobs));
    for (const settled of jobs) {
      if (this.triggers.hasJobHooks) this.triggers.fireHooks(settled, message);
      // Nothing is read of what goes nowhere.
      if (!run && !this.triggers.hasEvents) continue;
      const job = inflated(settled);
      if (this.#isFlood(job, group)) {
        this.#flood(job, message, run, node);
        continue;
      }
      const events = eventsOf(job);
      if (events.length > 0) this.#trigger(job, events, message);
      if (run && node?.kind === 'work') this.#goOn(run, node, job, events, message);
    }
    if (run) this.expansion.resume(run);
  }

  /** Events start the pipelines that wait for them: now, or when there is room. */
  #trigger(job: SettledJob, events: readonly Emitted[], { plugin, group }: JobsSettled): void {
    if (!this.triggers.areAwaited(events)) return;
    const { submittedBy, root, depth, context, hooked } = group;
    const emitter = { job: job.id, plugin, submittedBy, root, depth, context, hooked };
    if (this.emissions.mustWait || (events.length > 1 && this.triggers.isLong))
      this.emissions.addLater({ ...emitter, place: null });
    else for (const event of events) this.triggers.fire(event, emitter);
  }

  #isFlood({ status, body }: SettledJob, { context }: JobGroup): boolean {
    const events = status === 'succeeded' ? bodyPart(body, 'events') : undefined;
    if (events === undefined) return false;
    const count = listCount(events);
    return count > eventsAtOnceMax || (count > 1 && count * context.length > bytesPerTurnMax);
  }

  /** Very many events, or much baggage with each: they start runs, and the job's token divides, as they are taken, in this turn and the ones after it. */
  #flood(job: SettledJob, { plugin, group }: JobsSettled, run: Run | null | undefined, node: Node | undefined): void {
    const { submittedBy, root, depth, context, hooked } = group;
    const common = { job: job.id, plugin, submittedBy, root, depth, context, hooked };
    if (this.triggers.hasEvents) this.emissions.add({ ...common, place: null }, job.body);
    if (!run || run.failure !== null || node?.kind !== 'work') return;
    const { first, scope } = group.run!;
    const path = first === null ? group.run!.path : [...group.run!.path, first + job.offset];
    const at = run.scopes.get(scope)!;
    markFork(at, path, { cause: job.id, context });
    // Perhaps none of its events is taken in this turn.
    this.#table.touch(run, at);
    this.emissions.add({ ...common, place: { run: run.id, scope, node: node.next, path } }, job.body);
  }

  /** False: it started nothing, or its token does not go on. */
  #takeEvent(plan: EmissionPlan, event: Emitted, index: number): boolean {
    if (plan.place === null) return this.triggers.fire(event, plan);
    const at = this.#placeOf(plan);
    if (!at) return false;
    const { run, scope, place } = at;
    const { payload, dedupeKey, type } = event;
    if (dedupeKey !== null && !this.#isNew(run, place.node, dedupeKey)) return false;
    scope.live++;
    const { depth, context, job: cause, plugin: source } = plan;
    const token = {
      path: [...place.path, index],
      payload: new Packed(payload),
      context: new Packed(context),
      event: { type, source, dedupeKey },
      depth,
      cause,
      result: plan.result,
    };
    this.#table.tasks.push({ kind: 'enter', run, scope, node: place.node, token });
    // What its job takes is known before the next event.
    this.drain();
    return true;
  }

  /** The open run that the plan's token belongs to, if it goes on. */
  #placeOf({ place }: EmissionPlan) {
    const run = place && this.#table.runs.find(idText(place.run));
    const scope = run && run.failure === null ? run.scopes.get(place!.scope) : undefined;
    return scope ? { run: run!, scope, place: place! } : null;
  }

  #endEvents(plan: EmissionPlan): void {
    const at = this.#placeOf(plan);
    if (at) endTokens(this.#table, at.run, at.scope, 1);
  }

  /** Does all that is left to do in this turn. */
  drain(): void {
    const { tasks, ending } = this.#table;
    while (tasks.length > 0 || ending.length > 0) {
      for (let i = 0; i < tasks.length; i++) this.#perform(tasks[i]!);
      tasks.length = 0;
      for (const run of ending.splice(0)) if (!run.ended) this.#finishFailed(run);
    }
  }

  #finishFailed(run: Run): void {
    try {
      finishRun(this.#table, run, { status: 'failed', error: run.failure! });
    } catch (error) {
      throw blame({ kind: 'run', id: run.id }, error);
    }
  }

  #perform(task: Task): void {
    if (task.kind === 'settled') {
      this.triggers.fireRunHooks(task.run);
      return;
    }
    const run = task.kind === 'enter' ? task.run : this.#table.runs.find(idText(task.outer.run));
    // One that a step had called outlived the run of that step.
    if (!run || run.ended) return;
    try {
      if (task.kind === 'returned') this.#returned(run, task.outer, task.ending);
      else if (run.failure === null) this.#enter(run, task.scope, task.node, task.token, task.hasWaited === true);
    } catch (error) {
      throw blame({ kind: 'run', id: run.id }, error);
    }
  }

  /** A token goes from node to node until a job is made for it, it divides, or it comes to where tokens are gathered. */
  #enter(run: Run, at: Scope, number: number, entering: Token, hasWaited: boolean): void {
    const table = this.#table;
    const { nodes } = run.version.compiled;
    table.touch(run, at);
    let node = nodes[number]!;
    let here = number;
    let scope = at;
    let token = entering;
    let mayTest = hasWaited;
    for (;;) {
      if ('step' in node && node.step.if !== null && isLong(node.step.if)) {
        if (!mayTest && this.#table.turn.isSpent && isParkable(token)) {
          this.expansion.park(run, parkedAt(here, scope, token));
          return;
        }
        mayTest = false;
      }
      const passed = 'step' in node && !this.#applies(node, token);
      if (node.kind === 'join' || node.kind === 'end') {
        const { path, result, cause, depth } = token;
        const context = token.context.bytes;
        arriveAtJoin(table, run, scope, { path, ordinal: -1, result, failed: false, cause, context, depth });
        return;
      }
      if (node.kind === 'scope') {
        const origin = { cause: token.cause, context: token.context.bytes };
        scope = openScope(run, node.sequence, scope.id, token.path, origin);
        scope.depth = token.depth;
        token = movedTo(token, []);
        here = node.first;
      } else if (passed) here = node.next;
      else if (node.kind === 'steps') here = node.first;
      else if (node.kind === 'split') {
        this.#fork(run, scope, node.branches, token);
        return;
      } else {
        this.#work.enter(run, scope, here, node, token);
        return;
      }
      node = nodes[here]!;
    }
  }

  #applies({ step }: Extract<Node, { readonly step: unknown }>, token: Token): boolean {
    if (step.if === null) return true;
    const config = step.kind === 'uses' ? (this.#table.config.plugins[step.instance]?.config ?? null) : null;
    return holds(step.if, dataOf(token, config));
  }

  #fork(run: Run, scope: Scope, branches: readonly number[], token: Token): void {
    markFork(scope, token.path, { cause: token.cause, context: token.context.bytes });
    scope.live += branches.length - 1;
    branches.forEach((node, i) => {
      this.#table.tasks.push({ kind: 'enter', run, scope, node, token: movedTo(token, [...token.path, i]) });
    });
  }

  /** A job of the run has ended; its token goes on as many tokens as it emitted events, or with its result. */
  #goOn(run: Run, node: WorkNode, job: SettledJob, events: readonly Emitted[], message: JobsSettled): void {
    if (run.failure !== null) return;
    const { group, plugin, command } = message;
    const { path, first, scope: scopeId } = group.run!;
    const scope = run.scopes.get(scopeId)!;
    const ordinal = first === null ? -1 : first + job.offset;
    const result = bodyPart(job.body, 'result');
    if (job.status !== 'succeeded') {
      const text = bodyPart(job.body, 'error');
      const error = text ? Buffer.from(text).toString() : job.status;
      const name = `${plugin}.${command}`;
      const ending = { id: job.id, name, status: job.status, result, error, depth: group.depth };
      this.#failed(run, scope, node, ending, path, ordinal, group.context);
      return;
    }
    const isLater = events.length === 0 && result !== undefined && result.length > this.#table.partedBytesMin;
    if (!isLater && events.length < 2 && isGathering(run.version.compiled, node.next)) {
      arriveAtJoin(this.#table, run, scope, {
        path,
        ordinal,
        result: result ?? packedNull,
        failed: false,
        cause: job.id,
        context: group.context,
        depth: group.depth,
      });
      return;
    }
    const token = {
      path: ordinal < 0 ? path : [...path, ordinal],
      payload: new Packed(asPayload(result)),
      context: new Packed(group.context),
      event: { type: `${plugin}.${command}.result`, source: plugin, dedupeKey: null },
      depth: group.depth,
      cause: job.id,
      result: result ?? packedNull,
    };
    if (isLater) this.expansion.park(run, parkedBehindJob(node.next, scope, token));
    else if (events.length === 0) this.#table.tasks.push({ kind: 'enter', run, scope, node: node.next, token });
    else this.#emit(run, scope, node.next, token, events, plugin);
  }

  #emit(
    run: Run,
    scope: Scope,
    node: number,
    { path: at, context, depth, cause, result }: Token,
    events: readonly Emitted[],
    source: string,
  ): void {
    const table = this.#table;
    const forks = events.length > 1;
    if (forks) markFork(scope, at, { cause, context: context.bytes });
    scope.live += events.length - 1;
    let doubles = 0;
    events.forEach(({ type, payload, dedupeKey }, i) => {
      if (dedupeKey !== null && !this.#isNew(run, node, dedupeKey)) {
        doubles++;
        return;
      }
      const event = { type, source, dedupeKey };
      const path = forks ? [...at, i] : at;
      const token: Token = { path, payload: new Packed(payload), context, event, depth, cause, result };
      table.tasks.push({ kind: 'enter', run, scope, node, token });
    });
    if (doubles > 0) endTokens(table, run, scope, doubles);
  }

  #isNew(run: Run, number: number, dedupeKey: string): boolean {
    const table = this.#table;
    const node = stepNode(run.version.compiled, number);
    if (node === null) return true;
    return table.dedupe.isNew(run.version.name, node.step.id, dedupeKey, table.turn.nowUs, table.batch);
  }

  #failed(
    run: Run,
    scope: Scope,
    { step }: WorkNode,
    { id, name, status, error, depth }: Ending,
    path: readonly number[],
    ordinal: number,
    context: Uint8Array,
  ): void {
    if (step.onError === 'fail') {
      this.#table.fail(run, `step "${step.id}": ${name} ${status} (${formatId(id)}): ${error}`);
      return;
    }
    const result = pack({ error, status, job_id: formatId(id) });
    arriveAtJoin(this.#table, run, scope, { path, ordinal, result, failed: true, cause: id, context, depth });
  }

  /** A called run is over: the token goes on behind the step that called it. */
  #returned(run: Run, outer: CallSite, ending: Ending): void {
    const table = this.#table;
    const unsuccessful = unsuccessfulOf([ending]);
    if (ending.unsuccessful) addUnsuccessful(unsuccessful, ending.unsuccessful);
    table.settled(run, 1, unsuccessful, ending.inside);
    this.expansion.resume(run);
    const node = run.version.compiled.nodes[outer.node]!;
    if (run.failure !== null || node.kind !== 'work') return;
    const scope = run.scopes.get(outer.scope)!;
    const { path, context } = outer;
    if (ending.status !== 'succeeded') {
      this.#failed(run, scope, node, { ...ending, name: `pipeline ${ending.name}` }, path, -1, context);
      return;
    }
    const result = ending.result ?? packedNull;
    const token: Token = {
      path,
      payload: new Packed(asPayload(result, table.arrivals.headOf), table.arrivals.read),
      context: new Packed(context),
      event: { type: `${pipelinePlugin}.${ending.name}.result`, source: pipelinePlugin, dedupeKey: null },
      depth: ending.depth,
      cause: ending.id,
      result,
    };
    table.tasks.push({ kind: 'enter', run, scope, node: node.next, token });
  }
}

/** With nothing deflated. Where that cannot be inflated the job counts as failed in the run, and emits nothing. */
function inflated(settled: SettledJob): SettledJob {
  try {
    const body = inflateBody(settled.body);
    if (body === settled.body) return settled;
    checkBody(body);
    return { ...settled, body };
  } catch (error) {
    const reason = `what the job answered cannot be read: ${(error as Error).message}`;
    return { ...settled, status: 'failed', body: encodeBody({ error: Buffer.from(reason) }) };
  }
}

const noEvents: readonly Emitted[] = [];

/** Those of a job that did not succeed start nothing. */
function eventsOf({ status, body }: SettledJob): readonly Emitted[] {
  const packed = status === 'succeeded' ? bodyPart(body, 'events') : undefined;
  return packed === undefined ? noEvents : readEvents(packed);
}

function isGathering({ nodes }: CompiledPipeline, number: number): boolean {
  const { kind } = nodes[number]!;
  return kind === 'join' || kind === 'end';
}

/** The step that a token comes to at a node, looking past the opening of a scope; null where tokens are gathered. */
function stepNode(compiled: CompiledPipeline, number: number): Extract<Node, { readonly step: unknown }> | null {
  const node = compiled.nodes[number]!;
  if (node.kind === 'scope') return stepNode(compiled, node.first);
  return 'step' in node ? node : null;
}
