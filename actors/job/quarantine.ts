// The quarantine, where each suspect runs alone in a host of its own. If several jobs of a plugin have ended their hosts recently, the
// plugin is isolated: all its jobs run here, so that it ends no host that others use.
import { CircuitBreaker } from '../../runtime/circuit-breaker.ts';
import type { Turn } from '../../runtime/turn.ts';
import { endUnstarted } from './cancelled-jobs.ts';
import { type HostSlot, quarantineSlots, singleJobSlot } from './host-slot.ts';
import { frameOf, type JobFrame } from './job-frame.ts';
import type { JobState } from './job-state.ts';
import type { Lane } from './lane.ts';
import type { OpenAttempt } from './open-attempt.ts';
import type { OutstandingFrames } from './outstanding-frames.ts';
import type { OpenBlock } from './records/open.ts';
import { isAtLimit } from './round-robin.ts';

/** A plugin is isolated when this many of its jobs were alone in a host that died, within the window. */
export const endedHostsMax = 2;
export const endedHostsWindowMs = 60_000;
/** The isolation ends when none of its jobs has ended a host for this time, or at a reload. */
export const isolationMs = 30_000;

export class Quarantine {
  /** For suspects, one each. */
  readonly slots: readonly HostSlot[];
  /** For isolated plugins, one job at a time. */
  readonly isolation = singleJobSlot('isolation');
  readonly #state: JobState;
  readonly #onIsolated: (plugin: string) => void;
  readonly #outstanding: OutstandingFrames;
  readonly #breakers = new Map<Lane, CircuitBreaker>();

  constructor(state: JobState, threads: number, onIsolated: (plugin: string) => void, outstanding: OutstandingFrames) {
    this.#state = state;
    this.slots = quarantineSlots(threads);
    this.#onIsolated = onIsolated;
    this.#outstanding = outstanding;
  }

  /** Adds a suspect. Likely culprits run first, so that the others are cleared soon. */
  take(job: OpenAttempt, isLikely: boolean): void {
    const lane = this.#state.lane(job.open.plugin);
    if (lane.isIsolated) lane.enqueueAttempt(job);
    else if (isLikely) this.#state.suspects.unshift(job);
    else this.#state.suspects.push(job);
  }

  /** A job of the lane was alone in a host that died. */
  endedHost(turn: Turn, lane: Lane): void {
    let breaker = this.#breakers.get(lane);
    if (!breaker) {
      breaker = new CircuitBreaker({ crashesMax: endedHostsMax, windowMs: endedHostsWindowMs, openMs: isolationMs });
      this.#breakers.set(lane, breaker);
    }
    if (!breaker.crashed(turn.nowUs / 1000)) return;
    lane.isIsolated = true;
    for (const job of this.#state.suspects.splice(0)) this.take(job, false);
    turn.after(() => this.#onIsolated(lane.name));
  }

  /** Plugin code was loaded again, and may be fixed. */
  reloaded(): void {
    for (const lane of this.#breakers.keys()) lane.isIsolated = false;
    this.#breakers.clear();
  }

  /** Ends isolations that have expired, dispatches suspects, and stops hosts that are no longer needed. */
  dispatch(turn: Turn, send: (slot: HostSlot, frame: JobFrame) => void, nextFrameId: () => number): void {
    let isIsolating = false;
    for (const [lane, breaker] of this.#breakers) {
      lane.isIsolated &&= breaker.isOpen(turn.nowUs / 1000);
      isIsolating ||= lane.isIsolated;
    }
    if (!isIsolating) this.#closeIfIdle(turn, this.isolation);
    for (const slot of this.slots) {
      while (slot.frames.size === 0) {
        const job = this.#nextSuspect(turn);
        if (!job) break;
        const { open } = job;
        const lane = this.#state.lane(open.plugin);
        const command = lane.command(open.command)!;
        this.#state.load(open);
        send(slot, frameOf(this.#state, turn, lane, command, nextFrameId(), [job], -1));
      }
      if (slot.host && this.#state.suspects.every(({ open }) => this.#isHeld(open))) this.#closeIfIdle(turn, slot);
    }
  }

  /** The next suspect that may run. The limits of its plugin count its other jobs too, which may run in another host. */
  #nextSuspect(turn: Turn): OpenAttempt | undefined {
    const { lanes, suspects } = this.#state;
    for (;;) {
      const place = suspects.findIndex(
        ({ open }) => !this.#isHeld(open) && !isAtLimit(this.#state.lane(open.plugin), lanes),
      );
      const job = place < 0 ? undefined : suspects.splice(place, 1)[0]!;
      if (!job || !this.#state.isCancelled(job)) return job;
      endUnstarted(this.#state, turn, job);
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

  #isHeld({ plugin, command }: OpenBlock): boolean {
    return this.#state.lane(plugin).holdOf(command) !== null;
  }
}
