// What starts runs besides calls: events that jobs emit, and hooks on how jobs end.
import type { Hook } from '../../config/pipeline/definition.ts';
import { bodyPart, hasPart } from '../../runtime/host/outcome.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack, packedEmpty, unpack } from '../../runtime/packing.ts';
import type { JobsSettled, SettledJob } from '../job/protocol.ts';
import type { JobGroup, TerminalStatus } from '../job/record.ts';
import { type Beginning, beginRun } from './begin.ts';
import type { Desk } from './desk.ts';
import { type Emitted, readEvents } from './events.ts';
import type { Version } from './versions.ts';

const hookOf: { readonly [status in TerminalStatus]: Hook } = {
  succeeded: 'job.completed',
  failed: 'job.failed',
  dead: 'job.failed',
  timed_out: 'job.timed_out',
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
  eventsOf(job: SettledJob, message: JobsSettled): readonly Emitted[] {
    if (job.status !== 'succeeded' || !hasPart(job.body, 'events')) return [];
    const events = readEvents(bodyPart(job.body, 'events')!);
    for (const event of events) {
      for (const version of this.#onEvent.get(event.type) ?? []) this.#start(version, event, job, message);
    }
    return events;
  }

  #start(version: Version, event: Emitted, job: SettledJob, { plugin, group }: JobsSettled): void {
    const desk = this.#desk;
    const { type, payload, dedupeKey } = event;
    if (dedupeKey !== null && !desk.dedupe.isNew(version.name, '', dedupeKey, desk.turn.nowUs, desk.batch)) return;
    beginRun(desk, version, {
      ...causedBy(job.id, group),
      depth: group.depth,
      event: { type, source: plugin, dedupeKey },
      context: group.context,
      payload,
      hooked: group.hooked,
    });
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
        ...causedBy(job.id, group),
        depth: 0,
        event: { type: hook, source: plugin, dedupeKey: null },
        context: packedEmpty,
        payload: pack(hookPayload(job, plugin, command)),
        hooked: true,
      });
    }
  }
}

type Cause = Pick<Beginning, 'submittedBy' | 'parent' | 'root' | 'called'>;

function causedBy(id: JobId, { submittedBy, root }: JobGroup): Cause {
  return { submittedBy, parent: id, root: root ?? id, called: null };
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
