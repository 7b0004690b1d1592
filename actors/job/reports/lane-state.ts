// The state of a lane. Only the first waiting job of each queue is examined, so a long queue costs no more than a short one.
import { earlier } from '../../../runtime/clock.ts';
import { blockKeyMs } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Backlog } from '../dispatch/backlog.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import { firstAttempt, type OpenAttempt } from '../open-attempt.ts';
import { decodeBlock } from '../records/block.ts';
import { breakerName } from '../records/pause.ts';
import { storedTimes } from '../records/rescheduled.ts';
import type { BreakerState, LaneHold, LaneState } from './queue-protocol.ts';

/** The lanes of configured plugins, and other lanes that have jobs. */
export function reportedLanes({ lanes }: JobState): Lane[] {
  return [...lanes.values()].filter(lane => lane.instance || lane.queued > 0 || lane.running > 0);
}

export function laneState(state: JobState, lane: Lane): LaneState {
  const { name, running, queued, held, instance, isIsolated } = lane;
  return {
    plugin: name,
    active: running,
    queued,
    held,
    limit: instance?.parallelism ?? null,
    oldestUs: queued === 0 ? null : oldestOf(state, lane),
    hold: holdOf(lane),
    breaker: breakerOf(state, lane),
    isIsolated,
  };
}

function holdOf({ hold }: Lane): LaneHold | null {
  if (!hold) return null;
  const { reason, detail, sinceUs, untilUs } = hold;
  return { reason, detail, sinceUs, ...(untilUs !== undefined && { untilUs }) };
}

function breakerOf({ pauses }: JobState, { name, breaker, probe }: Lane): BreakerState | null {
  if (breaker === null) return null;
  if (probe?.plugin === name) return 'half_open';
  return pauses.ofInstance(name)?.by === breakerName ? 'open' : 'closed';
}

/** The earliest time, in µs, at which a job at the head of one of the lane's queues became ready to run. Null: no job waits. */
function oldestOf(state: JobState, lane: Lane): number | null {
  const [lost] = lane.lost;
  let oldestUs = lost ? readyUs(state, lost) : null;
  for (const backlog of [lane, ...lane.heldByCommand.values()])
    oldestUs = earlier(oldestUs, firstReadyUs(state, backlog));
  return oldestUs;
}

function firstReadyUs(state: JobState, backlog: Backlog): number | null {
  const attempt = backlog.attempts.peek();
  const open = backlog.nextBlock;
  const attemptUs = attempt ? readyUs(state, attempt) : null;
  return earlier(attemptUs, open ? readyUs(state, firstAttempt(open, open.next)) : null);
}

/** When the waiting job became ready to run: the latest of its acceptance, its `run_at` and the `dueUs` of its attempt. */
export function readyUs({ reader }: JobState, { open, index, dueUs }: OpenAttempt): number {
  const times = readable(() => {
    // The block is not copied, because its times are decoded before the next read of the store.
    const bytes = open.block ? undefined : reader.peek('blocks', open.keyBytes);
    const block = open.block ?? (bytes && decodeBlock(bytes));
    if (!block) return undefined;
    const { createdUs } = block;
    const isDelayed = dueUs === 0 && open.isTimed;
    return { createdUs, runAtUs: isDelayed ? storedTimes(reader, open.keyBytes, block, index)?.runAtUs : null };
  });
  // The time in the key is only used if the block is unusable: after the clock was set back, it is later than the acceptance.
  return Math.max(times?.createdUs ?? blockKeyMs(open.keyBytes) * 1000, times?.runAtUs ?? 0, dueUs);
}
