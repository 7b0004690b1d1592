// The quarantine: hosts that each run one suspect, or one exempt job (exempt.ts), at a time. If jobs of a plugin have recently ended
// several hosts, the plugin is isolated: its jobs run one at a time in a host that only isolated plugins use.
import { CrashHold } from '../../../runtime/crash-hold.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { endStoppedWaiting, isStopped } from '../cancel/cancelled-jobs.ts';
import { isExempt } from '../holds/exempt.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import { type HostSlot, quarantineSlots, singleJobSlot } from './host-slot.ts';
import { frameOf, type JobFrame } from './job-frame.ts';
import type { Lane } from './lane.ts';
import type { OutstandingFrames } from './outstanding-frames.ts';
import { fullShare } from './pace.ts';
import { isAtLimit } from './round-robin.ts';

/** A plugin is isolated when this many hosts have died within the window, each with a job of the plugin as its only job. */
export const endedHostsMax = 2;
export const endedHostsWindowMs = 60_000;
/** An isolation ends at a reload, or when no job of the plugin has ended a host for this time. */
export const isolationMs = 30_000;

export class Quarantine {
  /** The slots for suspects, and for jobs that are exempt from a pause of the service. Each slot has one job at a time. */
  readonly slots: readonly HostSlot[];
  /** The slot for isolated plugins, whose jobs run one at a time. */
  readonly isolation = singleJobSlot('isolation');
  readonly #state: JobState;
  readonly #onIsolated: (plugin: string) => void;
  readonly #outstanding: OutstandingFrames;
  readonly #crashHolds = new Map<Lane, CrashHold>();

  constructor(state: JobState, threads: number, onIsolated: (plugin: string) => void, outstanding: OutstandingFrames) {
    this.#state = state;
    this.slots = quarantineSlots(threads);
    this.#onIsolated = onIsolated;
    this.#outstanding = outstanding;
  }

  /**
   * Adds a suspect. Likely culprits (`isLikely`) run before other suspects. A suspect of an isolated plugin waits in its lane instead,
   * unless it is exempt (exempt.ts).
   */
  take(job: OpenAttempt, isLikely: boolean): void {
    const lane = this.#state.lane(job.open.plugin);
    if (lane.isIsolated && !isExempt(this.#state, job)) lane.enqueueAttempt(job);
    else if (isLikely) this.#state.suspects.unshift(job);
    else this.#state.suspects.push(job);
  }

  /** Counts a host that has died while a job of this lane was its only job. After too many such deaths, the lane is isolated. */
  endedHost(turn: Turn, lane: Lane): void {
    let hold = this.#crashHolds.get(lane);
    if (!hold) {
      hold = new CrashHold({ crashesMax: endedHostsMax, windowMs: endedHostsWindowMs, holdMs: isolationMs });
      this.#crashHolds.set(lane, hold);
    }
    if (!hold.crashed(turn.nowUs / 1000)) return;
    lane.isIsolated = true;
    for (const job of this.#state.suspects.splice(0)) this.take(job, false);
    turn.after(() => this.#onIsolated(lane.name));
  }

  /** Called after a reload: ends all isolations, because the plugin code may have been fixed. */
  reloaded(): void {
    for (const lane of this.#crashHolds.keys()) lane.isIsolated = false;
    this.#crashHolds.clear();
  }

  /**
   * Ends isolations that have expired, dispatches suspects and exempt jobs (exempt.ts), and stops hosts that are no longer needed.
   * `mayGoOn`: whether the turn may handle another job.
   */
  dispatch(turn: Turn, send: (slot: HostSlot, frame: JobFrame) => void, mayGoOn: () => boolean): void {
    let isIsolating = false;
    for (const [lane, hold] of this.#crashHolds) {
      lane.isIsolated &&= hold.holds(turn.nowUs / 1000);
      isIsolating ||= lane.isIsolated;
    }
    if (!isIsolating) this.#closeIfIdle(turn, this.isolation);
    for (const slot of this.slots) {
      while (slot.frames.size === 0 && mayGoOn()) {
        const job = this.#nextSuspect(turn);
        if (!job) break;
        const { open } = job;
        const lane = this.#state.lane(open.plugin);
        const command = lane.command(open.command)!;
        this.#state.load(open);
        const id = this.#outstanding.nextId();
        send(slot, frameOf(this.#state, turn, lane, command, id, [job], -1, 'sentAlone', fullShare));
      }
      if (slot.host && this.#state.suspects.every(job => this.#isHeld(job))) this.#closeIfIdle(turn, slot);
    }
  }

  /**
   * Removes and returns the next waiting job that may run, and ends jobs before it that must not start. The limits of a plugin also count
   * its jobs in other hosts.
   */
  #nextSuspect(turn: Turn): OpenAttempt | undefined {
    const { lanes, suspects } = this.#state;
    for (;;) {
      const place = suspects.findIndex(
        job => !this.#isHeld(job) && !isAtLimit(this.#state.lane(job.open.plugin), lanes),
      );
      const job = place < 0 ? undefined : suspects.splice(place, 1)[0]!;
      if (!job || !isStopped(this.#state, job, turn.nowUs)) return job;
      endStoppedWaiting(this.#state, turn, job);
    }
  }

  #closeIfIdle(turn: Turn, slot: HostSlot): void {
    const { host } = slot;
    if (!host || slot.frames.size > 0) return;
    slot.host = null;
    turn.after(() => {
      this.#outstanding.ended(slot.name);
      void host.stop(0);
    });
  }

  #isHeld(job: OpenAttempt): boolean {
    const { plugin, command } = job.open;
    const lane = this.#state.lane(plugin);
    const hold = lane.holdOf(command);
    if (!hold?.isOfService) return hold !== null;
    // The block stays in memory, because each turn asks again.
    this.#state.load(job.open);
    return !isExempt(this.#state, job) || lane.holdOf(command, true) !== null;
  }
}
