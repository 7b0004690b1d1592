// Ends jobs that were cancelled, have expired or are past their deadline. Such a job waits, or its attempt was stopped or
// returned, has failed or was lost.
import { type Body, emptyBody, encodeBody, failedBody } from '../../../runtime/host/wire/outcome.ts';
import { jobId } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import { firstAttempt, isUnstarted, type OpenAttempt, type StopReason } from '../open-attempt.ts';
import { type Cancel, cancelText, putNote } from '../records/cancel.ts';
import type { OpenBlock } from '../records/open.ts';

/** Jobs that must end: for each block, the indexes of these jobs in the block. */
export type JobsToEnd = Map<OpenBlock, Set<number>>;

export const lateText = 'the deadline of the job has passed';
/** The cancel of a job or run that has expired. */
export function expiryAt(atUs: number): Cancel {
  return { by: 'headgate', reason: 'expired', atUs, notStarted: { jobs: 0, elements: 0 } };
}

/**
 * Ends a job that was cancelled or is past its deadline, and whose attempt was stopped, has failed or was lost. `startedUs` null:
 * the start of the attempt was not observed.
 */
export function endStopped(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  status: StopReason,
  startedUs: number | null,
  body: Body,
): void {
  if (status === 'timed_out') state.end(turn, job, status, startedUs, failedBody(body, lateText));
  else state.end(turn, job, isOverdue(state, job) ? 'timed_out' : status, startedUs, body);
}

/** Whether the job was stopped only because the deadline of a run that contains it, or the time limit of that run's phase, has passed. */
export function isOverdue(state: JobState, { open, index }: OpenAttempt): boolean {
  const run = state.cancels.own(jobId(open.keyBytes, index)) ? null : state.cancelledRun(open, index);
  return run !== null && state.cancels.of(run)?.timeout !== undefined;
}

/**
 * Ends a job that was cancelled or is past its deadline (`stop`), and that waits or was returned unstarted. If none of its plugin code can
 * have run and it was cancelled only with a run, no observation reports the end, and no hook starts.
 */
export function endUnstarted(state: JobState, turn: Turn, job: OpenAttempt, stop: StopReason): void {
  const { open, index } = job;
  if (stop === 'timed_out') {
    state.end(turn, job, 'timed_out', null, encodeBody({ error: Buffer.from(lateText) }), 'queued');
    return;
  }
  const own = state.cancels.of(jobId(open.keyBytes, index));
  const run = state.cancelledRun(open, index);
  const neverStarted = isUnstarted(job);
  if (run && neverStarted) state.cancels.countNotStarted(run, 1, 0);
  const body = own ? encodeBody({ error: Buffer.from(cancelText(own)) }) : emptyBody;
  state.end(turn, job, 'cancelled', null, body, 'queued', own === undefined && neverStarted);
}

/** Whether the next job of the lane may have to end instead of starting. */
export function mayStop(state: JobState, lane: Lane): boolean {
  return !state.cancels.isEmpty || lane.nextIsTimed;
}

/** Whether the waiting job must not start: it was cancelled, has expired, or its deadline has passed. */
export function isStopped(state: JobState, job: OpenAttempt, nowUs: number): boolean {
  return state.stopOf(job, nowUs) !== null || hasExpired(state, job, nowUs);
}

/**
 * Whether the job has expired: it should have started by now and has not. A job whose attempt was returned or lost has started if its
 * plugin code may have run.
 */
function hasExpired(state: JobState, job: OpenAttempt, nowUs: number): boolean {
  const { open, index } = job;
  if (!open.isTimed || !isUnstarted(job)) return false;
  const expiresUs = state.times.of(open, state.load(open), index)?.expiresUs ?? null;
  return expiresUs !== null && expiresUs <= nowUs;
}

/** Ends the jobs at the head of the lane that must not start. Returns their number, at most `max`. */
export function dropStopped(state: JobState, turn: Turn, lane: Lane, max: number): number {
  let dropped = 0;
  for (; dropped < max; dropped++) {
    const next = lane.peek();
    if (!next || !isStopped(state, next, turn.nowUs)) break;
    endStoppedWaiting(state, turn, lane.shift()!);
  }
  return dropped;
}

/** Ends a waiting job that must not start. */
export function endStoppedWaiting(state: JobState, turn: Turn, job: OpenAttempt): void {
  const stop = state.stopOf(job, turn.nowUs);
  if (stop) {
    endUnstarted(state, turn, job, stop);
    return;
  }
  const cancel = expiryAt(turn.nowUs);
  putNote(turn.batch, jobId(job.open.keyBytes, job.index), cancel);
  state.end(turn, job, 'cancelled', null, encodeBody({ error: Buffer.from(cancelText(cancel)) }), 'queued');
}

/** Ends waiting jobs, each of which was cancelled, has expired or is past its deadline. Hosts must have none of these jobs. */
export function endWaiting(state: JobState, turn: Turn, wanted: JobsToEnd): void {
  for (const [open, indexes] of wanted) {
    for (const index of indexes) {
      if (index >= open.next && !open.isDelayed(index)) {
        open.waitsIn!.changeWaiting(open.command, -1);
        endStoppedWaiting(state, turn, firstAttempt(open, index));
        continue;
      }
      const job = state.withdraw(open, index);
      if (job) endStoppedWaiting(state, turn, job);
    }
  }
}
