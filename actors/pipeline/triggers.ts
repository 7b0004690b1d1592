// What starts runs besides calls: events that jobs emit, and hooks on how jobs end.
import type { Hook } from '../../config/pipeline/definition.ts';
import { bodyPart, hasPart } from '../../runtime/host/outcome.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack, packedEmpty, unpack } from '../../runtime/packing.ts';
import type { JobsSettled, SettledJob } from '../job/protocol.ts';
import type { JobGroup, TerminalStatus } from '../job/record.ts';
import { beginRun } from './begin.ts';
import type { Desk } from './desk.ts';
import { type Emitted, readEvents } from './events.ts';
import type { Version } from './versions.ts';

const hookOf: { readonly [status in TerminalStatus]: Hook } = {
  succeeded: 'job.completed',
  failed: 'job.failed',
  dead: 'job.failed',
  timed_out: 'job.timed_out',
};

/** The job that emitted an event, as far as the runs it starts take over from it. */
export type Emitter = Pick<JobGroup, 'submittedBy' | 'root' | 'depth' | 'context' | 'hooked'> & {
  readonly job: JobId;
  readonly plugin: string;
};

export class Triggers {
  readonly #desk: Desk;
  #onEvent = new Map<string, Version[]>();
  #onHook = new Map<Hook, Version[]>();

  constructor(desk: Desk) {
    this.#desk = desk;
    this.configure();
  }

  /** Which pipelines are started by what; again after each change of the configuration. */
  configure(): void {
    this.#onEvent = new Map();
    this.#onHook = new Map();
    for (const version of this.#desk.versions.currentAll()) {
      const { on, onHook } = version.compiled.definition;
      if (on !== null) this.#onEvent.set(on, [...(this.#onEvent.get(on) ?? []), version]);
      if (onHook !== null) this.#onHook.set(onHook, [...(this.#onHook.get(onHook) ?? []), version]);
    }
  }

  /** The events of a job that succeeded: each starts the pipelines that wait for its type. */
  eventsOf(job: SettledJob, { plugin, group }: JobsSettled): readonly Emitted[] {
    if (job.status !== 'succeeded' || !hasPart(job.body, 'events')) return [];
    const events = readEvents(bodyPart(job.body, 'events')!);
    const { submittedBy, root, depth, context, hooked } = group;
    const emitter = { job: job.id, plugin, submittedBy, root, depth, context, hooked };
    for (const event of events) this.fire(event, emitter);
    return events;
  }

  /** Starts the pipelines that wait for an event of this type; false when there are none. */
  fire({ type, payload, dedupeKey }: Emitted, emitter: Emitter): boolean {
    const desk = this.#desk;
    const { job: parent, plugin, submittedBy, depth, context, hooked } = emitter;
    const root = emitter.root ?? parent;
    let started = false;
    for (const version of this.#onEvent.get(type) ?? []) {
      if (dedupeKey !== null && !desk.dedupe.isNew(version.name, '', dedupeKey, desk.turn.nowUs, desk.batch)) continue;
      const event = { type, source: plugin, dedupeKey };
      beginRun(desk, version, { submittedBy, parent, root, depth, event, context, payload, hooked, called: null });
      started = true;
    }
    return started;
  }

  get hasEvents(): boolean {
    return this.#onEvent.size > 0;
  }

  get hasHooks(): boolean {
    return this.#onHook.size > 0;
  }

  /** The hooks of a job that ended for good; never of one that a hook's run brought about. */
  fireHooks(job: SettledJob, { plugin, command, group }: JobsSettled): void {
    if (group.hooked) return;
    const hook = hookOf[job.status];
    for (const version of this.#onHook.get(hook) ?? []) {
      beginRun(this.#desk, version, {
        submittedBy: group.submittedBy,
        parent: job.id,
        root: group.root ?? job.id,
        depth: 0,
        event: { type: hook, source: plugin, dedupeKey: null },
        context: packedEmpty,
        payload: pack(hookPayload(job, plugin, command)),
        hooked: true,
        called: null,
      });
    }
  }
}

function hookPayload({ id, status, body }: SettledJob, plugin: string, command: string): object {
  const error = bodyPart(body, 'error');
  const result = bodyPart(body, 'result');
  return {
    job_id: formatId(id),
    plugin,
    command,
    status,
    ...(error && { error: Buffer.from(error).toString() }),
    ...(result && { result: unpack(result) }),
  };
}
