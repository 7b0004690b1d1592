// What follows from the end of one task: its job ends, with the plugin's state changed, or waits for its next attempt.
import { bodyPart, failedBody, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/port.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { JobFrame } from './job-frame.ts';
import type { JobState } from './job-state.ts';
import { decide } from './retry-policy.ts';

/** The task ends, or is to run again. */
export function settleTask(state: JobState, turn: Turn, frame: JobFrame, outcome: Outcome): void {
  const { task, startedUs } = outcome;
  const open = frame.opens[task]!;
  const index = frame.indexes[task]!;
  const kept = frame.kept[task]!;
  const attempt = frame.attempts[task]!;
  const { verdict, permanent, body } = withState(state, frame, outcome);
  const policy = state.policyOf(open.plugin);
  const decision = decide({ verdict, permanent, attempt, policy, retrySafe: frame.command.retrySafe }, state.random);
  if (decision.kind === 'end') {
    if (kept) state.dropRetry(turn, open, index);
    state.end(turn, open, index, { from: 'running', attempt, status: decision.status, startedUs, body });
    return;
  }
  state.logRetried(turn, open, index, attempt, decision.status, startedUs, body);
  const dueUs = turn.nowUs + decision.delayMs * 1000;
  state.retry(turn, open, index, { attempt: attempt + 1, dueUs, stage: 'waiting', culprit: false }, kept);
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
