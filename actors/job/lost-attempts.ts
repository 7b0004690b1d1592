// Attempts that were running alone when the service ended: they are charged, or their jobs end, as their commands say.
import { encodeBody } from '../../runtime/host/wire/outcome.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { JobState } from './job-state.ts';
import type { CommandLane, Lane } from './lane.ts';
import type { OpenBlock } from './records/open.ts';

/** The outcome of a job that must not be run twice and whose end nobody saw. */
export const lostBody = encodeBody({ error: Buffer.from('lost while running') });
const stoppedBody = encodeBody({ error: Buffer.from('the service ended while the job ran') });

/** Only its command says whether the job may run again: while that is not there, the job waits. */
export function handleLost(
  state: JobState,
  turn: Turn,
  open: OpenBlock,
  index: number,
  attempt: number,
  kept: boolean,
): void {
  const command = state.commandOf(open);
  if (command) {
    charge(state, turn, command, open, index, attempt, kept);
    return;
  }
  state.keepRetry(turn, open, index, { attempt, dueUs: turn.nowUs, stage: 'lost', culprit: false });
  if (!kept) {
    open.retrying++;
    open.back.push(index);
  }
  state.touch(open);
  state.lane(open.plugin).lost.push({ open, index, attempt, kept: true, alone: true });
}

/** Charges those whose commands are back. */
export function settleLost(state: JobState, turn: Turn, lane: Lane): void {
  for (const again of lane.lost.splice(0)) {
    const { open, index, attempt } = again;
    const command = state.commandOf(open);
    if (!command) {
      lane.lost.push(again);
      continue;
    }
    open.back = open.back.filter(other => other !== index);
    charge(state, turn, command, open, index, attempt, true);
  }
}

function charge(
  state: JobState,
  turn: Turn,
  { retrySafe }: CommandLane,
  open: OpenBlock,
  index: number,
  attempt: number,
  kept: boolean,
): void {
  state.lost(turn, open, index, attempt, kept, false, retrySafe ? stoppedBody : lostBody);
}
