// What happens to an attempt that is not simply next in its block, as one table. Its custody is what is known of it
// (`records/retry.ts`).
//
//   event                                           custody       what follows
//   a frame takes it                                waiting       sent; sentAlone where the frame holds nothing else
//                                                   suspect       sentAlone
//   it ends                                         in flight     the job ends, or its next attempt is waiting
//   it comes back unstarted                         in flight     waiting; suspect where its host is one for suspects
//   its thread or process died of another job       in flight     suspect
//   its host died, and held other jobs too          in flight     suspect; charged where the command is not retry-safe
//   its host died, and held nothing else            in flight     charged, the next attempt is suspect
//   the service stops                               in flight     waiting; charged where the command is not retry-safe
//   the service starts again                        sent          waiting, alone in its next frame
//                                                   sentAlone     charged; lost while its command is missing
//   its command is back                             lost          charged
//
// In flight is sent or sentAlone. A charged attempt has failed: the job ends with it, or is retried at once.
import { bodyPart, encodeBody, failedBody, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';
import type { Turn } from '../../runtime/turn.ts';
import { endStopped, endUnstarted } from './cancelled-jobs.ts';
import type { JobFrame } from './job-frame.ts';
import type { JobState } from './job-state.ts';
import type { Lane } from './lane.ts';
import { hasRecord, type OpenAttempt } from './open-attempt.ts';
import { countEnd } from './pausing.ts';
import { decide } from './retry-policy.ts';

const lostBody = encodeBody({ error: Buffer.from('lost while running') });
const stoppedBody = encodeBody({ error: Buffer.from('the service ended while the job ran') });

/** A task of a frame ended: its job ends, with the plugin's state changed, or waits for its next attempt. */
export function settleTask(state: JobState, turn: Turn, frame: JobFrame, outcome: Outcome): void {
  const job = frame.jobs[outcome.task]!;
  const { verdict, permanent, body } = withState(state, frame, outcome);
  const { retrySafe } = frame.command;
  const decision = decide(
    { verdict, permanent, retrySafe },
    job.attempt,
    state.policyOf(job.open.plugin),
    state.random,
  );
  const isDone = decision.kind === 'end' && decision.status === 'succeeded';
  if (!isDone && state.isCancelled(job)) {
    endStopped(state, turn, job, outcome.startedUs, body);
    return;
  }
  if (frame.lane.breaker) countEnd(state, turn, frame.lane, verdict !== 'ok', frame.sentUs);
  if (decision.kind === 'end') state.end(turn, job, decision.status, outcome.startedUs, body);
  else state.retry(turn, job, decision.status, outcome.startedUs, body, decision.delayMs, 'waiting');
}

/** Changes the plugin's state as a good outcome says. Where the state would grow too large it stays, and the attempt fails for good. */
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

/** An attempt was lost with its host or the service: it failed, and the job is retried at once while attempts are left. */
export function charge(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  next: 'waiting' | 'suspect' = 'waiting',
  body = lostBody,
): void {
  if (state.isCancelled(job)) {
    endStopped(state, turn, job, null, body);
    return;
  }
  const { plugin, command } = job.open;
  const retrySafe = state.lane(plugin).lastKnown(command)?.retrySafe ?? true;
  const end = { verdict: 'error', permanent: false, retrySafe } as const;
  const decision = decide(end, job.attempt, state.policyOf(plugin), state.random);
  const lane = state.lane(plugin);
  if (lane.breaker) countEnd(state, turn, lane, true, job.dueUs);
  if (decision.kind === 'end') state.end(turn, job, decision.status, null, body);
  else state.retry(turn, job, decision.status, null, body, 0, next);
}

/**
 * A host gave the attempt back, uncharged: from now on it is `waiting` or `suspect`. Null: it was cancelled, and has ended.
 * `hasBegun`: plugin code may have run.
 */
export function giveBack(
  state: JobState,
  turn: Turn,
  job: OpenAttempt,
  next: 'waiting' | 'suspect',
  hasBegun: boolean,
): OpenAttempt | null {
  if (!state.isCancelled(job)) return state.move(turn, job, next, 0);
  if (hasBegun) endStopped(state, turn, job, null, stoppedBody);
  else endUnstarted(state, turn, job);
  return null;
}

/** The service starts, and no host has the attempt. */
export function recover(state: JobState, turn: Turn, job: OpenAttempt): void {
  const lane = state.lane(job.open.plugin);
  if (state.isCancelled(job)) {
    if (job.custody === 'waiting' || job.custody === 'suspect') endUnstarted(state, turn, job);
    else endStopped(state, turn, job, null, stoppedBody);
    return;
  }
  if (job.custody === 'lost') lane.lost.push(job);
  else if (job.custody === 'sentAlone') {
    if (!chargeStopped(state, turn, job)) lane.lost.push(state.move(turn, job, 'lost', turn.nowUs));
  } else if (job.custody === 'sent') {
    state.move(turn, job, 'waiting', job.dueUs);
    // It may have started: it runs alone, so that a second loss is certain.
    lane.enqueueAttempt({ ...job, custody: 'suspect' });
  } else if (!hasRecord(job)) lane.enqueueAttempt(job);
  else {
    // No longer than any retry waits, though the clock was set back meanwhile.
    const latestUs = turn.nowUs + state.policyOf(job.open.plugin).backoffMaxMs * 1000;
    state.delay({ ...job, dueUs: Math.min(job.dueUs, latestUs) });
  }
}

/** Charges the lost attempts whose commands are back. */
export function chargeLost(state: JobState, turn: Turn, lane: Lane): void {
  for (const job of lane.lost.splice(0)) if (!chargeStopped(state, turn, job)) lane.lost.push(job);
}

/** Only its command says whether the job may run again. False: the command is missing. */
function chargeStopped(state: JobState, turn: Turn, job: OpenAttempt): boolean {
  const command = state.commandOf(job.open);
  if (command) charge(state, turn, job, 'waiting', command.retrySafe ? stoppedBody : lostBody);
  return command !== undefined;
}
