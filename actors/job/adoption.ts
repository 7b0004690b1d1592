// After a failed turn, new actors are created from the store, and adopt the frames that hosts still have. For each job, the store says
// whether a host has it, and at which attempt.

import { jobId } from '../../runtime/ids.ts';
import type { HostSlot, HostSlotName } from './dispatch/host-slot.ts';
import { countSent } from './dispatch/in-flight.ts';
import type { JobFrame } from './dispatch/job-frame.ts';
import type { OutstandingFrames } from './dispatch/outstanding-frames.ts';
import type { JobState } from './job-state.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { attemptOf, type KeyText, OpenBlock } from './records/open.ts';
import { isInFlight } from './records/retry.ts';

/** A block with unsettled jobs. `held`: the indexes of its jobs that are in adopted frames. */
export type AdoptedBlock = { readonly open: OpenBlock; readonly held: ReadonlySet<number> };

type Adopting = { readonly open: OpenBlock; readonly held: Set<number> };

/**
 * Puts the frames that still have jobs into their slots, and returns the open blocks of all frames. Recovery (recovery.ts) handles the
 * jobs of these blocks that are in no frame.
 */
export function adoptFrames(
  state: JobState,
  outstanding: OutstandingFrames,
  slots: ReadonlyMap<HostSlotName, HostSlot>,
): ReadonlyMap<KeyText, AdoptedBlock> {
  const blocks = new Map<KeyText, Adopting | null>();
  for (const { slot: name, frame } of outstanding.all()) {
    const slot = slots.get(name)!;
    const adopted = adoptFrame(state, frame, key => {
      if (!blocks.has(key)) blocks.set(key, readOpen(state, key));
      return blocks.get(key)!;
    });
    if (adopted.unreportedCount === 0) {
      outstanding.finished(name, frame.id);
      continue;
    }
    outstanding.sent(name, adopted);
    countSent(state, slot, adopted);
  }
  return new Map([...blocks].filter((entry): entry is [KeyText, Adopting] => entry[1] !== null));
}

function adoptFrame(state: JobState, frame: JobFrame, blockOf: (key: KeyText) => Adopting | null): JobFrame {
  const lane = state.lane(frame.lane.name);
  const reported = new Uint8Array(frame.reported.length).fill(1);
  const jobs = frame.jobs.map((job, task) => {
    const block = blockOf(job.open.key);
    if (!block) return job;
    if (!block.held.has(job.index) && isSent(state, block.open, job)) {
      block.held.add(job.index);
      reported[task] = 0;
    }
    return { ...job, open: block.open };
  });
  const unreportedCount = reported.filter(isReported => isReported === 0).length;
  const command = lane.command(frame.command.name) ?? frame.command;
  return { ...frame, lane, command, jobs, reported, unreportedCount };
}

/** Whether, according to the store, a host has this attempt. */
function isSent(state: JobState, open: OpenBlock, { index, attempt }: OpenAttempt): boolean {
  if (open.isSettled(index)) return false;
  const known = state.setAside.read('retries', jobId(open.keyBytes, index), () => attemptOf(state.reader, open, index));
  return known !== undefined && isInFlight(known) && known.attempt === attempt;
}

/** The open record of the block. Null: the block has no unsettled job, or the record is unusable. */
function readOpen(state: JobState, key: KeyText): Adopting | null {
  const keyBytes = Buffer.from(key, 'latin1');
  const bytes = state.reader.get('open', keyBytes);
  const open = bytes && state.setAside.read('open', keyBytes, () => OpenBlock.decode(key, bytes));
  return open ? { open, held: new Set() } : null;
}
