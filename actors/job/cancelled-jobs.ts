// Ends cancelled jobs: those that wait, those at the head of their lane, and those whose attempt was stopped.
import { type Body, emptyBody, encodeBody } from '../../runtime/host/wire/outcome.ts';
import { jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { JobState } from './job-state.ts';
import type { Lane } from './lane.ts';
import { firstAttempt, hasRecord, type OpenAttempt } from './open-attempt.ts';
import { cancelText } from './records/cancel.ts';
import type { OpenBlock } from './records/open.ts';

/** Cancelled jobs: for each block, the indexes of these jobs in the block. */
export type Wanted = Map<OpenBlock, Set<number>>;

/** Ends a cancelled job whose attempt was stopped or has failed. `startedUs` null: the start of the attempt was not observed. */
export function endStopped(state: JobState, turn: Turn, job: OpenAttempt, startedUs: number | null, body: Body): void {
  state.end(turn, job, 'cancelled', startedUs, body);
}

/**
 * Ends a cancelled job whose attempt never started. Observations and hooks do not report this end if it was the job's first attempt and
 * only a run that contains the job was cancelled.
 */
export function endUnstarted(state: JobState, turn: Turn, job: OpenAttempt): void {
  const { open, index } = job;
  const own = state.cancels.of(jobId(open.keyBytes, index));
  const run = state.cancelledRun(open, index);
  const isFirst = !hasRecord(job);
  if (run && isFirst) state.cancels.countNotStarted(run, 1, 0);
  const body = own ? encodeBody({ error: Buffer.from(cancelText(own)) }) : emptyBody;
  state.end(turn, job, 'cancelled', null, body, 'queued', own === undefined && isFirst);
}

/** Ends the cancelled jobs at the head of the lane. Returns their number, at most `max`. */
export function dropCancelled(state: JobState, turn: Turn, lane: Lane, max: number): number {
  let dropped = 0;
  for (; dropped < max; dropped++) {
    const next = lane.peek();
    if (!next || !state.isCancelled(next)) break;
    endUnstarted(state, turn, lane.shift()!);
  }
  return dropped;
}

/** Ends cancelled jobs that wait. No host may have any of them. */
export function endWaiting(state: JobState, turn: Turn, wanted: Wanted): void {
  for (const [open, indexes] of wanted) {
    for (const index of indexes) {
      if (index >= open.next) {
        open.waitsIn!.waiting--;
        endUnstarted(state, turn, firstAttempt(open, index));
        continue;
      }
      const job = state.withdraw(open, index);
      if (job) endUnstarted(state, turn, job);
    }
  }
}
