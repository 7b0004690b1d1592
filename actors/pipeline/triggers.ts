// What starts runs besides calls: events that jobs emit, and hooks on how jobs end.

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

/** The job that emitted an event, as far as the runs it starts take over from it. */
type Emitter = Omit<Origin, 'place'>;

export class Triggers {
  readonly #table: RunTable;
  readonly #children: Children;
  #onEvent = new Map<string, Version[]>();
  /** Whether an event may take long: a pipeline looks at it closely before it begins. */
  isLong = false;
  #onHook = new Map<Hook, Version[]>();
  /** Whether a pipeline waits for the end of jobs. */
  hasJobHooks = false;

  constructor(table: RunTable, children: Children) {
    this.#table = table;
    this.#children = children;
    this.configure();
  }

  /** Which pipelines are started by what; again after each change of the configuration. */
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

  /** Whether a pipeline waits for one of these. */
  areAwaited(events: readonly Emitted[]): boolean {
    return events.some(({ type }) => this.#onEvent.has(type));
  }

  /** Starts the pipelines that wait for an event of this type; false: none was started. */
  fire({ type, payload, dedupeKey }: Emitted, emitter: Emitter): boolean {
    const table = this.#table;
    const { job: parent, plugin, submittedBy, depth, context, hooked } = emitter;
    const root = emitter.root ?? parent;
    let started = false;
    for (const version of this.#onEvent.get(type) ?? []) {
      // First: an event that the pipeline does not want leaves its key to a later one.
      if (!wants(version, { payload: new Packed(payload), context: new Packed(context) })) continue;
      if (dedupeKey !== null && !table.dedupe.isNew(version.name, '', dedupeKey, table.turn)) continue;
      const event = { type, source: plugin, dedupeKey };
      const start = { submittedBy, parent, root, depth, event, context, payload, hooked, rerun: null, called: null };
      if (this.#begin(version, start, parent, root)) started = true;
    }
    return started;
  }

  get hasEvents(): boolean {
    return this.#onEvent.size > 0;
  }

  /** Whether a pipeline waits for this end of a job; never for that of one that a hook's run brought about. */
  isHooked({ status }: SettledJob, { hooked }: JobGroup): boolean {
    return !hooked && this.#onHook.has(hookOf[status]);
  }

  /** The hooks of a job that ended for good. */
  fireHooks(job: SettledJob, { plugin, command, group }: JobsSettled): void {
    const { submittedBy, root } = group;
    this.#fireHook(hookOf[job.status], { job: job.id, plugin, submittedBy, root }, hookPayload(job, plugin, command));
  }

  /** The same of an end that has waited. */
  fireWaiting({ job: id, plugin, submittedBy, root, hook }: Origin, body: Body): true {
    const { status, command } = hook!;
    const payload = hookPayload({ id, status, body }, plugin, command);
    this.#fireHook(hookOf[status], { job: id, plugin, submittedBy, root }, payload);
    return true;
  }

  /** The hooks of a run that is over; it is none that a step called, and none that a hook brought about. */
  fireRunHooks(run: FinishedRun, { status, error }: RunEnd): void {
    const { id, name: pipeline, submittedBy, root, inside, unsuccessful } = run;
    const hook = runHookOf[status];
    if (!this.#onHook.has(hook)) return;
    const failure = status === 'succeeded' ? {} : { error };
    const job_id = formatId(id);
    const counts = tallyOf(inside, unsuccessful);
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
        called: null,
      };
      this.#begin(version, start, parent, root);
    }
  }

  /** The run that is one too many below its root is dead; false: there was one already, and no more begin. */
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

/** Whether the pipeline's own condition lets an event or a hook start it: where it is false there is no run. */
function wants({ compiled }: Version, data: Pick<Token, 'payload' | 'context'>): boolean {
  const { definition } = compiled;
  return definition.if === null || holds(definition.if, dataOf(data, null));
}

/** The result is not decoded: it may be large. */
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
