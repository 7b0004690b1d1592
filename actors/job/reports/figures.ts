// The figures of the dispatcher and its lanes, which the ledger reports to the main thread once a second.
import type { Dispatcher } from '../dispatch/dispatch.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import { firstAttempt } from '../open-attempt.ts';
import { readyUs, reportedLanes } from './lane-state.ts';
import type { LedgerFigures } from './report-protocol.ts';

export function figuresOf(state: JobState, dispatcher: Dispatcher, nowUs: number): LedgerFigures {
  return {
    kind: 'ledger_figures',
    nowMs: nowUs / 1000,
    isFull: dispatcher.pause?.isDisk === true,
    utilization: Math.min(1, dispatcher.utilization(nowUs)),
    lanes: reportedLanes(state).map(lane => ({
      plugin: lane.name,
      queued: lane.queued,
      running: lane.running,
      oldestMs: lane.hold ? null : oldestMs(state, lane),
    })),
  };
}

/**
 * The earliest time, in ms since the epoch, at which the lane's next single attempt or the next job of its blocks could run. Null: neither
 * waits.
 */
function oldestMs(state: JobState, lane: Lane): number | null {
  const open = lane.nextBlock;
  const heads = [lane.attempts.peek(), open && firstAttempt(open, open.next)].filter(job => job !== undefined);
  if (heads.length === 0) return null;
  return Math.min(...heads.map(job => Math.max(readyUs(state, job), lane.freeSinceUs(job.open.command)))) / 1000;
}
