// A slot of the dispatcher: a host, and the frames that the host has. The places of a slot are the threads of the host, or the
// programs that the host may run at once.
import type { PluginHost, Runtime } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobFrame } from './job-frame.ts';
import type { CommandLane, Lane } from './lane.ts';
import { framesPerPlace, frameTasksMax, frameUsTarget, fullShare, programsUsTarget } from './pace.ts';

/**
 * The maximum number of hosts for programs that each run one attempt. Such a host may run many programs at once. The start of a program
 * blocks the host, so several hosts start programs faster.
 */
export const programHostsMax = 4;

/** The maximum number of quarantine hosts, each of which runs one job at a time. */
export const quarantineHostsMax = 4;

/** How many frames a place of the main host may have if they are small: a small frame counts as a part of a full one. */
const smallFramesPerPlace = 16;

export type HostSlotName =
  | 'main'
  | 'persistent'
  | 'concurrent'
  | `programs-${number}`
  | `quarantine-${number}`
  | 'isolation';

export type HostSlot = {
  readonly name: HostSlotName;
  /**
   * The runtimes of the plugins that the host runs. Where possible, programs run in hosts without plugin threads: the more memory a host
   * has, the longer it takes to start a process.
   */
  readonly runtimes: readonly Runtime[];
  /** How many threads the host has, or how many programs it may run at once. In the slot `concurrent`: per command. */
  readonly threads: number;
  /** The maximum number of frames, however small. */
  readonly framesMax: number;
  /** A frame that is expected to take at most this time is short: another frame may wait behind it. */
  readonly shortUs: number;
  /** Whether each thread or process runs several jobs at once. */
  readonly isConcurrent: boolean;
  host: PluginHost | null;
  readonly frames: Map<number, JobFrame>;
  /** The number of slow frames (job-frame.ts). While there are any, no frame may wait behind another. */
  slow: number;
  /**
   * Set when the host returns jobs of a frame without a runner as `crowded` (plugin-host.ts), until the host next reports ended tasks.
   * During this time, no frame may wait behind another.
   */
  congested: boolean;
  busyRunners: number;
};

function emptySlot(
  name: HostSlotName,
  runtimes: readonly Runtime[],
  threads: number,
  shortUs: number,
  isConcurrent = false,
): HostSlot {
  const fresh = { host: null, frames: new Map(), slow: 0, congested: false, busyRunners: 0 };
  return { name, runtimes, threads, framesMax: framesPerPlace * threads, shortUs, isConcurrent, ...fresh };
}

export function mainSlot(threads: number): HostSlot {
  return { ...emptySlot('main', ['worker'], threads, frameUsTarget), framesMax: smallFramesPerPlace * threads };
}

/** The slot for persistent processes. One host is faster than two would be, because it knows all idle and all crashed processes. */
export function persistentSlot(places: number): HostSlot {
  return emptySlot('persistent', ['process'], places, programsUsTarget);
}

/** The slot for commands that run several jobs at once, in at most `threads` threads or processes per command. */
export function concurrentSlot(threads: number): HostSlot {
  return emptySlot('concurrent', ['worker', 'process'], threads, 0, true);
}

/**
 * The slots for programs that each run one attempt. The places are divided among several hosts; the first hosts may have one place more
 * than the others.
 */
export function programSlots(places: number): readonly HostSlot[] {
  const count = Math.min(places, programHostsMax);
  return Array.from({ length: count }, (_, i) =>
    emptySlot(`programs-${i + 1}`, ['process'], Math.ceil((places - i) / count), programsUsTarget),
  );
}

/**
 * The slots of the quarantine: as many as there are places, but at most `quarantineHostsMax`. With several slots, a suspect seldom waits for
 * another one to end.
 */
export function quarantineSlots(places: number): readonly HostSlot[] {
  return Array.from({ length: Math.min(places, quarantineHostsMax) }, (_, i) => singleJobSlot(`quarantine-${i + 1}`));
}

/** A slot of the quarantine or for isolated plugins. Its host runs one job at a time, on a thread or as a program. */
export function singleJobSlot(name: HostSlotName): HostSlot {
  return emptySlot(name, ['worker', 'process'], 1, 0);
}

/**
 * Chooses the slot with the fewest frames among those with room for the command. So no frame waits in one slot while another slot has a free
 * place. Among equals the first slot is chosen, because its processes are the most likely to be warm. Undefined: no slot has room.
 */
export function freeSlotFor(slots: readonly HostSlot[], command: CommandLane): HostSlot | undefined {
  let best: HostSlot | undefined;
  for (const slot of slots) {
    if (hasRoom(slot, command) && (best === undefined || slot.frames.size < best.frames.size)) best = slot;
  }
  return best;
}

/**
 * Whether the slot has room for a frame of the command. A slot takes one frame per place. If all frames, including this one, are short, and
 * if the host is not congested, it takes as many as make `framesPerPlace` full frames per place, and at most `framesMax`.
 */
function hasRoom(slot: HostSlot, command: CommandLane): boolean {
  if (slot.frames.size < slot.threads) return true;
  if (!isShort(slot, command) || slot.slow > 0 || slot.congested || slot.frames.size >= slot.framesMax) return false;
  let taken = 0;
  for (const { share } of slot.frames.values()) taken += share;
  return taken < framesPerPlace * slot.threads * fullShare;
}

/**
 * How many jobs a frame may have if the waiting jobs are divided equally among all places, with `framesPerPlace` frames for each
 * place. Jobs that run in parallel end sooner.
 */
function fairShare(slots: readonly HostSlot[], waiting: number): number {
  const places = slots.reduce((sum, { threads }) => sum + threads, 0);
  return Math.max(1, Math.floor(waiting / (framesPerPlace * places)));
}

/** The maximum number of jobs in the next frame: 1 if the lane is isolated, or if its jobs are trial jobs of a breaker. */
export function tasksMax(
  lane: Lane,
  { runners, concurrency }: CommandLane,
  slots: readonly HostSlot[],
  runner: number,
): number {
  if (lane.isIsolated || lane.probe) return 1;
  if (runner >= 0) return Math.min(lane.room, runners.room(runner, concurrency), frameTasksMax);
  return lane.kind === 'attempts' ? fairShare(slots, lane.waiting) : frameTasksMax;
}

/** Whether the next frame of the command is expected to be short for the slot (`shortUs`). */
export function isShort({ shortUs }: HostSlot, { pace }: CommandLane): boolean {
  return pace.frameUs <= shortUs;
}

export function framesIn(slots: readonly HostSlot[]): number {
  return slots.reduce((sum, { frames }) => sum + frames.size, 0);
}
