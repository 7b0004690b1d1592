// After a failed turn: actors that were made from the store take over the frames that hosts still have. Of each job the store says
// whether it is out, and with which attempt.

import { jobId } from '../../runtime/ids.ts';
import type { Desk } from './desk.ts';
import type { JobFrame } from './frame.ts';
import type { HostedFrames } from './hosted-frames.ts';
import { type KeyText, OpenBlock } from './records/open.ts';
import { decodeRetry, isOut } from './records/retry.ts';
import type { Slot, SlotName } from './slot.ts';
import { countOut } from './under-way.ts';

/** An open block with jobs in frames that were taken over. */
export type Adopted = { readonly open: OpenBlock; readonly held: ReadonlySet<number> };

type Adopting = { readonly open: OpenBlock; readonly held: Set<number> };

/** The frames stand in their slots afterwards; what else is open of their blocks is for the recovery. */
export function adoptFrames(
  desk: Desk,
  hosted: HostedFrames,
  slots: ReadonlyMap<SlotName, Slot>,
): ReadonlyMap<KeyText, Adopted> {
  const blocks = new Map<KeyText, Adopting | null>();
  for (const { slot: name, frame } of hosted.all()) {
    const slot = slots.get(name)!;
    const adopted = adoptFrame(desk, frame, key => {
      if (!blocks.has(key)) blocks.set(key, readOpen(desk, key));
      return blocks.get(key)!;
    });
    if (adopted.left === 0) {
      hosted.over(name, frame.id);
      continue;
    }
    hosted.sent(name, adopted);
    countOut(desk, slot, adopted);
  }
  return new Map([...blocks].filter((entry): entry is [KeyText, Adopting] => entry[1] !== null));
}

function adoptFrame(desk: Desk, frame: JobFrame, blockOf: (key: KeyText) => Adopting | null): JobFrame {
  const lane = desk.lane(frame.lane.name);
  const heard = new Uint8Array(frame.heard.length);
  const kept = [...frame.kept];
  let left = 0;
  const opens = frame.opens.map((old, task) => {
    const block = blockOf(old.key);
    const index = frame.indexes[task]!;
    const state = block && !block.held.has(index) ? outState(desk, block.open, index, frame.attempts[task]!) : null;
    if (state === null) {
      heard[task] = 1;
      return block?.open ?? old;
    }
    kept[task] = state.isKept;
    block!.held.add(index);
    block!.open.out++;
    left++;
    return block!.open;
  });
  return { ...frame, lane, command: lane.command(frame.command.name) ?? frame.command, opens, kept, heard, left };
}

/** Null: that attempt of the job is not out. */
function outState(desk: Desk, open: OpenBlock, index: number, attempt: number): { readonly isKept: boolean } | null {
  if (index >= open.next || open.isSettled(index)) return null;
  const record = open.retrying > 0 ? desk.reader.get('retries', jobId(open.keyBytes, index)) : undefined;
  if (record === undefined) return attempt === 1 && open.isOut(index) ? { isKept: false } : null;
  const retry = desk.setAside.read('retries', jobId(open.keyBytes, index), () => decodeRetry(record));
  return retry && isOut(retry) && retry.attempt === attempt ? { isKept: true } : null;
}

/** Null: nothing of it is open any more, or its record cannot be used. */
function readOpen(desk: Desk, key: KeyText): Adopting | null {
  const keyBytes = Buffer.from(key, 'latin1');
  const bytes = desk.reader.get('open', keyBytes);
  const open = bytes && desk.setAside.read('open', keyBytes, () => OpenBlock.decode(key, bytes));
  return open ? { open, held: new Set() } : null;
}
