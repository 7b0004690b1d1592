// A host and the frames it holds, as the dispatcher sees them.
import type { PluginHost, Runtime } from '../../runtime/host/wire/plugin-host.ts';
import type { JobFrame } from './job-frame.ts';
import type { CommandLane, Lane } from './lane.ts';
import { frameTasksMax, frameUsTarget, programsUsTarget } from './pace.ts';

/** So many hosts start programs, at most. Who starts one is blocked most of that time: several start side by side. */
export const programHostsMax = 4;

/** Suspects that are tried side by side, at most: each has a host with a thread. */
export const quarantineHostsMax = 4;

/** Frames at a place, while all are short: one that runs, and one that waits for it to end. */
const framesPerPlace = 2;

export type HostSlotName =
  | 'main'
  | 'persistent'
  | 'concurrent'
  | `programs-${number}`
  | `quarantine-${number}`
  | 'isolation';

export type HostSlot = {
  readonly name: HostSlotName;
  /** What runs there. Programs have hosts of their own, which are small: a start costs what the process weighs that starts. */
  readonly runtimes: readonly Runtime[];
  /** Threads, or programs at once. */
  readonly threads: number;
  /** What a frame may take for another to wait behind it. */
  readonly shortUs: number;
  /** Several jobs are under way at once in each thread or process. */
  readonly isConcurrent: boolean;
  host: PluginHost | null;
  readonly frames: Map<number, JobFrame>;
  /** Frames whose jobs are not short: nothing may wait behind them. */
  slow: number;
  /** It gave jobs back because its threads were busy: until it is heard of again, nothing may wait there either. */
  congested: boolean;
  /** Runners with something under way. */
  busyRunners: number;
};

type SlotTemplate = Pick<HostSlot, 'name' | 'runtimes' | 'threads' | 'shortUs'> & { readonly isConcurrent?: true };

export function mainSlot(threads: number): HostSlot {
  return emptySlot({ name: 'main', runtimes: ['worker'], threads, shortUs: frameUsTarget });
}

/** Processes that stay: two hosts would run them slower than one, which knows all that are idle and all that have crashed. */
export function persistentSlot(places: number): HostSlot {
  return emptySlot({ name: 'persistent', runtimes: ['process'], threads: places, shortUs: programsUsTarget });
}

/** For commands that have several jobs under way at once, in up to so many threads or processes of each command. */
export function concurrentSlot(threads: number): HostSlot {
  const runtimes = ['worker', 'process'] as const;
  return emptySlot({ name: 'concurrent', runtimes, threads, shortUs: 0, isConcurrent: true });
}

/** Programs for an attempt each: the places divided among starters, the larger ones first. */
export function programSlots(places: number): readonly HostSlot[] {
  const count = Math.min(places, programHostsMax);
  return Array.from({ length: count }, (_, i) => {
    const threads = Math.ceil((places - i) / count);
    return emptySlot({ name: `programs-${i + 1}`, runtimes: ['process'], threads, shortUs: programsUsTarget });
  });
}

/** For jobs that may have ended their host: as many as ran side by side, so that none waits behind one that takes long. */
export function quarantineSlots(places: number): readonly HostSlot[] {
  return Array.from({ length: Math.min(places, quarantineHostsMax) }, (_, i) => singleJobSlot(`quarantine-${i + 1}`));
}

/** For plugins that end hosts. */
export function isolationSlot(): HostSlot {
  return singleJobSlot('isolation');
}

/** Threads and programs, one job at a time. */
function singleJobSlot(name: HostSlotName): HostSlot {
  return emptySlot({ name, runtimes: ['worker', 'process'], threads: 1, shortUs: 0 });
}

function emptySlot(kind: SlotTemplate): HostSlot {
  const fresh = { host: null, frames: new Map(), slow: 0, congested: false, busyRunners: 0 };
  return { isConcurrent: false, ...kind, ...fresh };
}

/**
 * Of those with a place for the command the one with the fewest frames, and of these the first, where processes are warm:
 * so no frame waits where another has a free place. Undefined: none has a place.
 */
export function freeSlotFor(slots: readonly HostSlot[], command: CommandLane): HostSlot | undefined {
  let best: HostSlot | undefined;
  for (const slot of slots) {
    if (hasRoom(slot, command) && (best === undefined || slot.frames.size < best.frames.size)) best = slot;
  }
  return best;
}

/** A thread each; and one more frame each while all of them are short. */
function hasRoom(slot: HostSlot, command: CommandLane): boolean {
  const out = slot.frames.size;
  if (out < slot.threads) return true;
  return isShort(slot, command) && slot.slow === 0 && !slot.congested && out < framesPerPlace * slot.threads;
}

/** So many of the jobs that wait may share a frame that each other place gets as many: side by side they end sooner. */
export function fairShare(slots: readonly HostSlot[], waiting: number): number {
  const places = slots.reduce((sum, { threads }) => sum + threads, 0);
  return Math.max(1, Math.floor(waiting / (framesPerPlace * places)));
}

/** Jobs for the next frame of the lane, at most; an isolated one has one at a time. */
export function tasksMax(
  lane: Lane,
  { runners, concurrency }: CommandLane,
  slots: readonly HostSlot[],
  runner: number,
): number {
  if (lane.isIsolated) return 1;
  if (runner >= 0) return Math.min(lane.room, runners.room(runner, concurrency), frameTasksMax);
  return lane.kind === 'attempts' ? fairShare(slots, lane.waiting) : frameTasksMax;
}

/** Whether frames of the command may wait for each other. */
export function isShort({ shortUs }: HostSlot, { pace }: CommandLane): boolean {
  return pace.frameUs <= shortUs;
}

export function framesIn(slots: readonly HostSlot[]): number {
  return slots.reduce((sum, { frames }) => sum + frames.size, 0);
}
