// What an unsettled job waits for: worked out from its records and its lane, without a look at other jobs.

import { blockOf, indexOf, type JobId } from '../../runtime/ids.ts';
import type { Dispatcher } from './dispatch.ts';
import type { JobState } from './job-state.ts';
import type { Lane } from './lane.ts';
import type { Waits } from './protocol.ts';
import { latestAttempt } from './records/attempts.ts';
import { pipelinePlugin } from './records/job.ts';
import { decodeRetry, isOut } from './records/retry.ts';
import { openOf } from './views/job-view.ts';

/** As of the last commit. Null: the job has settled, a host has it, or its record cannot be decoded. */
export function waitsOf(state: JobState, { pause }: Dispatcher, id: JobId, nowUs: number): Waits | null {
  const { reader, setAside } = state;
  const key = blockOf(id);
  const open = setAside.read('open', key, () => openOf(reader, key));
  const index = indexOf(id);
  if (!open || index >= open.count || open.isSettled(index)) return null;
  if (open.plugin === pipelinePlugin)
    return { reason: 'children', detail: 'its jobs have not all settled', sinceUs: 0 };
  const bytes = open.retrying > 0 ? reader.get('retries', id) : undefined;
  const retry = bytes && setAside.read('retries', id, () => decodeRetry(bytes));
  if (retry ? isOut(retry) : open.isOut(index)) return null;
  const lane = state.lane(open.plugin);
  const hold = lane.holdOf(open.command);
  if (hold) return { reason: hold.reason, detail: hold.detail, sinceUs: hold.sinceUs };
  if (retry?.stage === 'waiting' && retry.dueUs > nowUs) {
    const sinceUs = latestAttempt(reader, id)?.attempt.completedUs ?? 0;
    const detail = `attempt ${retry.attempt} of ${lane.retry.attemptsMax}`;
    return { reason: 'retry', detail, sinceUs, untilUs: retry.dueUs };
  }
  const sinceUs = retry?.dueUs ?? 0;
  if (pause)
    return {
      reason: pause.isDisk ? 'disk' : 'worker',
      detail: pause.detail,
      sinceUs: Math.max(pause.sinceUs, sinceUs),
    };
  return { reason: 'worker', detail: crowd(lane), sinceUs };
}

function crowd(lane: Lane): string {
  const { name, queued, running, instance } = lane;
  const bound = instance?.parallelism == null ? '' : `, parallelism ${instance.parallelism}`;
  return `jobs of ${name}: ${queued} queued, ${running} with workers${bound}`;
}
