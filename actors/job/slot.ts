// A host and the frames it holds, as the dispatcher sees them.
import type { PluginHost } from '../../runtime/host/port.ts';
import type { JobFrame } from './frame.ts';

export type SlotName = 'main' | 'quarantine';

export type Slot = {
  readonly name: SlotName;
  readonly threads: number;
  host: PluginHost | null;
  readonly frames: Map<number, JobFrame>;
  /** Frames whose jobs are not short: nothing may wait behind them. */
  slow: number;
  /** It gave jobs back because its threads were busy: until it is heard of again, nothing may wait there either. */
  congested: boolean;
};

export function emptySlot(name: SlotName, threads: number): Slot {
  return { name, threads, host: null, frames: new Map(), slow: 0, congested: false };
}

/** A thread each; and one more frame each while all of them are short. */
export function hasPlace(slot: Slot, fast: boolean): boolean {
  const out = slot.frames.size;
  return out < slot.threads || (fast && slot.slow === 0 && !slot.congested && out < 2 * slot.threads);
}
