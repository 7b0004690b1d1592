// After a failed turn: actors that were made from the store take over the frames that hosts still have. Of each job the store says
// whether it is out, and with which attempt.

import { jobId } from '../../runtime/ids.ts';
import type { HostSlot, HostSlotName } from './host-slot.ts';
import { countSent } from './in-flight.ts';
import type { JobFrame } from './job-frame.ts';
import type { JobState } from './job-state.ts';
import type { OutstandingFrames } from './outstanding-frames.ts';
import { type KeyText, OpenBlock } from './records/open.ts';
import { decodeRetry, isOut } from './records/retry.ts';

/** An open block with jobs in frames that were taken over. */
export type AdoptedBlock = { readonly open: OpenBlock; readonly held: ReadonlySet<number> };

type Adopting = { readonly open: OpenBlock; readonly held: Set<number> };

/** The frames stand in their slots afterwards; what else is open of their blocks is for the recovery. */
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
      outstanding.over(name, frame.id);
      continue;
    }
    outstanding.sent(name, adopted);
    countSent(state, slot, adopted);
  }
  return new Map([...blocks].filter((entry): entry is [KeyText, Adopting] => entry[1] !== null));
}

function adoptFrame(state: JobState, frame: JobFrame, blockOf: (key: KeyText) => Adopting | null): JobFrame {
  const lane = state.lane(frame.lane.name);
  const heard = new Uint8Array(frame.reported.length);
  const kept = [...frame.kept];
  let left = 0;
  const opens = frame.opens.map((old, task) => {
    const block = blockOf(old.key);
    const index = frame.indexes[task]!;
    const sent = block && !block.held.has(index) ? outState(state, block.open, index, frame.attempts[task]!) : null;
    if (sent === null) {
      heard[task] = 1;
      return block?.open ?? old;
    }
    kept[task] = sent.isKept;
    block!.held.add(index);
    block!.open.out++;
    left++;
    return block!.open;
  });
  return {
    ...frame,
    lane,
    command: lane.command(frame.command.name) ?? frame.command,
    opens,
    kept,
    reported: heard,
    unreportedCount: left,
  };
}

/** Null: that attempt of the job is not out. */
function outState(
  state: JobState,
  open: OpenBlock,
  index: number,
  attempt: number,
): { readonly isKept: boolean } | null {
  if (index >= open.next || open.isSettled(index)) return null;
  const record = open.retrying > 0 ? state.reader.get('retries', jobId(open.keyBytes, index)) : undefined;
  if (record === undefined) return attempt === 1 && open.isOut(index) ? { isKept: false } : null;
  const retry = state.setAside.read('retries', jobId(open.keyBytes, index), () => decodeRetry(record));
  return retry && isOut(retry) && retry.attempt === attempt ? { isKept: true } : null;
}

/** Null: nothing of it is open any more, or its record cannot be used. */
function readOpen(state: JobState, key: KeyText): Adopting | null {
  const keyBytes = Buffer.from(key, 'latin1');
  const bytes = state.reader.get('open', keyBytes);
  const open = bytes && state.setAside.read('open', keyBytes, () => OpenBlock.decode(key, bytes));
  return open ? { open, held: new Set() } : null;
}
