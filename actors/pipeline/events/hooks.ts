// Finds which hook the end of a job or run fires, and makes the hook's payload.
import type { Hook } from '../../../config/pipeline/definition.ts';
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import { formatId } from '../../../runtime/ids.ts';
import { pack } from '../../../runtime/packing.ts';
import { pipelinePlugin, readTally, type TerminalStatus } from '../../job/records/job.ts';
import type { Origin } from '../records/deferred-event.ts';
import { withResult } from '../tokens/token.ts';

/** The origin of a hook: the job or run that has ended. */
export type HookOrigin = Origin & { readonly hook: NonNullable<Origin['hook']> };

export function isHook(origin: Origin): origin is HookOrigin {
  return origin.hook !== undefined;
}

const jobHooks: { readonly [status in TerminalStatus]: Hook } = {
  succeeded: 'job.completed',
  failed: 'job.failed',
  dead: 'job.failed',
  timed_out: 'job.timed_out',
  cancelled: 'job.cancelled',
};
const runHooks: { readonly [status in TerminalStatus]: Hook } = {
  succeeded: 'pipeline.completed',
  failed: 'pipeline.failed',
  dead: 'pipeline.failed',
  timed_out: 'pipeline.timed_out',
  cancelled: 'pipeline.cancelled',
};

export function hookOf(plugin: string, status: TerminalStatus): Hook {
  return plugin === pipelinePlugin ? runHooks[status] : jobHooks[status];
}

/** The payload of the runs that a hook starts. `body`: the output of the ended job or run. The result of a job is copied, not decoded. */
export function hookPayload({ job: id, plugin, submittedBy, hook }: HookOrigin, body: Body): Uint8Array {
  const { command, status } = hook;
  const job_id = formatId(id);
  const text = bodyPart(body, 'error');
  const error = text && { error: Buffer.from(text).toString() };
  if (plugin === pipelinePlugin)
    return pack({ job_id, pipeline: command, status, ...error, counts: readTally(body), submitted_by: submittedBy });
  const job = pack({ job_id, plugin, command, status, ...error });
  const result = bodyPart(body, 'result');
  return result ? withResult(job, result) : job;
}
