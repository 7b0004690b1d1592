// The plugin hosts of a world: they hold frames, and report how tasks ended, in any order, partly, twice, late or not at all.
import type { InnerMessage } from '../../../actors/job/actor.ts';
import type { HostSlot, HostSlotName } from '../../../actors/job/dispatch/host-slot.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { encodeOutcomes, outcomeHeadBytes, readOutcomes } from '../../../runtime/host/wire/outcome-message.ts';
import type { Outcome, PluginHost, ReturnReason, TaskFrame } from '../../../runtime/host/wire/plugin-host.ts';
import { formatId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { wholeOf } from '../../../runtime/parted.ts';
import { holds } from './broken.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import type { Act, Call, PluginCode } from './plugin-code.ts';

/** A task that a host holds. */
export type Task = { readonly id: string; readonly attempt: number; readonly call: Call };
export type HeldFrame = {
  readonly slot: HostSlotName;
  readonly frame: TaskFrame;
  readonly tasks: readonly Task[];
  /** Tasks that have ended, or were returned. */
  readonly over: Set<number>;
};

export class Hosts {
  readonly held: HeldFrame[] = [];
  /** How often plugin code has begun each job. */
  readonly begun = new Map<string, number>();
  /** Attempts whose outcome cannot be handled. */
  readonly untakeable = new Set<string>();
  /** Attempts whose loss may be charged. */
  readonly chargeable = new Set<string>();
  /** Tasks that hosts have run to their end. */
  ran = 0;
  /** The id of the frame that was sent last, to whichever host. */
  #newest = 0;
  readonly #said: InnerMessage[] = [];
  /** Answers of hosts to cancels that the ledger has not received yet. */
  readonly #toSay: { readonly slot: HostSlotName; readonly say: () => InnerMessage | null }[] = [];
  readonly #dice: Dice;
  readonly #faults: Faults;
  readonly #code: PluginCode;
  readonly #onSubmit: (held: HeldFrame) => void;
  readonly #againOf: (id: string) => number;

  constructor(
    dice: Dice,
    faults: Faults,
    code: PluginCode,
    againOf: (id: string) => number,
    onSubmit: (held: HeldFrame) => void,
  ) {
    this.#againOf = againOf;
    this.#dice = dice;
    this.#faults = faults;
    this.#code = code;
    this.#onSubmit = onSubmit;
  }

  start({ name }: HostSlot): PluginHost {
    return {
      configure() {},
      submit: frame => {
        const held = { slot: name, frame, tasks: tasksOf(frame, this.#againOf), over: new Set<number>() };
        this.#newest = frame.frameId;
        this.#onSubmit(held);
        this.held.push(held);
      },
      cancel: (frameId, task) => this.#cancel(name, frameId, task),
      stop: async () => {},
    };
  }

  /** All hosts end. The next life of the ledger gets none of their earlier messages. */
  end(): void {
    for (const held of this.held) this.#begin(held);
    this.held.length = 0;
    this.#said.length = 0;
    this.#toSay.length = 0;
  }

  /** Answers a cancel: returns the tasks that have not begun. The cancelled one may be among them; otherwise it has begun, and ends in any way. */
  #cancel(slot: HostSlotName, frameId: number, task: number): void {
    const unbegunFrom = task + this.#dice.below(2);
    this.#toSay.push({
      slot,
      say: () => {
        const held = this.held.find(each => each.slot === slot && each.frame.frameId === frameId);
        const unbegun = held && !held.over.has(task) ? left(held).filter(other => other >= unbegunFrom) : [];
        return unbegun.length > 0 ? this.#give(held!, unbegun, 'interrupted') : null;
      },
    });
    this.#toSay.push({ slot, say: () => ({ kind: 'cancelling', slot, frameId, task }) });
  }

  /** The next message of some host; null if no host holds a task. */
  report(nowUs: number): InnerMessage | null {
    for (let next = this.#toSay.shift(); next; next = this.#toSay.shift()) {
      const answer = next.say();
      if (answer) return answer;
    }
    if (this.#said.length > 0 && this.#faults.strikes('outcomesLate')) return this.#dice.pick(this.#said);
    if (this.held.length === 0) return null;
    const held = this.#dice.pick(this.held);
    const next = left(held);
    const isKilled = next.some(task => this.#code.kills(held.tasks[task]!.call, held.tasks[task]!.attempt));
    if (isKilled) this.#faults.note('taskKillsItsHost');
    if (isKilled || this.#faults.strikes('hostLost')) return this.#lose(held.slot);
    if (this.#faults.strikes('outcomesGarbled')) return this.#garble(held, next[0]!, nowUs);
    if (this.#faults.strikes('tasksReturned')) return this.#give(held, next.slice(this.#dice.below(next.length)));
    return this.#finish(held, next.slice(0, 1 + this.#dice.below(next.length)), nowUs);
  }

  #finish(held: HeldFrame, tasks: readonly number[], nowUs: number): InnerMessage {
    const outcomes = tasks.map(task => {
      held.over.add(task);
      this.#note(held.tasks[task]!);
      this.ran++;
      const outcome = this.#outcome(held.tasks[task]!, task, nowUs);
      return this.#faults.strikes('outcomeThrows') ? this.#untakeable(held.tasks[task]!, outcome) : outcome;
    });
    if (outcomes.length > 1 && this.#faults.strikes('outcomesTwice')) outcomes.push(outcomes[0]!);
    return this.#say(held, { kind: 'outcomes', slot: held.slot, frameId: held.frame.frameId, outcomes });
  }

  /** The host sends bytes that are no outcome: the reader then ends the host. */
  #garble(held: HeldFrame, task: number, nowUs: number): InnerMessage {
    const outcome = this.#outcome(held.tasks[task]!, task, nowUs);
    const whole = Buffer.concat([Buffer.alloc(8), encodeOutcomes([outcome])]);
    const bodyAt = 8 + outcomeHeadBytes;
    // An empty body cannot be cut off or corrupted, so its head is.
    const kind = whole.length === bodyAt ? 2 : this.#dice.below(3);
    let said = whole;
    if (kind === 0) said = whole.subarray(0, bodyAt + this.#dice.below(outcome.body.length));
    else if (kind === 1) whole[bodyAt] = 0x80;
    else whole[8 + 4] = 9;
    let isRefused = false;
    try {
      readOutcomes(said, us => us);
    } catch {
      isRefused = true;
    }
    holds(isRefused, () => `an outcome is taken that cannot be decoded: ${said.toString('hex')}`);
    return this.#lose(held.slot);
  }

  #untakeable(task: Task, { body: _, ...outcome }: Outcome): Outcome {
    this.untakeable.add(nameOf(task));
    const get = (): never => {
      throw new Error('poisoned');
    };
    return Object.defineProperty(outcome, 'body', { get, enumerable: false }) as Outcome;
  }

  #give(
    held: HeldFrame,
    tasks: readonly number[],
    // `begun`: the task was under way in a thread that another task has ended, and runs alone the next time.
    reason: ReturnReason = (held.frame.runner ?? -1) >= 0 && this.#dice.chance(0.5) ? 'begun' : 'crowded',
  ): Extract<InnerMessage, { readonly kind: 'returned' }> {
    for (const task of tasks) held.over.add(task);
    return this.#say(held, { kind: 'returned', slot: held.slot, frameId: held.frame.frameId, tasks, reason });
  }

  #say<M extends InnerMessage>(held: HeldFrame, message: M): M {
    if (held.over.size === held.tasks.length) this.held.splice(this.held.indexOf(held), 1);
    this.#said.push(message);
    if (this.#said.length > 20) this.#said.shift();
    return message;
  }

  #lose(slot: HostSlotName): InnerMessage {
    const lost = this.held.filter(held => held.slot === slot);
    const tasks = lost.flatMap(held => left(held).map(task => held.tasks[task]!));
    for (const held of lost) this.#begin(held);
    if (tasks.length === 1) this.chargeable.add(nameOf(tasks[0]!));
    // Jobs that must not run twice are charged, alone in their frame or not, because they may have begun.
    for (const { frame, tasks } of lost) if (frame.instance === 'careful') this.chargeable.add(nameOf(tasks[0]!));
    this.#toSay.splice(0, this.#toSay.length, ...this.#toSay.filter(message => message.slot !== slot));
    for (const held of lost) this.held.splice(this.held.indexOf(held), 1);
    return { kind: 'host_lost', slot, reason: 'killed', sentUpTo: this.#newest };
  }

  /** The first task of the frame that has not ended may have begun. */
  #begin(held: HeldFrame): void {
    const [first] = left(held);
    if (first !== undefined && this.#dice.chance(0.7)) this.#note(held.tasks[first]!);
  }

  #note({ id }: Task): void {
    this.begun.set(id, (this.begun.get(id) ?? 0) + 1);
  }

  #outcome({ call, attempt }: Task, task: number, nowUs: number): Outcome {
    const act = this.#code.act(call, attempt);
    const { verdict, permanent } = act;
    if (verdict !== 'ok')
      this.#faults.note(permanent ? 'taskFailsForGood' : verdict === 'error' ? 'taskFails' : 'taskTimesOut');
    const runUs = this.#dice.pick([10, 10, 500, 5_000_000]);
    return { task, verdict, permanent, startedUs: nowUs, runUs, body: bodyOf(act) };
  }
}

export function bodyOf({ result, events, error, state }: Act): Uint8Array {
  return encodeBody({
    ...(result !== undefined && { result: pack(result) }),
    ...(events && { events: pack(events) }),
    ...(error !== undefined && { error: Buffer.from(error) }),
    ...(state !== undefined && { state_updates: pack(state) }),
  });
}

export function nameOf({ id, attempt }: Pick<Task, 'id' | 'attempt'>): string {
  return `${id} ${attempt}`;
}

function left({ tasks, over }: HeldFrame): number[] {
  return [...tasks.keys()].filter(task => !over.has(task));
}

function tasksOf(frame: TaskFrame, againOf: (id: string) => number): Task[] {
  const tasks: Task[] = [];
  for (const { count, context, stepId } of frame.groups) {
    for (let k = 0; k < count; k++) {
      const task = tasks.length;
      const id = formatId(frame.ids.subarray(task * 16, task * 16 + 16));
      const call = {
        instance: frame.instance,
        stepId,
        payload: unpack(wholeOf(frame.parts!, frame.payloads[task]!)),
        context: unpack(context),
        again: againOf(id),
      };
      tasks.push({ id, attempt: frame.attempts[task]!, call });
    }
  }
  return tasks;
}
