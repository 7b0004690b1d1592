// From waiting jobs to a frame: jobs of one lane and command, in order, as many as the pace of the command allows.
import type { TaskFrame, TaskGroup } from '../../runtime/host/wire/port.ts';
import { jobId, jobIdBytes, writeJobId } from '../../runtime/ids.ts';
import { lengthOf, type Parts } from '../../runtime/parted.ts';
import type { Again } from './backlog.ts';
import type { CommandLane, Lane } from './lane.ts';
import { type Block, groupOf } from './records/block.ts';
import type { OpenBlock } from './records/open.ts';

/** Payload bytes of one frame; a single larger job goes alone. */
export const frameBytesMax = 2 ** 20;

/** A frame that a host holds: who its tasks are, and which have been heard of. */
export type JobFrame = {
  readonly id: number;
  readonly lane: Lane;
  readonly command: CommandLane;
  readonly opens: readonly OpenBlock[];
  readonly indexes: readonly number[];
  readonly attempts: readonly number[];
  /** Tasks that have a record in `retries`. */
  readonly kept: readonly boolean[];
  readonly reported: Uint8Array;
  unreportedCount: number;
  /** Which runner of the command has its jobs under way together; -1: none, they run one after another. */
  readonly runner: number;
  /** Its jobs are not short: set when it is handed out. */
  slow: boolean;
  /** When it was handed out. */
  sentUs: number;
  readonly ids: Uint8Array;
};

/** Picks the next jobs of a lane, which has some waiting: at most `tasksMax`, for a runner or, with -1, for none. `load` gives a block that is no longer in memory. */
export function pickFrame(
  lane: Lane,
  command: CommandLane,
  frameId: number,
  tasksMax: number,
  runner: number,
  load: (open: OpenBlock) => Block,
): JobFrame {
  const opens: OpenBlock[] = [];
  const indexes: number[] = [];
  const attempts: number[] = [];
  const kept: boolean[] = [];
  let bytes = 0;
  const sizeMax = runner >= 0 ? tasksMax : command.retrySafe ? Math.min(command.pace.size, tasksMax) : 1;

  function add(open: OpenBlock, index: number, attempt: number, isKept: boolean): void {
    open.block ??= load(open);
    bytes += lengthOf(open.block.payload(index));
    opens.push(open);
    indexes.push(index);
    attempts.push(attempt);
    kept.push(isKept);
  }

  for (let next = lane.again.peek(); next && opens.length < sizeMax; next = lane.again.peek()) {
    if (next.open.command !== command.name || (next.alone && opens.length > 0)) break;
    lane.again.shift();
    add(next.open, next.index, next.attempt, next.kept);
    if (next.alone || bytes >= frameBytesMax) return close();
  }
  if (lane.again.length > 0 && opens.length > 0) return close();
  for (
    let open = lane.fresh.peek();
    open && opens.length < sizeMax && bytes < frameBytesMax;
    open = lane.fresh.peek()
  ) {
    if (open.command !== command.name) break;
    while (open.next < open.count && opens.length < sizeMax && bytes < frameBytesMax) {
      add(open, open.next, 1, false);
      open.next++;
    }
    if (open.next === open.count) lane.fresh.shift();
  }
  return close();

  function close(): JobFrame {
    const left = opens.length;
    lane.waiting -= left;
    const ids = Buffer.allocUnsafeSlow(left * jobIdBytes);
    for (let task = 0; task < left; task++) {
      writeJobId(ids, task * jobIdBytes, opens[task]!.keyBytes, indexes[task]!);
    }
    return {
      id: frameId,
      lane,
      command,
      opens,
      indexes,
      attempts,
      kept,
      reported: new Uint8Array(left),
      unreportedCount: left,
      runner,
      slow: false,
      sentUs: 0,
      ids,
    };
  }
}

/** One job as a frame of its own, which runs alone in its host. */
export function singleJobFrame(
  lane: Lane,
  command: CommandLane,
  again: Again,
  frameId: number,
  block: Block,
): JobFrame {
  again.open.block ??= block;
  const { open, index, attempt, kept } = again;
  return {
    id: frameId,
    lane,
    command,
    opens: [open],
    indexes: [index],
    attempts: [attempt],
    kept: [kept],
    reported: new Uint8Array(1),
    unreportedCount: 1,
    runner: -1,
    slow: false,
    sentUs: 0,
    ids: jobId(open.keyBytes, index),
  };
}

/** What the host gets of it; `secrets` are packed. */
export function taskFrame(frame: JobFrame, state: Uint8Array, parts: Parts, secrets?: Uint8Array): TaskFrame {
  const groups: TaskGroup[] = [];
  const payloads: Uint8Array[] = [];
  for (let task = 0; task < frame.opens.length; ) {
    const open = frame.opens[task]!;
    const block = open.block!;
    const first = frame.indexes[task]!;
    const { group, left } = groupOf(block, first);
    let count = 0;
    while (
      count < left &&
      task + count < frame.opens.length &&
      frame.opens[task + count] === open &&
      frame.indexes[task + count] === first + count
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
    deadlineMs: frame.command.deadlineMs,
    state,
    secrets,
    groups,
    ids: frame.ids,
    attempts: frame.attempts,
    payloads,
    parts,
  };
}

/** Tasks of a frame whose end nobody has heard of. */
export function* unreported({ reported: heard }: JobFrame): Iterable<number> {
  for (let task = 0; task < heard.length; task++) if (heard[task] === 0) yield task;
}

/** The job of a task, and which attempt of it that is. */
export function jobAt({ opens, indexes, attempts, kept }: JobFrame, task: number) {
  return { open: opens[task]!, index: indexes[task]!, attempt: attempts[task]!, kept: kept[task]! };
}
