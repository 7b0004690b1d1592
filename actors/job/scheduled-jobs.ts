// The part of the job actor that schedules use: to submit jobs, to follow jobs to their end, and to cancel jobs.
import { blockOf } from '../../runtime/ids.ts';
import type { ScheduledJobs } from '../schedule/protocol.ts';
import type { Actions } from './actions/actions.ts';
import type { Cancelling } from './cancel/cancelling.ts';
import type { JobAcceptor } from './job-acceptor.ts';
import type { JobState } from './job-state.ts';
import type { JobCalls } from './protocol.ts';
import { latestAttempt } from './records/attempts.ts';
import { findBlock } from './records/block.ts';
import type { Delayed } from './times/delayed.ts';

export type AllJobCalls = JobCalls & ScheduledJobs;

/** `onCancel` is called after a cancel, which may have ended held jobs. */
export function scheduledJobs(
  state: JobState,
  acceptor: JobAcceptor,
  cancelling: Cancelling,
  delayed: Delayed,
  actions: Actions,
  onCancel: () => void,
): ScheduledJobs {
  return {
    submit: (calls, turn) => acceptor.take(turn, calls),
    isPaused(plugin, command) {
      const lane = state.lane(plugin);
      return state.pauses.ofLane(lane) !== null || state.pauses.commandsOf(lane).has(command);
    },
    isRestored: () => state.pauses.ofRestore !== null,
    mayBegin: () => state.isLoaded && acceptor.closed !== 'stopping',
    cancel(ids, cancel, turn) {
      const { length } = cancelling.cancelAll(turn, ids, cancel);
      onCancel();
      return length;
    },
    release: (id, turn) => delayed.release(turn, id),
    endOf(id) {
      const { reader, setAside } = state;
      const status = setAside.read('attempts', id, () => {
        const last = latestAttempt(reader, id)?.attempt;
        return last?.final ? last.status : null;
      });
      if (status !== null) return status;
      const block = setAside.read('blocks', blockOf(id), () => findBlock(reader, id));
      return block ? null : undefined;
    },
    followed: state.followed,
    onBackfill(backfill) {
      actions.backfill = backfill;
    },
  };
}
