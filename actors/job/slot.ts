// A host and the frames it holds, as the dispatcher sees them.
import type { PluginHost, Runtime } from '../../runtime/host/port.ts';
import type { JobFrame } from './frame.ts';
import type { CommandLane, Lane } from './lane.ts';
import { frameUsTarget } from './pace.ts';

export type SlotName = 'main' | 'programs' | 'quarantine';

/** What runs where. Programs have a host of their own, which is small: a start costs what the process weighs that starts. */
export const runtimesOf: { readonly [Name in SlotName]: readonly Runtime[] } = {
  main: ['worker'],
  programs: ['process'],
  quarantine: ['worker', 'process'],
};

/** What a frame may take for another to wait behind it: a program must have ended before the next can begin. */
const shortUs: { readonly [Name in SlotName]: number } = {
  main: frameUsTarget,
  programs: 10 * frameUsTarget,
  quarantine: 0,
};

/** Where the jobs of the lane run, unless they are suspect. */
export function slotOf({ instance }: Lane): 'main' | 'programs' {
  return instance?.manifest.runtime === 'process' ? 'programs' : 'main';
}

export type Slot = {
  readonly name: SlotName;
  /** Threads, or programs at once. */
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
export function hasPlace(slot: Slot, command: CommandLane): boolean {
  const out = slot.frames.size;
  if (out < slot.threads) return true;
  return isShort(slot, command) && slot.slow === 0 && !slot.congested && out < 2 * slot.threads;
}

/** Whether frames of the command may wait for each other. */
export function isShort({ name }: Slot, { pace }: CommandLane): boolean {
  return pace.frameUs <= shortUs[name];
}
