// Counts the jobs that hosts have, in total and by lane, runner, block and command, and the frames that hosts have, by slot and lane. The
// counts change when a frame is sent or adopted, when one of its tasks is reported, and when the frame has ended.

import type { JobState } from '../job-state.ts';
import type { HostSlot } from './host-slot.ts';
import type { JobFrame } from './job-frame.ts';

/** Counts a frame that is sent to a host, or that was adopted after a failed turn. */
export function countSent(state: JobState, slot: HostSlot, frame: JobFrame): void {
  const { lane, command, unreportedCount: left, runner } = frame;
  slot.frames.set(frame.id, frame);
  if (frame.slow) slot.slow++;
  for (let task = 0; task < frame.jobs.length; task++)
    if (frame.reported[task] === 0) frame.jobs[task]!.open.inFlight++;
  lane.frames.add(frame);
  lane.running += left;
  state.running += left;
  state.completions.running(lane.name, command.name, left);
  // Without a runner, the jobs of a frame run one after another, so they count as one.
  lane.inFlight += runner < 0 ? 1 : left;
  if (runner >= 0) slot.busyRunners += command.runners.take(runner, left);
}

/** Counts a task that has ended, was returned, or was lost with its host. */
export function countReported(state: JobState, slot: HostSlot, frame: JobFrame, task: number): void {
  const { lane, command, runner } = frame;
  frame.reported[task] = 1;
  frame.unreportedCount--;
  lane.running--;
  state.running--;
  state.completions.running(lane.name, command.name, -1);
  if (runner >= 0) {
    lane.inFlight--;
    slot.busyRunners -= command.runners.give(runner);
  }
  frame.jobs[task]!.open.inFlight--;
}

/** Counts the end of a frame: the host has none of its tasks any more. */
export function countFinished(slot: HostSlot, frame: JobFrame): void {
  slot.frames.delete(frame.id);
  if (frame.slow) slot.slow--;
  frame.lane.frames.delete(frame);
  if (frame.runner < 0) frame.lane.inFlight--;
}
