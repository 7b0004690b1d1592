// The turns of one thread: mailboxes of its actors, one commit a turn, and what leaves it after the commit.
import type { Clock } from './clock.ts';
import { Mailbox } from './mailbox.ts';
import type { Batch, Store } from './store/store.ts';
import type { Actor, ReplyTo, Turn } from './turn.ts';

/** A message that came from outside of a turn. */
export type Delivered = { readonly actor: string; readonly message: unknown };

export type Loop = {
  /** Puts a message into a mailbox and makes sure that a turn comes. */
  deliver(actor: string, message: unknown): void;
  /** Handles these first, each in a turn of its own. What is delivered meanwhile waits until they are through. */
  replay(messages: readonly Delivered[]): void;
  /** Runs one turn now: for simulators and for stopping. */
  turn(): void;
  /** From now on the thread's actors are these (after a restart of their state). */
  setActors(actors: Readonly<Record<string, Actor>>): void;
};

export type LoopOptions = {
  readonly store: Store;
  readonly clock: Clock;
  /** A steady clock in ms, for how long turns take; absent: none takes long. */
  readonly stopwatch?: () => number;
  /** Whether several actors get the message, and all are to take it in one turn: then nothing of the turn is left to the next. */
  readonly isShared?: (message: unknown) => boolean;
  /** Asks for a turn soon; called at most once before each turn. */
  readonly schedule: (run: () => void) => void;
  /** Carries a message to an actor of another thread, or an answer to whoever asked. */
  readonly send: (actor: string, message: unknown) => void;
  readonly reply: (to: ReplyTo, value: unknown) => void;
  /**
   * A turn failed: a handler threw, or the store could not commit. Nothing of the turn left it. `delivered` is what it was to handle,
   * actor by actor, each actor's in their order.
   */
  readonly onFailure: (error: unknown, delivered: readonly Delivered[]) => void;
  /** After the commit an effect threw; the other effects of the turn have run. Absent: as a failure with nothing delivered. */
  readonly onEffectFailure?: (error: unknown) => void;
};

/** After so long a turn begins nothing that can wait: messages from outside, and what actors do in pieces. */
export const turnMsMax = 15;

/** More rounds than this in one turn means two actors that tell each other for ever. */
const roundsMax = 10_000;

export function startLoop(options: LoopOptions): Loop {
  let actors: Readonly<Record<string, Actor>> = {};
  let mailboxes: Record<string, Mailbox> = {};
  let names: string[] = [];
  let scheduled = false;
  /** Messages that get a turn each, while there are some; and what was delivered since. */
  let singles: readonly Delivered[] = [];
  let isReplaying = false;
  let waiting: Delivered[] = [];

  function deliver(actor: string, message: unknown): void {
    const mailbox = mailboxes[actor];
    if (!mailbox) throw new Error(`no actor ${actor} on this thread`);
    if (isReplaying) waiting.push({ actor, message });
    else mailbox.push(message);
    ask();
  }

  function ask(): void {
    if (scheduled) return;
    scheduled = true;
    options.schedule(run);
  }

  function replay(messages: readonly Delivered[]): void {
    if (messages.length === 0) return;
    singles = [...messages, ...singles];
    isReplaying = true;
    ask();
  }

  function run(): void {
    scheduled = false;
    if (isReplaying) runSingle();
    else runTurn();
  }

  function runSingle(): void {
    const [single, ...rest] = singles;
    singles = rest;
    if (single) mailboxes[single.actor]!.push(single.message);
    runTurn();
    // The failure of this one may have brought more.
    if (singles.length === 0) {
      isReplaying = false;
      for (const { actor, message } of waiting) mailboxes[actor]!.push(message);
      waiting = [];
    }
    if (singles.length > 0 || names.some(name => !mailboxes[name]!.empty)) ask();
  }

  function runTurn(): void {
    const turn = new OpenTurn(options, mailboxes);
    const busy = names.filter(name => !mailboxes[name]!.empty);
    const taken = busy.map(actor => ({ actor, messages: mailboxes[actor]!.take() }));
    let left: readonly Taken[];
    try {
      left = handle(turn, taken);
      if (turn.batch.size > 0) options.store.commit(turn.batch);
    } catch (error) {
      // What the actors told each other in the turn is no more.
      for (const name of names) mailboxes[name]!.take();
      const delivered = taken.flatMap(({ actor, messages }) => messages.map(message => ({ actor, message })));
      options.onFailure(error, delivered);
      return;
    }
    for (const { actor, messages } of left) mailboxes[actor]!.putBack(messages);
    if (left.length > 0) ask();
    const failures = turn.release();
    if (failures.length === 0) return;
    const { onEffectFailure = (error: unknown) => options.onFailure(error, []) } = options;
    onEffectFailure(failures[0]);
  }

  /**
   * Message by message, each until the actors are quiet; what no time is left for is returned. The first message of each actor is
   * always handled: none holds up all others for good.
   */
  function handle(turn: OpenTurn, taken: readonly Taken[]): readonly Taken[] {
    const left: Taken[] = [];
    const { isShared = () => false } = options;
    const isWhole = taken.some(({ messages }) => messages.some(isShared));
    for (const { actor, messages } of taken) {
      for (let i = 0; i < messages.length; i++) {
        if (i > 0 && !isWhole && turn.isSpent) {
          left.push({ actor, messages: messages.slice(i) });
          break;
        }
        actors[actor]!.receive([messages[i]], turn);
        handleInner(turn);
      }
    }
    for (let rounds = 0; ; rounds++) {
      if (rounds > roundsMax) throw new Error('the actors of this thread never get quiet');
      for (const name of names) actors[name]!.quiet?.(turn);
      if (names.every(name => mailboxes[name]!.empty)) return left;
      handleInner(turn);
    }
  }

  /** What the actors tell each other, until they do no more. */
  function handleInner(turn: OpenTurn): void {
    for (let rounds = 0; ; rounds++) {
      if (rounds > roundsMax) throw new Error('the actors of this thread never get quiet');
      let busy = false;
      for (const name of names) {
        const told = mailboxes[name]!.take();
        if (told.length === 0) continue;
        busy = true;
        actors[name]!.receive(told, turn);
      }
      if (!busy) return;
    }
  }

  return {
    deliver,
    replay,
    turn: run,
    setActors(next) {
      actors = next;
      names = Object.keys(next);
      mailboxes = Object.fromEntries(names.map(name => [name, mailboxes[name] ?? new Mailbox()]));
    },
  };
}

/** Of one actor's mailbox, in their order. */
type Taken = { readonly actor: string; readonly messages: readonly unknown[] };

/** One turn under way. */
class OpenTurn implements Turn {
  readonly nowUs: number;
  readonly batch: Batch;
  readonly #options: LoopOptions;
  readonly #mailboxes: Readonly<Record<string, Mailbox>>;
  readonly #effects: (() => void)[] = [];
  readonly #stopwatch: () => number;
  readonly #endMs: number;

  constructor(options: LoopOptions, mailboxes: Readonly<Record<string, Mailbox>>) {
    this.nowUs = options.clock.nowUs();
    this.batch = options.store.batch();
    this.#options = options;
    this.#mailboxes = mailboxes;
    this.#stopwatch = options.stopwatch ?? still;
    this.#endMs = this.#stopwatch() + turnMsMax;
  }

  get isSpent(): boolean {
    return this.#stopwatch() >= this.#endMs;
  }

  tell(actor: string, message: unknown): void {
    const mailbox = this.#mailboxes[actor];
    if (mailbox) mailbox.push(message);
    else this.#effects.push(() => this.#options.send(actor, message));
  }

  reply(to: ReplyTo, value: unknown): void {
    this.#effects.push(() => this.#options.reply(to, value));
  }

  after(effect: () => void): void {
    this.#effects.push(effect);
  }

  /** Lets everything out, whatever throws; returns what was thrown. */
  release(): unknown[] {
    const failures: unknown[] = [];
    // An effect may add effects, which run behind the others.
    for (const effect of this.#effects) {
      try {
        effect();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}

function still(): number {
  return 0;
}
