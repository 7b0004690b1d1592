// Makes the next attempt of a job, or a delayed job or run, due immediately.
import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import { enqueue } from '../dispatch/enqueue.ts';
import type { JobState } from '../job-state.ts';
import type { RefusedWork } from '../protocol.ts';
import { keyText } from '../records/open.ts';
import type { Delayed } from './delayed.ts';
import type { RunNow, RunNowReply } from './time-protocol.ts';

export type RunNowOptions = { readonly state: JobState; readonly dispatcher: Dispatcher; readonly delayed: Delayed };

/** Answers a RunNow. Until all unsettled jobs have been read since the start, refuses it, because the job may wait without being known. */
export function askRunNow(options: RunNowOptions, turn: Turn, { id }: RunNow): RunNowReply | RefusedWork {
  if (!options.state.isLoaded) return { kind: 'refused', refusal: 'unavailable' };
  const wasWaiting = runNow(options, turn, id);
  options.delayed.releaseBlocks([id]);
  return { kind: 'run_now', wasWaiting };
}

/**
 * Lets a job that waits for a time run at once. False: the job does not wait for a time, or its open record is unusable. Must not be called
 * before all unsettled jobs have been read since the start. `Delayed.releaseBlocks` must follow.
 */
export function runNow({ state, dispatcher, delayed }: RunNowOptions, turn: Turn, id: JobId): boolean {
  const open = state.open.get(keyText(blockOf(id)));
  const job = open && state.retries.remove(open, indexOf(id));
  if (!job) return delayed.reschedule(turn, id, turn.nowUs);
  const { custody } = job;
  const due = state.move(turn, job, custody, turn.nowUs);
  if (custody === 'suspect') dispatcher.quarantine.take(due, true);
  else enqueue(state, due);
  state.observations.job('job.rescheduled', turn.nowUs, open.plugin, open.command, id);
  return true;
}
