// Makes a job due at once that waits for the time of its next attempt.
import { blockOf, indexOf, type JobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Dispatcher } from './dispatch.ts';
import type { JobState } from './job-state.ts';
import { keyText } from './records/open.ts';

/** False: the job waits for no time. */
export function runNow(state: JobState, dispatcher: Dispatcher, turn: Turn, id: JobId): boolean {
  const open = state.open.get(keyText(blockOf(id)));
  const job = open && state.retries.remove(open, indexOf(id));
  if (!job) return false;
  const { custody } = job;
  const lane = state.lane(open.plugin);
  const due = state.move(turn, job, custody, turn.nowUs);
  if (custody === 'suspect') dispatcher.quarantine.take(due, true);
  else lane.enqueueAttempt(due);
  state.observations.job('job.rescheduled', turn.nowUs, open.plugin, open.command, id);
  return true;
}
