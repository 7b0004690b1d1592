// Determines what an unsettled job waits for, from its records, its lane, the pauses, the dispatcher, its schedule and the runs that contain it.
// No other queued job is read.

import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import { queueText } from '../../schedule/views/queue.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import type { Lane } from '../dispatch/lane.ts';
import { isExempt } from '../holds/exempt.ts';
import type { JobState } from '../job-state.ts';
import type { Waits } from '../protocol.ts';
import { latestAttempt } from '../records/attempts.ts';
import { findBlock, groupOf } from '../records/block.ts';
import { headgatePlugin, pipelinePlugin } from '../records/job.ts';
import { attemptOf, findOpen } from '../records/open.ts';
import { hasExemptions, pauseText } from '../records/pause.ts';
import { storedTimes } from '../records/rescheduled.ts';
import { isInFlight } from '../records/retry.ts';

/**
 * What the job waits for, as of the last commit. Null: the job has settled or does not exist, a host has it, it is an action, or its record
 * is unusable.
 */
export function waitsOf(state: JobState, { pause }: Dispatcher, id: JobId, nowUs: number): Waits | null {
  const { reader, setAside } = state;
  const key = blockOf(id);
  const open = setAside.read('open', key, () => findOpen(reader, key));
  const index = indexOf(id);
  if (!open || index >= open.count || open.isSettled(index)) return null;
  if (open.plugin === headgatePlugin) return null;
  const block = open.isTimed ? setAside.read('blocks', key, () => findBlock(reader, id) ?? null) : null;
  const times = block ? storedTimes(reader, key, block, index) : null;
  if (open.isDelayed(index)) {
    if (block && times?.runAtUs === null)
      return {
        reason: 'schedule_queue',
        detail: queueText(reader, groupOf(block, index).group.context, id),
        sinceUs: 0,
      };
    const runAtUs = times?.runAtUs ?? null;
    const detail = 'its time to run has not come';
    return { reason: 'run_at', detail, sinceUs: 0, ...(runAtUs !== null && { untilUs: runAtUs }) };
  }
  const runAtUs = times?.runAtUs ?? 0;
  if (open.plugin === pipelinePlugin) {
    const pause = state.pauses.ofPipeline(open.command);
    const isHeld = pause !== null && !(hasExemptions(pause) && state.openRuns.exemptSince(id) !== null);
    if (!isHeld) return { reason: 'children', detail: 'its jobs have not all settled', sinceUs: runAtUs };
    const { untilUs } = pause;
    const sinceUs = Math.max(pause.sinceUs, runAtUs);
    const detail = `${pauseText(pause)}; its runs begin no new step`;
    return { reason: 'paused', detail, sinceUs, ...(untilUs !== null && { untilUs }) };
  }
  const next = setAside.read('retries', id, () => attemptOf(reader, open, index));
  if (!next || isInFlight(next)) return null;
  const lane = state.lane(open.plugin);
  const hold = lane.holdOf(open.command, lane.hold?.isOfService && isExempt(state, { open, index }));
  const isDue = next.dueUs <= nowUs;
  const endedUs = next.attempt > 1 ? (latestAttempt(reader, id)?.attempt.completedUs ?? 0) : 0;
  const dueUs = Math.max(next.dueUs, runAtUs);
  if (hold && (isDue || hold.reason !== 'paused')) {
    const { reason, detail, untilUs } = hold;
    // A pause holds a job once it is due; any other hold also while the job waits for a retry.
    const sinceUs = Math.max(hold.sinceUs, reason === 'paused' ? dueUs : Math.max(endedUs, runAtUs));
    return { reason, detail, sinceUs, ...(untilUs !== undefined && { untilUs }) };
  }
  if (!isDue) {
    const detail = `attempt ${next.attempt} of ${state.policyOf({ open, index }).attemptsMax}`;
    return { reason: 'retry', detail, sinceUs: endedUs, untilUs: next.dueUs };
  }
  if (pause)
    return {
      reason: pause.isDisk ? 'disk' : 'worker',
      detail: pause.detail,
      sinceUs: Math.max(pause.sinceUs, dueUs),
    };
  return { reason: 'worker', detail: crowd(lane), sinceUs: dueUs };
}

function crowd(lane: Lane): string {
  const { name, queued, running, instance, probe } = lane;
  const bound = instance?.parallelism == null ? '' : `, parallelism ${instance.parallelism}`;
  const trial = probe ? `; the breaker of ${probe.plugin} is half open: one trial job runs at a time` : '';
  return `jobs of ${name}: ${queued} queued, ${running} with workers${bound}${trial}`;
}
