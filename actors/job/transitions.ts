// The life of a job as one table (docs/contract.md#statuses). A move that is not in it is a defect.
//
//   (none) ──▶ queued ──▶ running ──▶ succeeded | failed | timed_out | dead
//                 ▲          │
//                 └──────────┘  retried, or lost with its worker or the service
import type { Status } from './records/job.ts';

const moves: { readonly [From in Status]: readonly Status[] } = {
  // A queued job ends without running when it cannot run: its plugin was removed, its input could not be made.
  queued: ['running', 'failed', 'dead'],
  running: ['succeeded', 'queued', 'failed', 'timed_out', 'dead'],
  succeeded: [],
  failed: [],
  timed_out: [],
  dead: [],
};

/** A move that is not in the table is a bug of ours. */
export function assertMove(from: Status, to: Status): void {
  if (!moves[from].includes(to)) throw new Error(`a job cannot go from ${from} to ${to}`);
}
