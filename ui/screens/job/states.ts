// The states through which a job has gone, and those that it can still reach.
import { isSettled, type ShownJob } from './shown-job.ts';

export type JobState = {
  readonly name: string;
  /** `done`: the job has left the state. `now`: the job is in it. `ahead`: the job may still reach it. `other`: the job can no longer reach it. */
  readonly is: 'done' | 'now' | 'ahead' | 'other';
  /** When the job reached the state; null: unknown, or the job has not reached it. */
  readonly at: string | null;
  /** More about the state, such as who submitted the job, or why the job waits; may be empty. */
  readonly note: string;
};

export type JobStates = {
  readonly way: readonly JobState[];
  /** The possible ends. A job reaches one of them. */
  readonly ends: readonly JobState[];
};

const ends = ['succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;

export function statesOf(job: ShownJob): JobStates {
  const { status, run_at: runAt, started_at: startedAt, completed_at: completedAt, attempt } = job;
  const hasEnded = isSettled(job);
  const hasStarted = startedAt !== null;
  const waits = job.waits_for?.reason;
  const way: JobState[] = [{ name: 'accepted', is: 'done', at: job.created_at, note: `by ${job.submitted_by}` }];
  if (runAt !== undefined && runAt > job.created_at)
    way.push({ name: 'delayed', is: waits === 'run_at' ? 'now' : 'done', at: null, note: 'until its time to run' });
  const isQueued = status === 'queued' && waits !== 'run_at' && waits !== 'retry';
  way.push({
    name: 'queued',
    is: isQueued ? 'now' : hasStarted || hasEnded ? 'done' : 'ahead',
    // Null if the job is still delayed, or never was: a job that was not delayed is queued when it is accepted.
    at: waits === 'run_at' || runAt === undefined ? null : runAt,
    note: isQueued ? queueNote(job) : '',
  });
  const skipped = hasEnded && !hasStarted;
  way.push({
    name: 'running',
    is: status === 'running' ? 'now' : skipped ? 'other' : hasStarted ? 'done' : 'ahead',
    at: startedAt,
    note: attempt > 1 ? `attempt ${attempt}` : '',
  });
  if (waits === 'retry')
    way.push({ name: 'between attempts', is: 'now', at: job.waits_for!.since, note: job.waits_for!.detail });
  return {
    way,
    ends: ends.map(name => ({
      name,
      is: status === name ? 'now' : hasEnded ? 'other' : 'ahead',
      at: status === name ? completedAt : null,
      note: '',
    })),
  };
}

/** Why the job is still queued. The detail for `schedule_queue` contains ids of jobs, so only the notice above the drawing has it. */
function queueNote({ waits_for: waits }: ShownJob): string {
  if (!waits) return '';
  return waits.reason === 'schedule_queue' ? 'behind the job before it' : waits.detail;
}
