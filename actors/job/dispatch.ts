// Handing jobs to the hosts: lanes take turns, frames fill the free places, and what comes back is settled.
import { encodeBody } from '../../runtime/host/outcome.ts';
import type { HostedPlugin, Outcome, PluginHost } from '../../runtime/host/port.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { ClosedDelivery, Deliver } from '../vault/protocol.ts';
import { BusyMeter, busyWindowUs } from './busy.ts';
import type { Desk } from './desk.ts';
import { type JobFrame, nextCommand, pickFrame, soloFrame, taskFrame } from './frame.ts';
import type { OpenBlock } from './open.ts';
import { failOrphans } from './orphans.ts';
import { frameTasksMax } from './pace.ts';
import { settleTask } from './settle.ts';
import {
  framesIn,
  isShort,
  mainSlot,
  persistentSlot,
  placeFor,
  programSlots,
  quarantineSlot,
  type Slot,
  type SlotName,
  shareOf,
} from './slot.ts';
import { isFull, LaneTurns } from './turns.ts';

/** Starts a host; what it says comes back as messages that carry the slot's name. */
export type StartHost = (slot: Slot) => PluginHost;

/** What takes turns for the same places, and the slots that have them. */
type Kind = { readonly turns: LaneTurns; readonly slots: readonly Slot[] };

/** Jobs that end without having been run: so many of them in a turn, for the sake of all others. */
export const endedUnrunMax = 1024;

/** A job that a host holds. */
export type Active = { readonly open: OpenBlock; readonly index: number; readonly frame: JobFrame };

export class Dispatcher {
  readonly #desk: Desk;
  readonly #startHost: StartHost;
  readonly #deliver: Deliver;
  readonly #kinds: readonly Kind[];
  readonly #main: Slot;
  readonly #quarantine = quarantineSlot();
  readonly #slots: ReadonlyMap<SlotName, Slot>;
  #frameIds = 0;
  /** The turn under way, and how many jobs have ended in it without having been run. */
  #turn: Turn | null = null;
  #endedUnrun = 0;
  #generation = 0;
  #plugins: readonly HostedPlugin[] = [];
  #held = false;
  readonly #busy = new BusyMeter();

  constructor(desk: Desk, startHost: StartHost, threads: number, deliver: Deliver = () => null) {
    this.#desk = desk;
    this.#startHost = startHost;
    this.#deliver = deliver;
    this.#main = mainSlot(threads);
    // Each kind has as many places as there are workers, so that none holds another back.
    const slotsOf = { threads: [this.#main], persistent: [persistentSlot(threads)], attempts: programSlots(threads) };
    this.#kinds = Object.entries(slotsOf).map(([kind, slots]) => {
      return { turns: new LaneTurns(desk.lanes, lane => lane.kind === kind), slots };
    });
    const slots = [...Object.values(slotsOf).flat(), this.#quarantine];
    this.#slots = new Map(slots.map(slot => [slot.name, slot]));
  }

  configure(plugins: readonly HostedPlugin[]): void {
    this.#generation++;
    this.#plugins = plugins;
    for (const slot of this.#slots.values()) this.#configure(slot);
  }

  #configure({ runtimes, host }: Slot): void {
    host?.configure(
      this.#generation,
      this.#plugins.filter(({ runtime }) => runtimes.includes(runtime)),
    );
  }

  /** Starts the main host early, so that the first job does not wait for it. The others start when they are needed. */
  warm(): void {
    this.#hostOf(this.#main);
  }

  /** From now on nothing is handed out. */
  hold(): void {
    this.#held = true;
  }

  resume(): void {
    this.#held = false;
  }

  /** Fills the free places; frames leave after the commit. True: another turn must follow to go on. */
  dispatch(turn: Turn): boolean {
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#endedUnrun = 0;
    }
    if (!this.#held) this.#fill(turn);
    const out = Math.max(...this.#kinds.map(({ slots }) => framesIn(slots)));
    this.#busy.note(turn.nowUs, Math.min(out, this.threads));
    return this.#endedUnrun >= endedUnrunMax;
  }

  #fill(turn: Turn): void {
    this.#dispatchSuspect(turn);
    let open = this.#kinds;
    while (open.length > 0 && this.#endedUnrun < endedUnrunMax) open = open.filter(kind => this.#handOut(turn, kind));
  }

  /** The next lane has its turn. False: none can, or no slot has a place for it. */
  #handOut(turn: Turn, { turns, slots }: Kind): boolean {
    const lane = turns.next();
    if (!lane) return false;
    const command = lane.instance ? lane.command(nextCommand(lane)!) : undefined;
    if (!command) {
      turns.pass(lane);
      this.#endedUnrun += failOrphans(this.#desk, turn, lane);
      return true;
    }
    // A lane that finds no place keeps its turn.
    const slot = placeFor(slots, command);
    if (!slot) return false;
    turns.pass(lane);
    const tasksMax = lane.kind === 'attempts' ? shareOf(slots, lane.waiting) : frameTasksMax;
    const frame = pickFrame(lane, command, ++this.#frameIds, tasksMax, open => this.#desk.load(open));
    this.#send(turn, slot, frame);
    return true;
  }

  #send(turn: Turn, slot: Slot, frame: JobFrame): void {
    const desk = this.#desk;
    const { lane, opens, indexes, attempts, kept, command } = frame;
    const alone = opens.length === 1;
    for (let task = 0; task < opens.length; task++) {
      const open = opens[task]!;
      const index = indexes[task]!;
      open.out++;
      open.outUs = turn.nowUs;
      if (open.back.length > 0) open.back = open.back.filter(other => other !== index);
      if (kept[task]) {
        const culprit = slot.name === 'quarantine';
        desk.keepRetry(turn, open, index, {
          attempt: attempts[task]!,
          dueUs: turn.nowUs,
          stage: alone ? 'alone' : 'out',
          culprit,
        });
      } else if (alone) open.solo.push(index);
      if (task === 0 || open !== opens[task - 1]) desk.touch(open);
    }
    lane.countFrame(command, 1);
    lane.running += opens.length;
    desk.running += opens.length;
    slot.frames.set(frame.id, frame);
    frame.sentUs = turn.nowUs;
    frame.slow = !isShort(slot, command);
    if (frame.slow) slot.slow++;
    desk.watch.jobs('job.started', turn.nowUs, lane.name, command.name, frame.ids);
    const delivery = this.#deliver(turn, lane.name, frame.ids);
    if (delivery?.kind === 'closed') {
      this.#failClosed(turn, slot, frame, delivery);
      return;
    }
    const tasks = taskFrame(frame, desk.books.state(lane.name), delivery?.packed);
    turn.after(() => this.#hostOf(slot).submit(tasks));
  }

  /** The attempts fail here: no plugin code runs without the secrets that it should have. */
  #failClosed(turn: Turn, slot: Slot, frame: JobFrame, { reason, isPermanent: permanent }: ClosedDelivery): void {
    this.#endedUnrun += frame.opens.length;
    const body = encodeBody({ error: Buffer.from(reason) });
    const failed = { verdict: 'error', permanent, startedUs: turn.nowUs, runUs: 0, body } as const;
    for (let task = 0; task < frame.opens.length; task++) {
      this.#hear(frame, task);
      settleTask(this.#desk, turn, slot.name, frame, { task, ...failed });
    }
    this.#desk.sendSettled(turn);
    this.#closeIfOver(slot, frame);
  }

  #hostOf(slot: Slot): PluginHost {
    if (!slot.host) {
      slot.host = this.#startHost(slot);
      this.#configure(slot);
    }
    return slot.host;
  }

  /** Tasks of a frame ended. */
  settle(turn: Turn, slotName: SlotName, frameId: number, outcomes: readonly Outcome[]): void {
    const slot = this.#slots.get(slotName)!;
    const frame = slot.frames.get(frameId);
    if (!frame) return;
    slot.congested = false;
    let ranUs = 0;
    let heard = 0;
    for (const outcome of outcomes) {
      if (frame.heard[outcome.task] !== 0) continue;
      this.#hear(frame, outcome.task);
      ranUs += outcome.runUs;
      heard++;
      settleTask(this.#desk, turn, slotName, frame, outcome);
    }
    frame.command.pace.measured(heard, ranUs);
    this.#desk.sendSettled(turn);
    this.#closeIfOver(slot, frame);
  }

  /** Tasks came back unstarted: they wait again, before all others of their lane. */
  returned(turn: Turn, slotName: SlotName, frameId: number, tasks: readonly number[]): void {
    const slot = this.#slots.get(slotName)!;
    const frame = slot.frames.get(frameId);
    if (!frame) return;
    frame.command.pace.tooLarge();
    slot.congested = true;
    for (const task of tasks) {
      if (frame.heard[task] !== 0) continue;
      this.#hear(frame, task);
      this.#requeue(turn, frame, task, slot.name === 'quarantine');
    }
    this.#closeIfOver(slot, frame);
  }

  /** A host died with all it held. Who may have done it runs again in the quarantine; who surely did is charged. */
  hostLost(turn: Turn, slotName: SlotName, reason: string): void {
    const desk = this.#desk;
    const slot = this.#slots.get(slotName)!;
    const held = [...slot.frames.values()];
    const culpritKnown = held.reduce((tasks, frame) => tasks + frame.left, 0) === 1;
    const body = encodeBody({ error: Buffer.from(`the plugin host ended while the job ran: ${reason}`) });
    for (const frame of held) {
      for (const task of unheardOf(frame)) {
        this.#hear(frame, task);
        const open = frame.opens[task]!;
        const index = frame.indexes[task]!;
        const attempt = frame.attempts[task]!;
        const kept = frame.kept[task]!;
        if (culpritKnown) desk.lost(turn, open, index, attempt, kept, true, body);
        else if (!frame.command.retrySafe) desk.lost(turn, open, index, attempt, kept, false, lostBody);
        else this.#requeue(turn, frame, task, true);
      }
      this.#closeIfOver(slot, frame);
    }
    desk.sendSettled(turn);
    desk.watch.plain('worker.replaced', turn.nowUs, { host: slotName });
  }

  /** Ends the hosts; resolves when no plugin code runs any more. Nothing may be handed out from then on. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ host }) => host?.stop(graceMs)));
  }

  /** After `stop`: what was still running is queued again and not charged. */
  requeueAll(turn: Turn): void {
    for (const slot of this.#slots.values()) {
      for (const frame of [...slot.frames.values()]) {
        for (const task of unheardOf(frame)) {
          this.#hear(frame, task);
          this.#requeue(turn, frame, task, false);
        }
        this.#closeIfOver(slot, frame);
      }
      slot.host = null;
    }
  }

  #requeue(turn: Turn, frame: JobFrame, task: number, suspect: boolean): void {
    const desk = this.#desk;
    const open = frame.opens[task]!;
    const index = frame.indexes[task]!;
    const attempt = frame.attempts[task]!;
    const kept = frame.kept[task]!;
    if (kept) desk.keepRetry(turn, open, index, { attempt, dueUs: 0, stage: 'waiting', culprit: suspect });
    else open.back.push(index);
    desk.touch(open);
    const again = { open, index, attempt, kept, alone: suspect };
    if (suspect) desk.suspects.push(again);
    else frame.lane.enqueueAgain(again);
  }

  /** One suspect at a time, with a host to itself. */
  #dispatchSuspect(turn: Turn): void {
    const desk = this.#desk;
    const slot = this.#quarantine;
    while (slot.frames.size === 0) {
      if (desk.suspects.length === 0) {
        this.#closeQuarantine(turn, slot);
        return;
      }
      // What bounds a plugin bounds it here too: its other jobs may be running in its own host.
      const place = desk.suspects.findIndex(({ open }) => !isFull(desk.lane(open.plugin), desk.lanes));
      const [again] = place < 0 ? [] : desk.suspects.splice(place, 1);
      if (!again) return;
      const lane = desk.lane(again.open.plugin);
      const command = lane.command(again.open.command);
      if (!command) {
        lane.enqueueAgain(again);
        continue;
      }
      this.#send(turn, slot, soloFrame(lane, command, again, ++this.#frameIds, desk.load(again.open)));
    }
  }

  #closeQuarantine(turn: Turn, slot: Slot): void {
    const { host } = slot;
    if (!host) return;
    slot.host = null;
    turn.after(() => void host.stop(0));
  }

  #hear(frame: JobFrame, task: number): void {
    frame.heard[task] = 1;
    frame.left--;
    frame.lane.running--;
    this.#desk.running--;
    const open = frame.opens[task]!;
    open.out--;
    if (open.solo.length > 0) {
      const index = frame.indexes[task]!;
      open.solo = open.solo.filter(other => other !== index);
    }
  }

  #closeIfOver(slot: Slot, frame: JobFrame): void {
    if (frame.left > 0) return;
    slot.frames.delete(frame.id);
    if (frame.slow) slot.slow--;
    frame.lane.countFrame(frame.command, -1);
    for (const open of frame.opens) {
      // Only retries are left of it: the block is read again when one is due.
      if (open.out === 0 && open.next === open.count && open.back.length === 0) this.#desk.release(open);
    }
  }

  /** For views of what runs now. */
  *active(): Iterable<Active> {
    for (const slot of this.#slots.values()) {
      for (const frame of slot.frames.values()) {
        for (const task of unheardOf(frame)) yield { open: frame.opens[task]!, index: frame.indexes[task]!, frame };
      }
    }
  }

  /** Threads, persistent processes that have a frame, and programs for an attempt each, at once. */
  get threads(): number {
    return this.#main.threads;
  }

  /** The part of the last minute that the workers of the busiest kind were busy, 0 to 1. */
  utilization(nowUs: number): number {
    return this.#busy.busyUs(nowUs) / (this.threads * busyWindowUs);
  }
}

/** Tasks of a frame whose end nobody has heard of. */
function* unheardOf({ heard }: JobFrame): Iterable<number> {
  for (let task = 0; task < heard.length; task++) if (heard[task] === 0) yield task;
}

/** The outcome of a job that must not be run twice and whose end nobody saw. */
export const lostBody = encodeBody({ error: Buffer.from('lost while running') });
