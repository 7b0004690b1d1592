// Starts runs for events that jobs emit, and for hooks when jobs and runs end.

import { type Hook, isJobHook } from '../../../config/pipeline/definition.ts';
import { type Body, hasDeflated } from '../../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { packedEmpty } from '../../../runtime/packing.ts';
import { pipelinePlugin, type TerminalStatus } from '../../job/records/job.ts';
import { taggedWith } from '../../job/records/options.ts';
import type { Version } from '../definition/definition-versions.ts';
import { holds, isLong } from '../expressions/condition.ts';
import { beginRun, type RunStart, refuseRun } from '../lifecycle/run-start.ts';
import type { Origin } from '../records/deferred-event.ts';
import type { RunTable } from '../run-table.ts';
import type { Children } from '../steps/children.ts';
import { dataOf, Packed, type Token } from '../tokens/token.ts';
import type { Emitted } from './events.ts';
import { type HookOrigin, hookOf } from './hooks.ts';

/** The job or run that caused an event or a hook: the fields that the started runs take from it. */
type Emitter = Omit<Origin, 'place' | 'hook'>;

/** An event or a hook, and the pipelines that wait for it. */
export type Trigger = {
  readonly type: string;
  readonly dedupeKey: string | null;
  /** The payload of the event or hook. It keeps the results of the evaluations (evaluations.ts) that conditions need. */
  readonly payload: Packed;
  readonly emitter: Emitter;
  readonly waiting: readonly Version[];
};

/**
 * `startBytes`: the cost of starting a run, excluding its payload. `patternBytes`: the cost of testing a condition with a pattern. A cost is
 * the number of bytes that could be written in the same time.
 */
const startBytes = 16 * 2 ** 10;
const patternBytes = 256 * 2 ** 10;
/** If the starts for a hook, or for all events of a job, cost more than this in total, they take place in later turns. */
export const startedBytesMax = 512 * 2 ** 10;
const none: readonly Version[] = [];

export class Triggers {
  readonly #table: RunTable;
  readonly #children: Children;
  #onEvent = new Map<string, Version[]>();
  #onHook = new Map<Hook, Version[]>();

  constructor(table: RunTable, children: Children) {
    this.#table = table;
    this.#children = children;
    this.configure();
  }

  /** Finds the pipelines that events and hooks start. Must be called after each change of the configuration. */
  configure(): void {
    this.#onEvent = new Map();
    this.#onHook = new Map();
    for (const version of this.#table.versions.currentAll()) {
      const { on, onHook } = version.compiled.definition;
      if (on !== null) this.#onEvent.set(on, [...(this.#onEvent.get(on) ?? []), version]);
      if (onHook !== null) this.#onHook.set(onHook, [...(this.#onHook.get(onHook) ?? []), version]);
    }
    this.#table.hasRunHooks = ![...this.#onHook.keys()].every(isJobHook);
  }

  get hasEvents(): boolean {
    return this.#onEvent.size > 0;
  }

  areAwaited(events: readonly Emitted[]): boolean {
    return events.some(({ type }) => this.#onEvent.has(type));
  }

  /** Whether these events must start their runs in later turns. */
  mustWait(events: readonly Emitted[]): boolean {
    let cost = 0;
    for (const { type, payload } of events) cost += costOf(this.#onEvent.get(type), payload.length);
    return this.#isTooMuch(cost);
  }

  /** Whether a pipeline has a hook for jobs (if `plugin` is `pipelinePlugin`: for runs) that end with this status. */
  isHooked(plugin: string, status: TerminalStatus): boolean {
    return this.#onHook.has(hookOf(plugin, status));
  }

  /** Whether a hook must start its runs in later turns. `body`: the output of the ended job or run. */
  mustHookWait({ plugin, hook }: HookOrigin, body: Body): boolean {
    return hasDeflated(body) || this.#isTooMuch(costOf(this.#onHook.get(hookOf(plugin, hook.status)), body.length));
  }

  #isTooMuch(cost: number): boolean {
    const { turn, partedBytesMin } = this.#table;
    return turn.isSpent || cost > Math.min(startedBytesMax, partedBytesMin);
  }

  /** `payload`: the payload of the event. If the caller passes it, the evaluation of conditions on it may take several turns. */
  ofEvent({ type, payload: packed, dedupeKey }: Emitted, emitter: Emitter, payload = new Packed(packed)): Trigger {
    const { detached } = this.#table.jobs.cancels;
    const isCancelled = detached.coversEventsOf(emitter.job, emitter.root ?? emitter.job);
    return { type, dedupeKey, payload, emitter, waiting: isCancelled ? none : (this.#onEvent.get(type) ?? none) };
  }

  ofHook({ job, plugin, submittedBy, root, hook, tags }: HookOrigin, payload: Packed): Trigger {
    const type = hookOf(plugin, hook.status);
    const emitter = {
      job,
      plugin,
      submittedBy,
      root,
      depth: 0,
      context: packedEmpty,
      hooked: true,
      ...(tags !== undefined && { tags }),
    };
    return { type, dedupeKey: null, payload, emitter, waiting: this.#onHook.get(type) ?? none };
  }

  fire(trigger: Trigger): void {
    for (const version of trigger.waiting) this.start(trigger, version);
  }

  /**
   * Starts the pipeline if its condition accepts the trigger and the dedupe key is new. False: no run was created. May throw
   * UnfinishedEvaluation, but only before it changes anything.
   */
  start({ type, dedupeKey, payload, emitter }: Trigger, version: Version): boolean {
    const table = this.#table;
    const { job: parent, plugin: source, submittedBy, depth, context, hooked, tags } = emitter;
    const root = emitter.root ?? parent;
    // The condition is tested before the dedupe key: an event that the condition rejects must not use up its key.
    if (!wants(version, { payload, context: new Packed(context) })) return false;
    if (dedupeKey !== null && !table.dedupe.isNew(version.name, '', dedupeKey, table.turn)) return false;
    const event = { type, source, dedupeKey };
    const start = {
      submittedBy,
      parent,
      root,
      depth,
      event,
      context,
      payload: payload.stored,
      isWanted: true,
      hooked,
      rerun: null,
      options: taggedWith(tags),
      called: null,
    } as const;
    return this.#begin(version, start, parent, root);
  }

  /**
   * Begins a run, unless the root has too many descendants. The first run beyond the limit is created as dead. Further runs are
   * not created, and the result is false.
   */
  #begin(version: Version, start: RunStart, cause: JobId, root: JobId): boolean {
    const { descendants } = this.#table;
    const tree = descendants.of(root);
    const room = descendants.room(tree);
    if (room > 0) beginRun(this.#table, version, start);
    else if (room === 0) {
      const error = this.#children.breadthError(`${pipelinePlugin}.${version.name}`, cause, tree);
      refuseRun(this.#table, version.name, start, error, 'dead');
    }
    return room >= 0;
  }
}

function costOf(waiting: readonly Version[] = none, payloadBytes: number): number {
  let cost = 0;
  for (const { compiled } of waiting) {
    const { if: condition } = compiled.definition;
    cost += startBytes + payloadBytes + (condition !== null && isLong(condition) ? patternBytes : 0);
  }
  return cost;
}

/** Whether the pipeline's own condition accepts the event or hook. */
function wants({ compiled }: Version, data: Pick<Token, 'payload' | 'context'>): boolean {
  const { definition } = compiled;
  return definition.if === null || holds(definition.if, dataOf(data, null));
}
