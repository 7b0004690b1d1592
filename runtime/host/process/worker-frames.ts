// Frames of worker plugins in flight: handed to the pool, watched by a coarse clock, taken apart when a task is slow.
import { steadyUs } from '../../clock.ts';
import type { FrameHead } from '../wire/frame.ts';
import type { LearnedMask } from '../wire/mask.ts';
import { outcomeOf } from '../wire/outcome-message.ts';
import type { HostedPlugin } from '../wire/port.ts';
import { type Settled, settleFailure, timeOutReason } from '../wire/response.ts';
import { Slot } from '../wire/shared-frame.ts';
import { ThreadPool } from './pool.ts';
import type { Reports } from './reports.ts';
import { reasonOf } from './thread-end.ts';

/** A task that runs longer is slow: what waits behind it goes back. */
const slowMs = 5;
/** Where all threads are slow, a frame waits so long before it goes back. */
const patienceMs = 20;
/** A plugin's code may take so long to load before what waits behind goes back, and before its thread is replaced. */
const slowLoadMs = 250;
const loadMsMax = 10_000;
/** A plugin whose thread has died waits so long at most for another to start. */
const heldMsMax = 5_000;
/** How long after its deadline a handler may take to heed the signal. */
export const graceMs = 100;
/** The clock's step, at which outcomes of frames that go on are told, and its step while nothing but slow tasks runs. */
const tickMs = 3;
const lazyTickMs = 20;

type Flight = {
  readonly head: FrameHead;
  readonly slot: Slot;
  /** Bytes of outcomes told so far. */
  told: number;
  /** Tasks that are or were with a thread; the others were taken back. */
  started: number;
  takenBack: boolean;
  /** What was last seen of it, and since when. */
  seen: number;
  seenAtMs: number;
  /** Its thread is being stopped. */
  doom: Settled | null;
};

export class WorkerFrames {
  readonly #threads: number;
  readonly #reports: Reports;
  /** For what a thread says when it dies. */
  readonly #learned: LearnedMask;
  readonly #pool: ThreadPool;
  /** All that is not over, and of these what no thread is asked for yet: the pool gets as many as it has threads. */
  readonly #flights = new Set<Flight>();
  #waiting: Flight[] = [];
  #running = 0;
  /** Plugins, by number, that have cost a thread: until another has started, nothing of theirs runs that could cost the next. */
  readonly #held = new Map<number, NodeJS.Timeout>();
  #clock: NodeJS.Timeout | null = null;
  #clockMs = 0;

  constructor(
    threads: number,
    generation: number,
    plugins: readonly HostedPlugin[],
    reports: Reports,
    learned: LearnedMask,
    onStuck: () => void,
  ) {
    this.#threads = threads;
    this.#reports = reports;
    this.#learned = learned;
    this.#pool = new ThreadPool(
      threads,
      { generation, plugins },
      {
        onWhole: () => this.#release([...this.#held.keys()]),
        onLateOutcome: late => reports.written(late.frameId, late.written),
        onThreadReplaced: reason => reports.replaced(learned.text(reason)),
        onStuck,
      },
    );
  }

  get idle(): boolean {
    return this.#flights.size === 0;
  }

  submit(head: FrameHead, frame: Uint8Array): void {
    const slot = Slot.of(frame, head.count);
    const flight: Flight = {
      head,
      slot,
      told: 0,
      started: head.count,
      takenBack: false,
      seen: 0,
      seenAtMs: performance.now(),
      doom: null,
    };
    this.#flights.add(flight);
    this.#waiting.push(flight);
    this.#launch();
    this.#wind(tickMs);
  }

  /** Gives back all that no thread has begun. */
  returnUnstarted(): void {
    for (const flight of this.#flights) this.#takeBack(flight);
    this.#dropWaiting();
  }

  /** Stops the threads; what they run is not answered. */
  async close(): Promise<void> {
    if (this.#clock !== null) clearTimeout(this.#clock);
    for (const timer of this.#held.values()) clearTimeout(timer);
    this.#waiting = [];
    this.#flights.clear();
    await this.#pool.close();
  }

  #launch(): void {
    while (this.#running < this.#threads) {
      const place = this.#waiting.findIndex(({ head }) => !this.#held.has(head.plugin));
      if (place < 0) return;
      const [flight] = this.#waiting.splice(place, 1) as [Flight];
      this.#running++;
      this.#pool.run(flight.slot.shared, flight.head.plugin).then(
        // A thread that has died of a null or undefined that was thrown is told as one that has done its work.
        () => (flight.slot.answered < flight.started ? this.#crash(flight, null) : this.#land(flight)),
        error => this.#crash(flight, error),
      );
    }
  }

  /** What waits and was taken back is over. */
  #dropWaiting(): void {
    for (const flight of this.#waiting) if (flight.takenBack) this.#flights.delete(flight);
    this.#waiting = this.#waiting.filter(flight => !flight.takenBack);
  }

  #land(flight: Flight): void {
    this.#running--;
    this.#launch();
    if (this.#flights.delete(flight)) this.#tell(flight);
  }

  /** The thread died, or must: who was with it goes back, the task that ran bears it. */
  async #crash(flight: Flight, error: unknown): Promise<void> {
    this.#takeBack(flight);
    this.#hold(flight.head.plugin);
    const reason = reasonOf(error);
    // The frame may have failed alone, of what a plugin has done to the built-ins that all on its thread use.
    if (flight.doom === null) this.#pool.terminate(flight.slot.thread, reason);
    await this.#pool.exitOf(flight.slot.thread);
    this.#running--;
    this.#launch();
    if (!this.#flights.delete(flight)) return;
    this.#tell(flight);
    const task = flight.slot.answered;
    if (task >= flight.started) return;
    const settled = flight.doom ?? settleFailure(this.#learned.text(reason), false);
    const runUs = Math.round((performance.now() - flight.seenAtMs) * 1000);
    this.#reports.outcomes(flight.head.frameId, [outcomeOf(task, settled, steadyUs(flight.seenAtMs), runUs)]);
  }

  #hold(plugin: number): void {
    clearTimeout(this.#held.get(plugin));
    this.#held.set(
      plugin,
      setTimeout(() => this.#release([plugin]), heldMsMax),
    );
  }

  #release(plugins: readonly number[]): void {
    for (const plugin of plugins) {
      clearTimeout(this.#held.get(plugin));
      this.#held.delete(plugin);
    }
    this.#launch();
  }

  #tell(flight: Flight): void {
    const { written } = flight.slot;
    if (written === flight.told) return;
    this.#reports.written(flight.head.frameId, flight.slot.outcomes(flight.told, written));
    flight.told = written;
  }

  #takeBack(flight: Flight): void {
    if (flight.takenBack) return;
    flight.takenBack = true;
    flight.started = flight.slot.takeBack();
    this.#reports.returned(flight.head.frameId, flight.started, flight.head.count);
  }

  #wind(afterMs: number): void {
    if (this.#clock !== null) {
      if (this.#clockMs <= afterMs) return;
      clearTimeout(this.#clock);
    }
    this.#clockMs = afterMs;
    this.#clock = setTimeout(() => this.#tick(), afterMs);
  }

  #tick(): void {
    this.#clock = null;
    const nowMs = performance.now();
    let slow = 0;
    for (const flight of this.#flights) {
      this.#look(flight, nowMs);
      if (flight.takenBack && flight.slot.phase !== 'waiting') slow++;
    }
    if (slow >= this.#threads) {
      for (const flight of this.#waiting) if (nowMs - flight.seenAtMs >= patienceMs) this.#takeBack(flight);
      this.#dropWaiting();
    }
    if (this.#flights.size > 0) this.#wind(slow === this.#flights.size ? lazyTickMs : tickMs);
  }

  #look(flight: Flight, nowMs: number): void {
    const { slot, head } = flight;
    const { phase, answered } = slot;
    if (phase === 'waiting') return;
    // It runs since the last look at least.
    if (flight.seen >= 2) this.#tell(flight);
    // Loading and the first task are told apart: loading is not the task's time.
    const seen = phase === 'loading' ? 1 : 2 + answered;
    if (seen !== flight.seen) {
      flight.seen = seen;
      flight.seenAtMs = nowMs;
      return;
    }
    const sinceMs = nowMs - flight.seenAtMs;
    const loading = phase === 'loading';
    if (sinceMs >= (loading ? slowLoadMs : slowMs)) this.#takeBack(flight);
    const limitMs = loading ? Math.max(loadMsMax, head.deadlineMs) : head.deadlineMs + graceMs;
    if (sinceMs < limitMs || flight.doom !== null || answered >= flight.started) return;
    const reason = loading ? `timed out after ${limitMs} ms while loading` : timeOutReason(head.deadlineMs);
    flight.doom = settleFailure(reason, false, {}, 'timed_out');
    this.#takeBack(flight);
    this.#pool.terminate(slot.thread, reason);
  }
}
