// The settled jobs that concern the pipeline actor, in groups. They are jobs of runs, jobs that succeeded and emitted events, and jobs whose
// end may start a hook.
import { isJobHook, type PipelineDefinition } from '../../config/pipeline/definition.ts';
import { hasPart } from '../../runtime/host/wire/outcome.ts';
import type { JobsSettled, SettledJob } from './protocol.ts';
import type { JobGroup } from './records/job.ts';

export class SettledJobs {
  #hooked = false;
  #settled: (JobsSettled & { readonly jobs: SettledJob[] })[] = [];

  configure(pipelines: readonly PipelineDefinition[]): void {
    this.#hooked = pipelines.some(({ onHook }) => onHook !== null && isJobHook(onHook));
  }

  add(plugin: string, command: string, group: JobGroup, job: SettledJob): void {
    if (!this.#isRouted(group, job)) return;
    const last = this.#settled.at(-1);
    if (last && last.group === group && last.command === command && last.plugin === plugin) last.jobs.push(job);
    else this.#settled.push({ plugin, command, group, jobs: [job] });
  }

  /** Returns the jobs that were added since the last call and concern the pipeline actor. */
  take(): readonly JobsSettled[] {
    const settled = this.#settled;
    if (settled.length > 0) this.#settled = [];
    return settled;
  }

  #isRouted(group: JobGroup, { status, body }: SettledJob): boolean {
    if (group.run !== null) return true;
    if (status === 'succeeded' && hasPart(body, 'events')) return true;
    return this.#hooked && !group.hooked;
  }
}
