// The turns of one thread: mailboxes of its actors, one commit a turn, and what leaves it after the commit.
import type { Clock } from './clock.ts';
import { Mailbox } from './mailbox.ts';
import type { Batch, Store } from './store/store.ts';
import type { Actor, ReplyTo, Turn } from './turn.ts';

export type Loop = {
  /** Puts a message into a mailbox and makes sure that a turn comes. */
  deliver(actor: string, message: unknown): void;
  /** Runs one turn now: for simulators and for stopping. */
  turn(): void;
  /** From now on the thread's actors are these (after a restart of their state). */
  setActors(actors: Readonly<Record<string, Actor>>): void;
};

export type LoopOptions = {
  readonly store: Store;
  readonly clock: Clock;
  /** Asks for a turn soon; called at most once before each turn. */
  readonly schedule: (run: () => void) => void;
  /** Carries a message to an actor of another thread, or an answer to whoever asked. */
  readonly send: (actor: string, message: unknown) => void;
  readonly reply: (to: ReplyTo, value: unknown) => void;
  /** A turn failed: a bug in a handler, or a store that could not commit. Nothing of the turn left it. */
  readonly onFailure: (error: unknown, unanswered: readonly unknown[]) => void;
};

/** More rounds than this in one turn means two actors that tell each other for ever. */
const roundsMax = 10_000;

export function startLoop(options: LoopOptions): Loop {
  let actors: Readonly<Record<string, Actor>> = {};
  let mailboxes: Record<string, Mailbox> = {};
  let names: string[] = [];
  let scheduled = false;

  function deliver(actor: string, message: unknown): void {
    const mailbox = mailboxes[actor];
    if (!mailbox) throw new Error(`no actor ${actor} on this thread`);
    mailbox.push(message);
    if (scheduled) return;
    scheduled = true;
    options.schedule(run);
  }

  function run(): void {
    scheduled = false;
    const turn = new OpenTurn(options, mailboxes);
    try {
      handle(turn);
      if (turn.batch.size > 0) options.store.commit(turn.batch);
    } catch (error) {
      // What its actors told each other, and nobody has taken yet, is of this turn too.
      const unheard = names.flatMap(name => mailboxes[name]!.take());
      options.onFailure(error, [...turn.handled.flat(), ...unheard]);
      return;
    }
    turn.release();
  }

  function handle(turn: OpenTurn): void {
    for (let rounds = 0; ; rounds++) {
      if (rounds > roundsMax) throw new Error('the actors of this thread never get quiet');
      let busy = false;
      for (const name of names) {
        const waiting = mailboxes[name]!.take();
        if (waiting.length === 0) continue;
        busy = true;
        turn.handled.push(waiting);
        actors[name]!.receive(waiting, turn);
      }
      if (busy) continue;
      for (const name of names) actors[name]!.quiet?.(turn);
      if (names.every(name => mailboxes[name]!.empty)) return;
    }
  }

  return {
    deliver,
    turn: run,
    setActors(next) {
      actors = next;
      names = Object.keys(next);
      mailboxes = Object.fromEntries(names.map(name => [name, mailboxes[name] ?? new Mailbox()]));
    },
  };
}

/** One turn under way. */
class OpenTurn implements Turn {
  readonly nowUs: number;
  readonly batch: Batch;
  /** What was taken from mailboxes: when the turn fails, whoever asked must hear of it. */
  readonly handled: (readonly unknown[])[] = [];
  readonly #options: LoopOptions;
  readonly #mailboxes: Readonly<Record<string, Mailbox>>;
  readonly #effects: (() => void)[] = [];

  constructor(options: LoopOptions, mailboxes: Readonly<Record<string, Mailbox>>) {
    this.nowUs = options.clock.nowUs();
    this.batch = options.store.batch();
    this.#options = options;
    this.#mailboxes = mailboxes;
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

  release(): void {
    for (const effect of this.#effects) effect();
  }
}
