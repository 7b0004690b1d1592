// Passes the events of jobs, and the ends of jobs and runs, to the pipelines that wait for them. The pipelines start now or, if
// the events or hooks must wait (deferred-events.ts), in later turns.
import type { Body } from '../../../runtime/host/wire/outcome.ts';
import { packedEmpty } from '../../../runtime/packing.ts';
import type { JobsSettled, SettledJob } from '../../job/protocol.ts';
import { pipelinePlugin, type TerminalStatus } from '../../job/records/job.ts';
import type { Tags } from '../../job/records/tags.ts';
import type { FinishedRun } from '../run.ts';
import { Packed } from '../tokens/token.ts';
import type { DeferredEvents } from './deferred-events.ts';
import { type HookOrigin, hookPayload } from './hooks.ts';
import type { JobEvents } from './job-events.ts';
import type { Triggers } from './triggers.ts';

export class Signals {
  readonly #triggers: Triggers;
  readonly #deferred: DeferredEvents;

  constructor(triggers: Triggers, deferred: DeferredEvents) {
    this.#triggers = triggers;
    this.#deferred = deferred;
  }

  /** Fires the hooks for the end of a job. Jobs inside a hook's run fire no hooks. */
  jobEnded({ id: job, status, body }: SettledJob, { plugin, command, group }: JobsSettled): void {
    const { submittedBy, root, depth, hooked } = group;
    if (hooked || !this.#triggers.isHooked(plugin, status)) return;
    const origin = {
      job,
      plugin,
      submittedBy,
      root,
      depth,
      context: packedEmpty,
      hooked,
      place: null,
      ...tagsOf(group.options?.tags),
      hook: { command, status },
    };
    this.#fireHook(origin, body);
  }

  runEnded(run: FinishedRun, status: TerminalStatus, body: Body): void {
    const { id: job, name: command, submittedBy, root, depth, hooked, tags } = run;
    const plugin = pipelinePlugin;
    if (!this.#triggers.isHooked(plugin, status)) return;
    const origin = { job, plugin, submittedBy, root, depth, context: packedEmpty, hooked, place: null };
    this.#fireHook({ ...origin, ...tagsOf(tags), hook: { command, status } }, body);
  }

  #fireHook(origin: HookOrigin, body: Body): void {
    if (this.#triggers.mustHookWait(origin, body)) this.#deferred.add(origin);
    else this.#triggers.fire(this.#triggers.ofHook(origin, new Packed(hookPayload(origin, body))));
  }

  emitted(job: SettledJob, events: JobEvents, { plugin, group }: JobsSettled): void {
    const { submittedBy, root, depth, context, hooked } = group;
    const emitter = { job: job.id, plugin, submittedBy, root, depth, context, hooked, ...tagsOf(group.options?.tags) };
    if (events === null) {
      if (this.#triggers.hasEvents) this.#deferred.add({ ...emitter, place: null });
    } else if (this.#triggers.areAwaited(events)) {
      if (this.#deferred.mustWait || this.#triggers.mustWait(events)) this.#deferred.add({ ...emitter, place: null });
      else for (const event of events) this.#triggers.fire(this.#triggers.ofEvent(event, emitter));
    }
  }
}

/** The tags that runs take from the job whose event or hook started them. */
function tagsOf(tags: Tags | undefined): { readonly tags?: Tags } {
  return tags === undefined ? {} : { tags };
}
