// The custody (records/retry.ts) of an attempt that has left its block, and how it changes. In the table, `it` is the attempt.
//
//   event                                           custody       next
//   a frame takes it                                waiting       sent, or sentAlone if the frame has no other job and is not behind many
//                                                   suspect       sentAlone
//   it ends                                         in flight     the job ends, or its next attempt is waiting
//   it is returned unstarted                        in flight     waiting, or suspect if it was in quarantine
//   it may have begun; its thread or process ended  in flight     suspect if the command is retry-safe, otherwise charged
//   its host died and had other jobs, too           in flight     suspect if the command is retry-safe, otherwise charged
//   its host died and had no other job              in flight     charged; the next attempt is suspect
//   the service stops                               in flight     waiting if the command is retry-safe, otherwise charged
//   the service starts                              sent          waiting, alone in its next frame
//                                                   sentAlone     charged, or lost if its command is missing
//   its command is available again                  lost          charged
//
// In flight means sent or sentAlone. A charged attempt counts as failed: the job ends, or is retried at once. A job that was cancelled or
// is past its deadline ends instead of being retried or waiting again. So does an expired job, unless it may have started.
import { type Body, bodyPart, encodeBody, failedBody, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';
import type { Turn } from '../../runtime/turn.ts';
import { endStopped, endStoppedWaiting, endUnstarted, isOverdue, isStopped } from './cancel/cancelled-jobs.ts';
import type { JobFrame } from './dispatch/job-frame.ts';
import type { Lane } from './dispatch/lane.ts';
import { countEnd } from './holds/pausing.ts';
import type { JobState } from './job-state.ts';
import { hasRecord, type OpenAttempt } from './open-attempt.ts';
import { decide } from './times/retry-policy.ts';

export const lostBody = encodeBody({ error: Buffer.from('lost while running') });
export const stoppedBody = encodeBody({ error: Buffer.from('the service ended while the job ran') });

/** Handles the end of a task: applies the update of the plugin's state, if any, and ends the job or makes it wait for its next attempt. */
export function settleTask(state: JobState, turn: Turn, frame: JobFrame, outcome: Outcome): void {
  const job = frame.jobs[outcome.task]!;
  const { verdict, permanent, body } = withState(state, frame, outcome);
  const { retrySafe } = frame.command;
  const policy = verdict === 'ok' ? frame.lane.retry : state.policyOf(job);
  const decision = decide({ verdict, permanent, retrySafe }, job.attempt, policy, state.random);
  const isDone = decision.kind === 'end' && decision.status === 'succeeded';
  const stop = isDone ? null : state.stopOf(job, turn.nowUs);
  if (stop !== 'cancelled' || isOverdue(state, job)) countEnd(state, turn, frame.lane, verdict !== 'ok', frame.sentUs);
  if (stop) {
    endStopped(state, turn, job, stop, outcome.startedUs, body);
    return;
  }
  if (decision.kind === 'end') state.end(turn, job, decision.status, outcome.startedUs, body);
  else state.retry(turn, job, decision.status, outcome.startedUs, body, decision.delayMs, 'waiting');
}

/**
 * Applies the state update of a successful outcome. If `updateState` refuses the update, the state stays as it is and the attempt
 * fails permanently.
 */
function withState(
  state: JobState,
  frame: JobFrame,
  outcome: Outcome,
): Pick<Outcome, 'verdict' | 'permanent' | 'body'> {
  const { verdict, body } = outcome;
  if (verdict !== 'ok' || !hasPart(body, 'state_updates')) return outcome;
  const updates = bodyPart(body, 'state_updates')!;
  const refusal = state.completions.updateState(frame.lane.name, updates, frame.command.replacesState);
  return refusal === null ? outcome : { verdict: 'error', permanent: true, body: failedBody(body, refusal) };
}

/** Charges an attempt that was lost with its host or thread (`charge`). The breaker of its plugin counts the attempt. */
export function chargePlugin(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  startedUs: number,
  next?: 'waiting' | 'suspect',
  body?: Body,
): void {
  if (!state.isCancelled(job) || isOverdue(state, job))
    countEnd(state, turn, state.lane(job.open.plugin), true, job.dueUs);
  charge(state, turn, job, startedUs, next, body);
}

/**
 * Charges an attempt that was lost, for instance with its host or with the service: the attempt counts as failed. No breaker counts it. If
 * the command and the retry policy allow another attempt, the job is retried at once; otherwise the job ends. A job that was cancelled or is
 * past its deadline ends as cancelled or timed out. `startedUs`: when the job's frame was sent to its host; null: unknown.
 */
export function charge(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  startedUs: number | null,
  next: 'waiting' | 'suspect' = 'waiting',
  body = lostBody,
): void {
  const { plugin, command } = job.open;
  const lane = state.lane(plugin);
  const stop = state.stopOf(job, turn.nowUs);
  if (stop) {
    endStopped(state, turn, job, stop, startedUs, body);
    return;
  }
  const retrySafe = lane.lastKnown(command)?.retrySafe ?? true;
  const end = { verdict: 'error', permanent: false, retrySafe } as const;
  const decision = decide(end, job.attempt, state.policyOf(job), state.random);
  if (decision.kind === 'end') state.end(turn, job, decision.status, startedUs, body);
  else state.retry(turn, job, decision.status, startedUs, body, 0, next);
}

/**
 * Changes the custody of an attempt from in flight to `waiting` or `suspect`, without charging the attempt. Null: the job ended instead,
 * because it was cancelled, has expired or is past its deadline. `lost`: the body for the end of a job whose plugin code may have run; null:
 * no plugin code has run.
 */
export function giveBack(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  next: 'waiting' | 'suspect',
  lost: Body | null,
): OpenAttempt | null {
  if (lost) job.open.noteBegun(job.index);
  if (!isStopped(state, job, turn.nowUs)) return state.move(turn, job, next, 0);
  const stop = state.stopOf(job, turn.nowUs);
  if (stop !== null && lost) endStopped(state, turn, job, stop, null, lost);
  else endStoppedWaiting(state, turn, job);
  return null;
}

/** Recovers an attempt that no host has, after the actors have started. */
export function recover(state: JobState, turn: Turn, job: OpenAttempt): void {
  const lane = state.lane(job.open.plugin);
  const stop = state.stopOf(job, turn.nowUs);
  if (stop) {
    if (job.custody === 'waiting' || job.custody === 'suspect') endUnstarted(state, turn, job, stop);
    else endStopped(state, turn, job, stop, null, stoppedBody);
    return;
  }
  if (job.custody === 'lost') lane.lost.push(job);
  else if (job.custody === 'sentAlone') {
    if (!chargeStopped(state, turn, job)) lane.lost.push(state.move(turn, job, 'lost', turn.nowUs));
  } else if (job.custody === 'sent') {
    job.open.noteBegun(job.index);
    state.move(turn, job, 'waiting', job.dueUs);
    // The job may have started. As a suspect it is sent alone: if the service is killed again, the attempt is charged.
    lane.enqueueAttempt({ ...job, custody: 'suspect' });
  } else if (!hasRecord(job)) {
    if (isStopped(state, job, turn.nowUs)) endStoppedWaiting(state, turn, job);
    else lane.enqueueAttempt(job);
  } else {
    // Even if the clock was set back in the meantime, the job waits at most for the longest backoff of its plugin or of its step. The step's
    // policy is in the block, which is read only if the wait is long.
    const isLong = job.dueUs > turn.nowUs + lane.retry.backoffMaxMs * 1000;
    const latestUs = isLong ? turn.nowUs + state.policyOf(job).backoffMaxMs * 1000 : job.dueUs;
    state.awaitRetry({ ...job, dueUs: Math.min(job.dueUs, latestUs) });
  }
}

/** Charges the attempts in `lane.lost` whose commands are available again. Returns their number, at most `max`. */
export function chargeLost(state: JobState, turn: Turn, lane: Lane, max: number): number {
  let charged = 0;
  for (const job of lane.lost.splice(0)) {
    if (charged < max && chargeStopped(state, turn, job)) charged++;
    else lane.lost.push(job);
  }
  return charged;
}

/** Charges an attempt. False: its command is missing, so it is unknown whether the job may run again. The attempt is then unchanged. */
function chargeStopped(state: JobState, turn: Turn, job: OpenAttempt): boolean {
  const command = state.commandOf(job.open);
  if (command) charge(state, turn, job, null, 'waiting', command.retrySafe ? stoppedBody : lostBody);
  return command !== undefined;
}
