// What hosts have, in the counts of slot, lane and desk: a frame goes out, tasks of it are heard of, it is over.
import type { Desk } from './desk.ts';
import type { JobFrame } from './frame.ts';
import type { Slot } from './slot.ts';

/** A host gets the frame, or has it still. */
export function countOut(desk: Desk, slot: Slot, frame: JobFrame): void {
  const { lane, command, left, runner } = frame;
  slot.frames.set(frame.id, frame);
  if (frame.slow) slot.slow++;
  lane.countFrame(command, 1);
  lane.running += left;
  desk.running += left;
  desk.books.running(lane.name, command.name, left);
  // The jobs of a frame that has no runner run one after another.
  lane.underWay += runner < 0 ? 1 : left;
  if (runner >= 0) slot.busyRunners += command.runners.take(runner, left);
}

/** A task of it has ended, or came back. */
export function countHeard(desk: Desk, slot: Slot, frame: JobFrame, task: number): void {
  const { lane, command, runner } = frame;
  frame.heard[task] = 1;
  frame.left--;
  lane.running--;
  desk.running--;
  desk.books.running(lane.name, command.name, -1);
  if (runner >= 0) {
    lane.underWay--;
    slot.busyRunners -= command.runners.give(runner);
  }
  const open = frame.opens[task]!;
  open.out--;
  if (open.solo.length > 0) {
    const index = frame.indexes[task]!;
    open.solo = open.solo.filter(other => other !== index);
  }
}

/** Nothing of it is left with the host. */
export function countOver(slot: Slot, frame: JobFrame): void {
  slot.frames.delete(frame.id);
  if (frame.slow) slot.slow--;
  frame.lane.countFrame(frame.command, -1);
  if (frame.runner < 0) frame.lane.underWay--;
}
