// Dispatches jobs to hosts: lanes take turns, frames fill the free places in the hosts' slots, and reported outcomes end attempts.
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import type { HostedPlugin, Outcome, PluginHost, ReturnReason } from '../../../runtime/host/wire/plugin-host.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Deliver, RevokedDelivery } from '../../vault/protocol.ts';
import { type AdoptedBlock, adoptFrames } from '../adoption.ts';
import { dropStopped, mayStop } from '../cancel/cancelled-jobs.ts';
import { charge, chargePlugin, giveBack, lostBody, settleTask, stoppedBody } from '../custody.ts';
import { enqueue } from '../dispatch/enqueue.ts';
import { advanceHolds, moveToHeld } from '../holds/held-jobs.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { CountedJobs } from '../protocol.ts';
import type { KeyText } from '../records/open.ts';
import { heldOf, queuedJobs } from '../reports/queued.ts';
import { BusyMeter, busyWindowUs } from './busy.ts';
import {
  concurrentSlot,
  framesIn,
  freeSlotFor,
  type HostSlot,
  type HostSlotName,
  isShort,
  mainSlot,
  persistentSlot,
  programSlots,
  tasksMax,
} from './host-slot.ts';
import { countFinished, countReported, countSent } from './in-flight.ts';
import { type JobFrame, pickFrame, taskFrame, unreported } from './job-frame.ts';
import type { Lane } from './lane.ts';
import { OutstandingFrames } from './outstanding-frames.ts';
import { Quarantine } from './quarantine.ts';
import { RoundRobin } from './round-robin.ts';

/** Starts a host for the slot. The reports of the host arrive as messages with the slot's name. */
export type StartHost = (slot: HostSlot) => PluginHost;

/** The dispatcher's connections to the rest of the ledger. */
export type DispatcherPorts = {
  readonly startHost: StartHost;
  /** The frames that hosts have, kept for the actors that follow after a failed turn. Absent: no actors follow. */
  readonly outstanding?: OutstandingFrames;
  /** Delivers the vault's secrets to jobs of a plugin. Absent: there is no vault. */
  readonly deliver?: Deliver;
  /** Called when a plugin is isolated because its jobs ended hosts. */
  readonly onIsolated?: (plugin: string) => void;
};

/** Lanes that take turns (`turns`) for the places of the same slots. `hasRunners`: whether runners run the jobs. */
type DispatchGroup = { readonly turns: RoundRobin; readonly slots: readonly HostSlot[]; readonly hasRunners?: boolean };

/** A turn stops dispatching once it has moved or ended about this many jobs without sending them. Moving a whole block counts as one. */
export const heldMovesPerTurnMax = 1024;

/** Why no lane dispatches jobs: the disk is full (`isDisk`), or the service is stopping. */
export type DispatchPause = { readonly isDisk: boolean; readonly detail: string; readonly sinceUs: number };

export type InFlightJob = {
  readonly job: OpenAttempt;
  readonly frame: JobFrame;
  readonly task: number;
  readonly slot: HostSlot;
};

export class Dispatcher {
  readonly #state: JobState;
  readonly #startHost: StartHost;
  readonly #deliver: Deliver;
  readonly #kinds: readonly DispatchGroup[];
  readonly #main: HostSlot;
  readonly quarantine: Quarantine;
  readonly #slots: ReadonlyMap<HostSlotName, HostSlot>;
  readonly #outstanding: OutstandingFrames;
  /** The turn to which `#movesLeft` applies. */
  #turn: Turn | null = null;
  /** How many more jobs the turn may move, or end without sending them (`heldMovesPerTurnMax`). */
  #movesLeft = heldMovesPerTurnMax;
  #generation = 0;
  #plugins: readonly HostedPlugin[] = [];
  #pause: DispatchPause | null = null;
  readonly #busy = new BusyMeter();

  constructor(state: JobState, threads: number, outside: DispatcherPorts) {
    this.#state = state;
    this.#startHost = outside.startHost;
    this.#outstanding = outside.outstanding ?? new OutstandingFrames();
    this.#deliver = outside.deliver ?? (() => null);
    this.quarantine = new Quarantine(state, threads, outside.onIsolated ?? (() => {}), this.#outstanding);
    this.#main = mainSlot(threads);
    // Each of these kinds has as many places as there are workers, so lanes of one kind never wait for jobs of another kind.
    const slotsOf = { threads: [this.#main], persistent: [persistentSlot(threads)], attempts: programSlots(threads) };
    const kinds = Object.entries(slotsOf).map(([kind, slots]) => {
      return { turns: new RoundRobin(state.lanes, lane => lane.nextKind === kind && !lane.isIsolated), slots };
    });
    const hasRunner = (lane: Lane) => lane.nextKind === 'concurrent' && !lane.isIsolated && lane.hasRunner(threads);
    const runners = {
      turns: new RoundRobin(state.lanes, hasRunner),
      slots: [concurrentSlot(threads)],
      hasRunners: true,
    } as const;
    const isolated = {
      turns: new RoundRobin(state.lanes, lane => lane.isIsolated),
      slots: [this.quarantine.isolation],
    };
    this.#kinds = [...kinds, runners, isolated];
    const slots = [...this.#kinds.flatMap(kind => kind.slots), ...this.quarantine.slots];
    this.#slots = new Map(slots.map(slot => [slot.name, slot]));
    for (const slot of slots) slot.host = this.#outstanding.hostOf(slot.name);
  }

  /** Adopts the frames that the previous actors sent and that hosts still have. */
  adopt(): ReadonlyMap<KeyText, AdoptedBlock> {
    return adoptFrames(this.#state, this.#outstanding, this.#slots);
  }

  configure(plugins: readonly HostedPlugin[]): void {
    this.#generation++;
    this.#plugins = plugins;
    this.quarantine.reloaded();
    for (const slot of this.#slots.values()) this.#configure(slot);
  }

  #configure({ runtimes, host }: HostSlot): void {
    host?.configure(
      this.#generation,
      this.#plugins.filter(({ runtime }) => runtimes.includes(runtime)),
    );
  }

  /** Starts the main host early, so that the first job need not wait for it. Other hosts start on demand. */
  warm(): void {
    this.#hostOf(this.#main);
  }

  /** Stops dispatching until `resume`. */
  hold(nowUs: number, isDisk: boolean): void {
    const detail = isDisk ? 'the disk is full: no job is started' : 'the service is stopping';
    this.#pause = { isDisk, detail, sinceUs: this.#pause?.sinceUs ?? nowUs };
  }

  resume(): void {
    this.#pause = null;
  }

  /** Why no job is dispatched. Null: jobs are dispatched. */
  get pause(): DispatchPause | null {
    return this.#pause;
  }

  /** Makes frames for hosts with free places, and sends them after the commit. True: another turn must follow (`heldMovesPerTurnMax`). */
  dispatch(turn: Turn): boolean {
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#movesLeft = heldMovesPerTurnMax;
    }
    if (!this.#pause) this.#fill(turn);
    const out = Math.max(
      ...this.#kinds.map(({ slots, hasRunners }) => (hasRunners ? slots[0]!.busyRunners : framesIn(slots))),
    );
    this.#busy.note(turn.nowUs, Math.min(out, this.threads));
    return this.#movesLeft <= 0;
  }

  #fill(turn: Turn): void {
    this.#stepHolds(turn);
    const send = (slot: HostSlot, frame: JobFrame) => this.#send(turn, slot, frame);
    this.quarantine.dispatch(turn, send, () => this.#movesLeft > 0);
    let open = this.#kinds;
    while (open.length > 0) open = open.filter(kind => this.#movesLeft > 0 && this.#handOut(turn, kind));
  }

  #stepHolds(turn: Turn): void {
    const { moved, ended } = advanceHolds(this.#state, turn, this.#movesLeft);
    this.#movesLeft -= moved + ended;
    if (ended > 0) this.keepHolds(turn);
  }

  /** Stores the holds that have jobs now, and removes the other stored holds. */
  keepHolds(turn: Turn): void {
    const held = heldOf(this.#state, this.queued());
    this.#state.holds.keep(turn, new Set(held.map(({ hold }) => hold)), this.#state.lanes);
  }

  queued(): CountedJobs[] {
    return queuedJobs(
      this.#state.completions.unsettled(),
      [...this.#slots.values()].flatMap(({ frames }) => [...frames.values()]),
    );
  }

  /** Sends a frame of the next lane, or moves or ends jobs of this lane that cannot run. False: no lane is ready, or no place is free. */
  #handOut(turn: Turn, { turns, slots, hasRunners = false }: DispatchGroup): boolean {
    const lane = turns.next();
    if (!lane) return false;
    const command = lane.runnable(lane.nextCommand!);
    if (!command) {
      turns.advance(lane);
      this.#movesLeft -= moveToHeld(lane, this.#movesLeft);
      return true;
    }
    if (mayStop(this.#state, lane)) {
      const dropped = dropStopped(this.#state, turn, lane, this.#movesLeft);
      this.#movesLeft -= dropped;
      // The next job may have a different command.
      if (dropped > 0) return true;
    }
    // If no place is free, `turns` does not advance: this lane comes first the next time.
    const slot = hasRunners ? slots[0] : freeSlotFor(slots, command);
    if (!slot) return false;
    turns.advance(lane);
    const runner = hasRunners ? command.runners.free(slot.threads, command.concurrency) : -1;
    // `#send` may end the jobs of the frame instead of sending them (`#failRevoked`), so the frame has at most `#movesLeft` jobs.
    const max = Math.min(tasksMax(lane, command, slots, runner), this.#movesLeft);
    const frame = pickFrame(this.#state, turn, lane, command, slot, this.#outstanding.nextId(), max, runner);
    this.#send(turn, slot, frame);
    return true;
  }

  #send(turn: Turn, slot: HostSlot, frame: JobFrame): void {
    const state = this.#state;
    const { lane, command } = frame;
    frame.slow = frame.runner < 0 && !isShort(slot, command);
    countSent(state, slot, frame);
    state.observations.jobs('job.started', turn.nowUs, lane.name, command.name, frame.ids);
    const delivery = this.#deliver(turn, lane.name, frame.ids);
    if (delivery?.kind === 'revoked') {
      this.#failRevoked(turn, slot, frame, delivery);
      return;
    }
    const tasks = taskFrame(frame, state.completions.pluginState(lane.name), state.parts, delivery?.packed);
    turn.after(() => {
      this.#hostOf(slot).submit(tasks);
      this.#outstanding.sent(slot.name, frame);
    });
  }

  /** Fails the attempts without sending them, because the plugin may no longer receive its secrets. */
  #failRevoked(turn: Turn, slot: HostSlot, frame: JobFrame, { reason }: RevokedDelivery): void {
    this.#movesLeft -= frame.jobs.length;
    const body = encodeBody({ error: Buffer.from(reason) });
    const failed = { verdict: 'error', permanent: true, startedUs: turn.nowUs, runUs: 0, body } as const;
    for (let task = 0; task < frame.jobs.length; task++) {
      countReported(this.#state, slot, frame, task);
      settleTask(this.#state, turn, frame, { task, ...failed });
    }
    this.#closeIfOver(turn, slot, frame);
  }

  #hostOf(slot: HostSlot): PluginHost {
    if (!slot.host) {
      slot.host = this.#startHost(slot);
      this.#outstanding.started(slot.name, slot.host);
      this.#configure(slot);
    }
    return slot.host;
  }

  /** Handles the report of a host: some tasks of a frame have ended. */
  settle(turn: Turn, slotName: HostSlotName, frameId: number, outcomes: readonly Outcome[]): void {
    const slot = this.#slots.get(slotName)!;
    const frame = slot.frames.get(frameId);
    if (!frame) return;
    slot.congested = false;
    let ranUs = 0;
    let heard = 0;
    for (const outcome of outcomes) {
      if (frame.reported[outcome.task] !== 0) continue;
      countReported(this.#state, slot, frame, outcome.task);
      ranUs += outcome.runUs;
      heard++;
      settleTask(this.#state, turn, frame, outcome);
    }
    // The pace is measured only without a runner, where the jobs of a frame run one after another.
    if (frame.runner < 0) frame.command.pace.measured(heard, ranUs);
    this.#closeIfOver(turn, slot, frame);
  }

  /**
   * Handles tasks that a host returns. A task that may have begun is charged if its command must not run twice. Any other task waits again,
   * unless its job was cancelled, has expired or is past its deadline. If the task may have begun, or if a quarantine host returns it, it
   * waits as a suspect.
   */
  returned(turn: Turn, slotName: HostSlotName, frameId: number, tasks: readonly number[], reason: ReturnReason): void {
    const slot = this.#slots.get(slotName)!;
    const frame = slot.frames.get(frameId);
    if (!frame) return;
    if (reason === 'crowded' && frame.runner < 0) {
      frame.command.pace.tooLarge();
      slot.congested = true;
    }
    const hasBegun = reason === 'begun';
    const isSuspect = this.quarantine.slots.includes(slot);
    for (const task of tasks) {
      if (frame.reported[task] !== 0) continue;
      countReported(this.#state, slot, frame, task);
      const job = frame.jobs[task]!;
      if (hasBegun && !frame.command.retrySafe) {
        chargePlugin(this.#state, turn, job, frame.sentUs);
        continue;
      }
      const isAlone = hasBegun || isSuspect;
      const waiting = giveBack(this.#state, turn, job, isAlone ? 'suspect' : 'waiting', hasBegun ? lostBody : null);
      if (waiting && isAlone) this.quarantine.take(waiting, isSuspect);
      else if (waiting) enqueue(this.#state, waiting);
    }
    this.#closeIfOver(turn, slot, frame);
  }

  /**
   * Handles the death of a host. If the host had a single job, that job is charged. If the host had several jobs, the jobs that must not
   * run twice are charged, and the others become suspects.
   */
  hostLost(turn: Turn, slotName: HostSlotName, reason: string, sentUpTo: number): void {
    const state = this.#state;
    const slot = this.#slots.get(slotName)!;
    const held = [...slot.frames.values()].filter(({ id }) => id <= sentUpTo);
    const culpritKnown = held.reduce((tasks, frame) => tasks + frame.unreportedCount, 0) === 1;
    if (culpritKnown) this.quarantine.endedHost(turn, held[0]!.lane);
    const body = encodeBody({ error: Buffer.from(`the plugin host ended while the job ran: ${reason}`) });
    for (const [place, frame] of held.entries()) {
      // Each place ran one of the oldest frames and, if there is no runner, the first job of that frame that has not ended.
      let isLikely = frame.runner < 0 && place < slot.threads;
      for (const task of unreported(frame)) {
        countReported(this.#state, slot, frame, task);
        const job = frame.jobs[task]!;
        if (culpritKnown) chargePlugin(state, turn, job, frame.sentUs, 'suspect', body);
        else if (!frame.command.retrySafe) chargePlugin(state, turn, job, frame.sentUs);
        else {
          const suspect = giveBack(state, turn, job, 'suspect', body);
          if (suspect) this.quarantine.take(suspect, isLikely);
        }
        isLikely = false;
      }
      this.#closeIfOver(turn, slot, frame);
    }
    state.observations.plain('worker.replaced', turn.nowUs, { host: slotName });
  }

  /** Stops the hosts. Resolves when no plugin code runs any more. No job may be dispatched afterwards. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ host }) => host?.stop(graceMs)));
  }

  /** Must follow `stop`. Charges the jobs that must not run twice; the others wait again or, if cancelled or past their deadline, end. */
  requeueAll(turn: Turn): void {
    const state = this.#state;
    for (const slot of this.#slots.values()) {
      for (const frame of [...slot.frames.values()]) {
        for (const task of unreported(frame)) {
          countReported(this.#state, slot, frame, task);
          const job = frame.jobs[task]!;
          if (!frame.command.retrySafe) charge(state, turn, job, frame.sentUs);
          else {
            const waiting = giveBack(state, turn, job, 'waiting', stoppedBody);
            if (waiting) frame.lane.enqueueAttempt(waiting);
          }
        }
        this.#closeIfOver(turn, slot, frame);
      }
      slot.host = null;
    }
    turn.after(() => this.#outstanding.clear());
  }

  #closeIfOver(turn: Turn, slot: HostSlot, frame: JobFrame): void {
    if (frame.unreportedCount > 0) return;
    turn.after(() => this.#outstanding.finished(slot.name, frame.id));
    countFinished(slot, frame);
    for (const { open } of frame.jobs) {
      // Releases a block once only delayed jobs, and jobs with a record in `retries`, can still need it. For these jobs, it is read again.
      if (open.inFlight === 0 && open.next === open.count && !open.hasReturned) this.#state.release(open);
    }
  }

  /** The job of this task, if the host still has it. */
  jobAt(slotName: HostSlotName, frameId: number, task: number): OpenAttempt | undefined {
    const frame = this.#slots.get(slotName)!.frames.get(frameId);
    return frame?.reported[task] === 0 ? frame.jobs[task] : undefined;
  }

  /** The jobs that hosts have now. */
  *active(): Iterable<InFlightJob> {
    for (const slot of this.#slots.values()) {
      for (const frame of slot.frames.values()) {
        for (const task of unreported(frame)) yield { job: frame.jobs[task]!, frame, task, slot };
      }
    }
  }

  /** The number of places of each kind: threads, persistent processes, and programs that each run one attempt. */
  get threads(): number {
    return this.#main.threads;
  }

  /** The average share of the workers that were busy in the last minute, 0 to 1. At each moment, the busiest kind of worker counts. */
  utilization(nowUs: number): number {
    return this.#busy.busyUs(nowUs) / (this.threads * busyWindowUs);
  }
}
