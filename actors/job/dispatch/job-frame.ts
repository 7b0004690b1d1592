// Makes frames from waiting jobs. A frame has jobs of one lane and command, in order. The number of jobs is limited by the pace of the
// command (pace.ts) or, if a runner runs the jobs, by the room in the runner. A suspect is alone in its frame. So is a job that must not
// run twice (`retry_safe: false`), unless a runner runs it.
import type { TaskFrame, TaskGroup } from '../../../runtime/host/wire/plugin-host.ts';
import { jobIdBytes, writeJobId } from '../../../runtime/ids.ts';
import { lengthOf, type PartReader } from '../../../runtime/parted.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { isStopped } from '../cancel/cancelled-jobs.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import { groupOf } from '../records/block.ts';
import type { OpenBlock } from '../records/open.ts';
import type { CommandLane, Lane } from './lane.ts';
import { framesPerPlace, fullShare } from './pace.ts';

/** A frame whose payloads have at least this size gets no further job. */
export const frameBytesMax = 2 ** 20;

/** A frame that a host has. `jobs`: the attempts of its tasks. A task is reported when it has ended, was returned, or was lost with its host. */
export type JobFrame = {
  readonly id: number;
  readonly lane: Lane;
  readonly command: CommandLane;
  readonly jobs: readonly OpenAttempt[];
  /** By task: 1 if the task has been reported, else 0. */
  readonly reported: Uint8Array;
  unreportedCount: number;
  /** The number of the runner that runs the jobs concurrently; -1: there is no runner, and the jobs run one after another. */
  readonly runner: number;
  /** The time limit of each attempt. */
  readonly deadlineMs: number;
  /** Whether the frame is expected to take too long for another one to wait behind it (host-slot.ts). Set at dispatch. */
  slow: boolean;
  /** How much of a full frame it is, in jobs or in bytes: at most `fullShare`. A frame that may have only one job is full. */
  readonly share: number;
  readonly sentUs: number;
  readonly ids: Uint8Array;
};

/** The fields of a slot (host-slot.ts) that its frames depend on. */
type Slot = { readonly frames: ReadonlyMap<number, unknown>; readonly threads: number };

/**
 * Makes a frame of the lane's next waiting jobs, at most `tasksMax`, for this slot. `runner`: the number of the runner that runs them; -1: no
 * runner.
 */
export function pickFrame(
  state: JobState,
  turn: Turn,
  lane: Lane,
  command: CommandLane,
  slot: Slot,
  frameId: number,
  tasksMax: number,
  runner: number,
): JobFrame {
  const jobs: OpenAttempt[] = [];
  let bytes = 0;
  const sizeMax = runner >= 0 ? tasksMax : command.retrySafe ? Math.min(command.pace.size, tasksMax) : 1;

  let last: OpenBlock | null = null;
  let timeoutMs: number | undefined;

  /** Whether a job of this block can share the frame: the time limit of its attempts is the same. */
  function fits(open: OpenBlock): boolean {
    if (open === last) return true;
    const ownMs = timeoutOf(state, open);
    if (last && ownMs !== timeoutMs) return false;
    last = open;
    timeoutMs = ownMs;
    return true;
  }

  function takeNext(): void {
    const job = lane.shift()!;
    bytes += lengthOf(state.load(job.open).payload(job.index));
    jobs.push(job);
  }

  let isComplete = false;
  for (let next = lane.attempts.peek(); next && !isComplete; next = lane.attempts.peek()) {
    const isAlone = next.custody === 'suspect';
    if (next.open.command !== command.name || (isAlone && jobs.length > 0)) break;
    if (!fits(next.open) || isStopped(state, next, turn.nowUs)) break;
    takeNext();
    isComplete = isAlone || jobs.length >= sizeMax || bytes >= frameBytesMax;
  }
  // Jobs of blocks are taken only if no attempt waits in `lane.attempts`.
  isComplete ||= lane.attempts.length > 0;
  for (let open = lane.nextBlock; !isComplete && open?.command === command.name; open = lane.nextBlock) {
    if (!fits(open)) break;
    if ((open.isTimed || !state.cancels.isEmpty) && isStopped(state, lane.peek()!, turn.nowUs)) break;
    takeNext();
    isComplete = jobs.length >= sizeMax || bytes >= frameBytesMax;
  }
  const isFull = !command.retrySafe || jobs[0]!.custody === 'suspect';
  const part = isFull ? 1 : Math.min(1, Math.max(jobs.length / sizeMax, bytes / frameBytesMax));
  // A whole number: with a fraction, frames would have several forms in memory, and a job would cost 0.2 µs more.
  const share = Math.ceil(part * fullShare);
  // If the service dies, a job that is alone in its frame is charged, unless the frame waited behind many: the job has probably not started.
  const hasWaited = runner < 0 && !isFull && slot.frames.size >= framesPerPlace * slot.threads;
  const custody = jobs.length === 1 && !hasWaited ? 'sentAlone' : 'sent';
  return frameOf(state, turn, lane, command, frameId, jobs, runner, custody, share);
}

/** Makes a frame of these jobs, and records that a host has them. */
export function frameOf(
  state: JobState,
  turn: Turn,
  lane: Lane,
  command: CommandLane,
  id: number,
  waiting: readonly OpenAttempt[],
  runner: number,
  custody: 'sent' | 'sentAlone',
  share: number,
): JobFrame {
  const { nowUs } = turn;
  const ids = Buffer.allocUnsafeSlow(waiting.length * jobIdBytes);
  const jobs = waiting.map((job, task) => {
    const { open, index } = job;
    writeJobId(ids, task * jobIdBytes, open.keyBytes, index);
    open.sentUs = nowUs;
    return state.move(turn, job, custody, nowUs);
  });
  const reported = new Uint8Array(jobs.length);
  const unreportedCount = jobs.length;
  const deadlineMs = timeoutOf(state, waiting[0]!.open) ?? command.deadlineMs;
  const [slow, sentUs] = [false, nowUs];
  return { id, lane, command, jobs, reported, unreportedCount, runner, deadlineMs, slow, share, sentUs, ids };
}

/** The time limit that a step sets for each attempt of the block's jobs. Undefined: the command's time limit applies. */
function timeoutOf(state: JobState, open: OpenBlock): number | undefined {
  return state.load(open).group(0).limits?.timeoutMs;
}

/** The frame in the form in which the host receives it. `secrets` is a packed map. */
export function taskFrame(frame: JobFrame, state: Uint8Array, parts: PartReader, secrets?: Uint8Array): TaskFrame {
  const groups: TaskGroup[] = [];
  const payloads: Uint8Array[] = [];
  const { jobs } = frame;
  for (let task = 0; task < jobs.length; ) {
    const { open, index: first } = jobs[task]!;
    const block = open.block!;
    const { group, left } = groupOf(block, first);
    let count = 0;
    while (
      count < left &&
      task + count < jobs.length &&
      jobs[task + count]!.open === open &&
      jobs[task + count]!.index === first + count
    ) {
      payloads.push(block.payload(first + count));
      count++;
    }
    const { context, pipeline, stepId, depth, event } = group;
    groups.push({ count, context, pipeline, stepId, depth, event, createdUs: block.createdUs });
    task += count;
  }
  return {
    frameId: frame.id,
    runner: frame.runner,
    concurrency: frame.runner < 0 ? 1 : frame.command.concurrency,
    instance: frame.lane.name,
    command: frame.command.name,
    deadlineMs: frame.deadlineMs,
    state,
    secrets,
    groups,
    ids: frame.ids,
    attempts: jobs.map(({ attempt }) => attempt),
    payloads,
    parts,
  };
}

export function* unreported({ reported }: JobFrame): Iterable<number> {
  for (let task = 0; task < reported.length; task++) if (reported[task] === 0) yield task;
}
