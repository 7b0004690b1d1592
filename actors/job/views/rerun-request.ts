// Makes the request that reruns a settled job. Only a run can be rerun `from: failed`; any other job is rerun from the start.
import { parseId } from '../../../runtime/ids.ts';
import { callEvent } from '../../pipeline/protocol.ts';
import type { EntryEvent, RerunSource } from '../protocol.ts';
import { pipelinePlugin, type RerunFrom } from '../records/job.ts';
import { type CallOptions, rerunOptions } from '../records/options.ts';
import type { JobView } from './job-view.ts';

export type RerunRequest = {
  readonly event: EntryEvent | null;
  readonly source: RerunSource;
  readonly options?: CallOptions;
};

export function rerunRequest(
  { jobId, plugin, input: { context, event }, options: old }: JobView,
  reason: string | null,
  asked: RerunFrom,
  given?: CallOptions,
): RerunRequest {
  const options = rerunOptions(old, given);
  const from = plugin === pipelinePlugin ? asked : 'start';
  return {
    event: event && { type: event.type, source: event.source, ...(event.headers && { headers: event.headers }) },
    source: { rerun: { of: parseId(jobId)!, from, reason }, context, dedupeKey: event?.dedupeKey ?? null },
    ...(options && { options }),
  };
}

/** The event that started the run, from a webhook delivery, a schedule or a job. Null: a call started the run. */
export function deliveredEvent({ event }: RerunRequest): EntryEvent | null {
  return event && (event.type !== callEvent.type || event.source !== callEvent.source) ? event : null;
}
