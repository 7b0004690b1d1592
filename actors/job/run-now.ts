// Makes the next attempt of a job due immediately.
import { blockOf, indexOf, type JobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Dispatcher } from './dispatch.ts';
import type { JobState } from './job-state.ts';
import { keyText } from './records/open.ts';

/** Makes the job's next attempt due. False: the job does not wait for the time of an attempt. */
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
