// The statuses of a job and the transitions between them (docs/contract.md#statuses).
//
//   (none) ──▶ queued ──▶ running ──▶ succeeded | failed | timed_out | dead | cancelled
//                 ▲          │
//                 └──────────┘  retried, returned unstarted, or lost with its worker or the service
import type { Status } from './records/job.ts';

const moves: { readonly [From in Status]: readonly Status[] } = {
  // A queued job ends without running if it was cancelled, has expired, or is past its deadline; if its hold has lasted too long; if it
  // exceeds a limit on chains or trees; or if its input could not be created.
  queued: ['running', 'failed', 'timed_out', 'dead', 'cancelled'],
  running: ['succeeded', 'queued', 'failed', 'timed_out', 'dead', 'cancelled'],
  succeeded: [],
  failed: [],
  timed_out: [],
  dead: [],
  cancelled: [],
};

/** Throws if `moves` does not have this transition, which would be a defect of headgate. */
export function assertMove(from: Status, to: Status): void {
  if (!moves[from].includes(to)) throw new Error(`a job cannot go from ${from} to ${to}`);
}
