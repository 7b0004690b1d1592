// What follows from the end of one task: its job ends, with the plugin's state changed, or waits for its next attempt.
import { bodyPart, failedBody, hasPart } from '../../runtime/host/outcome.ts';
import type { Outcome } from '../../runtime/host/port.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Desk } from './desk.ts';
import type { JobFrame } from './frame.ts';
import type { SlotName } from './slot.ts';
import { decide } from './verdict.ts';

/** The task, which ran in this slot, ends, or is to run again. */
export function settleTask(desk: Desk, turn: Turn, slot: SlotName, frame: JobFrame, outcome: Outcome): void {
  const { task } = outcome;
  const open = frame.opens[task]!;
  const index = frame.indexes[task]!;
  const kept = frame.kept[task]!;
  const attempt = frame.attempts[task]!;
  let { verdict, permanent, body } = outcome;
  if (verdict === 'ok') {
    if (hasPart(body, 'state_updates')) {
      const updates = bodyPart(body, 'state_updates')!;
      const refusal = desk.books.updateState(frame.lane.name, updates, frame.command.replacesState);
      if (refusal) {
        verdict = 'error';
        permanent = true;
        body = failedBody(body, refusal);
      }
    }
    if (verdict === 'ok') {
      if (kept) desk.dropRetry(turn, open, index);
      desk.end(turn, open, index, {
        from: 'running',
        attempt,
        status: 'succeeded',
        startedUs: outcome.startedUs,
        body,
      });
      return;
    }
  }
  const policy = desk.policyOf(open.plugin);
  const decision = decide({ verdict, permanent, attempt, policy, retrySafe: frame.command.retrySafe }, desk.random);
  if (decision.kind === 'end') {
    if (kept) desk.dropRetry(turn, open, index);
    desk.end(turn, open, index, {
      from: 'running',
      attempt,
      status: decision.status,
      startedUs: outcome.startedUs,
      body,
    });
    return;
  }
  desk.logRetried(turn, open, index, attempt, decision.status, outcome.startedUs, body);
  const dueUs = turn.nowUs + decision.delayMs * 1000;
  const culprit = slot === 'quarantine' && kept;
  desk.retry(turn, open, index, { attempt: attempt + 1, dueUs, stage: 'waiting', culprit }, kept);
}
