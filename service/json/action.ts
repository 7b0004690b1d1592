// Writes actions as JSON, with request and progress. The request is the payload of the action's own job.
import { type Action, type ActionResult, noProgress, readResult } from '../../actors/job/records/action.ts';
import type { JobView } from '../../actors/job/views/job-view.ts';
import { bodyPart } from '../../runtime/host/wire/outcome.ts';
import { type JsonObject, unpack } from '../../runtime/packing.ts';
import { writeCursor } from './cursor.ts';
import { timestamp } from './timestamp.ts';

/** The letter that identifies the list of actions in cursors. */
export const actionsList = 'a';

/** The payload of an action's own job: the request, with the number of jobs (or occurrences) that matched, and the time of the count (`up_to`). */
export type ActionRequest = JsonObject & { readonly matched: number; readonly up_to: string };

/** `job`: the action's own job. `action`: the open action; undefined if it has ended. */
export function writeAction(job: JobView, action: Action | undefined): string {
  const { matched, ...asked } = requestOf(job);
  const { done, failed, skipped } = countsOf(job, action);
  const { cancel, createdUs, completedUs } = job;
  return JSON.stringify({
    action_id: job.jobId,
    state: job.status,
    ...asked,
    by: job.submittedBy,
    created_at: timestamp(createdUs),
    completed_at: completedUs === null ? null : timestamp(completedUs),
    matched,
    done,
    skipped,
    failed,
    ...(cancel && {
      cancel: { by: cancel.by, at: timestamp(cancel.atUs), ...(cancel.reason !== null && { reason: cancel.reason }) },
    }),
  });
}

export function requestOf({ input }: JobView): ActionRequest {
  return unpack<ActionRequest>(input.payload!);
}

function countsOf({ body }: JobView, action: Action | undefined): Omit<ActionResult, 'matched'> {
  const result = body && bodyPart(body, 'result');
  return result ? readResult(result) : (action?.progress ?? noProgress);
}

/** A page of the list of actions. `total`: the number of actions in the whole list. */
export type ActionPage = {
  readonly actions: readonly string[];
  readonly total: number;
  readonly next: Uint8Array | null;
};

export function writeActions({ actions, total, next }: ActionPage): string {
  const more = next ? `,"next_cursor":"${writeCursor(actionsList, next)}"` : '';
  return `{"actions":[${actions.join(',')}],"total":${total}${more}}`;
}
