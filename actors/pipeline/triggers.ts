// Starts runs for events that jobs emit, and for hooks when jobs and runs end.

import { type Hook, isJobHook, type JobHook, type RunHook } from '../../config/pipeline/definition.ts';
import { type Body, bodyPart } from '../../runtime/host/wire/outcome.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack, packedEmpty } from '../../runtime/packing.ts';
import type { JobsSettled, SettledJob } from '../job/protocol.ts';
import { type JobGroup, pipelinePlugin, type TerminalStatus, tallyOf } from '../job/records/job.ts';
import type { Children } from './children.ts';
import { holds, isLong } from './condition.ts';
import type { Version } from './definition-versions.ts';
import type { Emitted } from './events.ts';
import type { Origin } from './records/deferred-event.ts';
import type { FinishedRun, RunEnd } from './run.ts';
import { beginRun, type RunStart, refuseRun } from './run-start.ts';
import type { RunTable } from './run-table.ts';
import { dataOf, Packed, type Token, withResult } from './token.ts';

const hookOf: { readonly [status in TerminalStatus]: JobHook } = {
  succeeded: 'job.completed',
  failed: 'job.failed',
  dead: 'job.failed',
  timed_out: 'job.timed_out',
  cancelled: 'job.cancelled',
};
const runHookOf: { readonly [status in TerminalStatus]: RunHook } = {
  succeeded: 'pipeline.completed',
  failed: 'pipeline.failed',
  dead: 'pipeline.failed',
  timed_out: 'pipeline.timed_out',
  cancelled: 'pipeline.cancelled',
};

/** The job that emitted an event: the fields that the started runs take from it. */
type Emitter = Omit<Origin, 'place'>;

export class Triggers {
  readonly #table: RunTable;
  readonly #children: Children;
  #onEvent = new Map<string, Version[]>();
  /** Whether handling an event may take long, because a pipeline has an expensive condition of its own. */
  isLong = false;
  #onHook = new Map<Hook, Version[]>();
  /** Whether any pipeline is started when jobs end. */
  hasJobHooks = false;

  constructor(table: RunTable, children: Children) {
    this.#table = table;
    this.#children = children;
    this.configure();
  }

  /** Finds the pipelines that events and hooks start. Must be called after each change of the configuration. */
  configure(): void {
    this.#onEvent = new Map();
    this.#onHook = new Map();
    this.isLong = false;
    for (const version of this.#table.versions.currentAll()) {
      const { on, onHook, if: condition } = version.compiled.definition;
      if (on !== null && condition !== null && isLong(condition)) this.isLong = true;
      if (on !== null) this.#onEvent.set(on, [...(this.#onEvent.get(on) ?? []), version]);
      if (onHook !== null) this.#onHook.set(onHook, [...(this.#onHook.get(onHook) ?? []), version]);
    }
    const awaited = [...this.#onHook.keys()];
    this.hasJobHooks = awaited.some(isJobHook);
    this.#table.hasRunHooks = !awaited.every(isJobHook);
  }

  /** Whether any of these events starts a pipeline. */
  areAwaited(events: readonly Emitted[]): boolean {
    return events.some(({ type }) => this.#onEvent.has(type));
  }

  /** Starts the pipelines that wait for an event of this type. False: it started none. */
  fire({ type, payload, dedupeKey }: Emitted, emitter: Emitter): boolean {
    const table = this.#table;
    const { job: parent, plugin, submittedBy, depth, context, hooked } = emitter;
    const root = emitter.root ?? parent;
    if (table.jobs.cancels.detached.coversEventsOf(parent, root)) return false;
    let started = false;
    for (const version of this.#onEvent.get(type) ?? []) {
      // The condition is tested before the dedupe key: a rejected event must not use up its key.
      if (!wants(version, { payload: new Packed(payload), context: new Packed(context) })) continue;
      if (dedupeKey !== null && !table.dedupe.isNew(version.name, '', dedupeKey, table.turn)) continue;
      const event = { type, source: plugin, dedupeKey };
      const start = {
        submittedBy,
        parent,
        root,
        depth,
        event,
        context,
        payload,
        hooked,
        rerun: null,
        options: null,
        called: null,
      };
      if (this.#begin(version, start, parent, root)) started = true;
    }
    return started;
  }

  get hasEvents(): boolean {
    return this.#onEvent.size > 0;
  }

  /** Whether a pipeline is a hook of this end. Jobs inside a hook's run have no hooks. */
  isHooked({ status }: SettledJob, { hooked }: JobGroup): boolean {
    return !hooked && this.#onHook.has(hookOf[status]);
  }

  /** Fires the hooks of a job that has ended. */
  fireHooks(job: SettledJob, { plugin, command, group }: JobsSettled): void {
    const { submittedBy, root } = group;
    this.#fireHook(hookOf[job.status], { job: job.id, plugin, submittedBy, root }, hookPayload(job, plugin, command));
  }

  /** Fires the deferred hooks of a job that has ended. */
  fireWaiting({ job: id, plugin, submittedBy, root, hook }: Origin, body: Body): true {
    const { status, command } = hook!;
    const payload = hookPayload({ id, status, body }, plugin, command);
    this.#fireHook(hookOf[status], { job: id, plugin, submittedBy, root }, payload);
    return true;
  }

  /** Fires the hooks of a run that has ended, unless a step called it or a hook caused it. */
  fireRunHooks(run: FinishedRun, { status, error }: RunEnd): void {
    const { id, name: pipeline, submittedBy, root, inside, reused, unsuccessful } = run;
    const hook = runHookOf[status];
    if (!this.#onHook.has(hook)) return;
    const failure = status === 'succeeded' ? {} : { error };
    const job_id = formatId(id);
    const counts = tallyOf(inside, unsuccessful, reused);
    const payload = pack({ job_id, pipeline, status, ...failure, counts, submitted_by: submittedBy });
    this.#fireHook(hook, { job: id, plugin: pipelinePlugin, submittedBy, root }, payload);
  }

  #fireHook(hook: Hook, ended: Pick<Emitter, 'job' | 'plugin' | 'submittedBy' | 'root'>, packed: Uint8Array): void {
    const { job: parent, plugin: source, submittedBy } = ended;
    const root = ended.root ?? parent;
    const payload = new Packed(packed);
    for (const version of this.#onHook.get(hook) ?? []) {
      if (!wants(version, { payload, context: nothing })) continue;
      const event = { type: hook, source, dedupeKey: null };
      const context = packedEmpty;
      const start = {
        submittedBy,
        parent,
        root,
        depth: 0,
        event,
        context,
        payload: packed,
        hooked: true,
        rerun: null,
        options: null,
        called: null,
      };
      this.#begin(version, start, parent, root);
    }
  }

  /**
   * Begins a run, unless the root has too many descendants. The first run beyond the limit is created as dead; for further ones the
   * result is false.
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

const nothing = new Packed(packedEmpty);

/** Whether the pipeline's own condition accepts the event or hook. */
function wants({ compiled }: Version, data: Pick<Token, 'payload' | 'context'>): boolean {
  const { definition } = compiled;
  return definition.if === null || holds(definition.if, dataOf(data, null));
}

/** The payload of a hook. The result stays packed, because it may be large. */
function hookPayload({ id, status, body }: Omit<SettledJob, 'offset'>, plugin: string, command: string): Uint8Array {
  const error = bodyPart(body, 'error');
  const result = bodyPart(body, 'result');
  const job = pack({
    job_id: formatId(id),
    plugin,
    command,
    status,
    ...(error && { error: Buffer.from(error).toString() }),
  });
  return result ? withResult(job, result) : job;
}
