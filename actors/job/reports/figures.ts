// The figures of the dispatcher and its lanes, which the ledger reports to the main thread once a second.
import { blockKeyMs } from '../../../runtime/ids.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { LedgerFigures } from './report-protocol.ts';

export function figuresOf(state: JobState, dispatcher: Dispatcher, nowUs: number): LedgerFigures {
  const lanes = [...state.lanes.values()].filter(lane => lane.instance || lane.queued > 0 || lane.running > 0);
  return {
    kind: 'ledger_figures',
    isFull: dispatcher.pause?.isDisk === true,
    utilization: Math.min(1, dispatcher.utilization(nowUs)),
    lanes: lanes.map(lane => ({
      plugin: lane.name,
      queued: lane.queued,
      running: lane.running,
      oldestMs: lane.hold ? null : oldestMs(state, lane),
    })),
  };
}

/**
 * The time, in ms since the epoch, at which the lane's next single attempt or its next block became ready to run, whichever is earlier. A
 * block counts from its acceptance, even if its jobs were delayed. Null: neither waits.
 */
function oldestMs(state: JobState, lane: Lane): number | null {
  const attempt = lane.attempts.peek();
  const block = lane.nextBlock;
  const times = [...(attempt ? [waitsSinceMs(state, attempt)] : []), ...(block ? [blockKeyMs(block.keyBytes)] : [])];
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * When the waiting job became ready to run, in ms since the epoch: the latest of its acceptance, the `dueUs` of its attempt and, if its
 * block is in memory, its time to run.
 */
function waitsSinceMs(state: JobState, { open, index, dueUs }: OpenAttempt): number {
  const runAtUs = open.isTimed && open.block ? (state.times.of(open, open.block, index)?.runAtUs ?? 0) : 0;
  return Math.max(blockKeyMs(open.keyBytes), dueUs / 1000, runAtUs / 1000);
}
