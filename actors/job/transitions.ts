// The life of a job as one table (docs/contract.md#statuses).
//
//   (none) ──▶ queued ──▶ running ──▶ succeeded | failed | timed_out | dead | cancelled
//                 ▲          │
//                 └──────────┘  retried, or lost with its worker or the service
import type { Status } from './records/job.ts';

const moves: { readonly [From in Status]: readonly Status[] } = {
  // A queued job ends without running when it cannot run: its plugin was removed, its input could not be made, or it was cancelled.
  queued: ['running', 'failed', 'dead', 'cancelled'],
  running: ['succeeded', 'queued', 'failed', 'timed_out', 'dead', 'cancelled'],
  succeeded: [],
  failed: [],
  timed_out: [],
  dead: [],
  cancelled: [],
};

/** Throws where the move is not in the table: that is a defect of headgate. */
export function assertMove(from: Status, to: Status): void {
  if (!moves[from].includes(to)) throw new Error(`a job cannot go from ${from} to ${to}`);
}
