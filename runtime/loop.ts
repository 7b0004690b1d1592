// The turns of one thread: a queue of messages, one commit a turn, and the effects of the turn after the commit.
import type { Clock } from './clock.ts';
import type { Batch, Store } from './store/store.ts';
import type { ReplyTo, Turn, TurnHandler } from './turn.ts';

/** A message that came from outside of a turn. */
export type Delivered = { readonly actor: string; readonly message: unknown };

export type Loop = {
  /** Queues a message, and makes sure that a turn comes. */
  deliver(actor: string, message: unknown): void;
  /** Handles these before all that waits, each in a turn of its own. */
  replay(messages: readonly Delivered[]): void;
  /** Runs one turn now: for simulators. */
  turn(): void;
  /** From now on this handles the messages, those that wait too. */
  setHandler(handler: TurnHandler): void;
};

export type LoopOptions = {
  readonly store: Store;
  readonly clock: Clock;
  /** A steady clock in ms, for how long turns take; absent: no turn takes any time. */
  readonly stopwatch?: () => number;
  /** Asks for a turn soon; called at most once before each turn. */
  readonly schedule: (run: () => void) => void;
  /** Carries a message to an actor of another thread, or an answer to its asker. */
  readonly send: (actor: string, message: unknown) => void;
  readonly reply: (to: ReplyTo, value: unknown) => void;
  /**
   * A turn failed: a handler threw, or the store could not commit. Nothing of the turn left it. `delivered` are the messages that it
   * was to handle, in their order.
   */
  readonly onFailure: (error: unknown, delivered: readonly Delivered[]) => void;
  /** After the commit an effect threw; the other effects of the turn have run. Absent: as a failure with nothing delivered. */
  readonly onEffectFailure?: (error: unknown) => void;
};

/** A turn that has taken this long takes no further message, and begins no work that can wait for the next turn. */
export const turnMsMax = 15;

export function startLoop(options: LoopOptions): Loop {
  const { onEffectFailure = (error: unknown) => options.onFailure(error, []) } = options;
  let handler: TurnHandler = { receive() {} };
  let queue: Delivered[] = [];
  /** The first messages of the queue that get a turn each. */
  let singles = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    options.schedule(runTurn);
  }

  function runTurn(): void {
    isScheduled = false;
    const taken = queue.splice(0, singles > 0 ? 1 : queue.length);
    if (singles > 0) singles--;
    const turn = new OpenTurn(options);
    let handled = 0;
    try {
      handler.begin?.(turn);
      // At least one message, or none would ever be handled.
      for (; handled < taken.length && !(handled > 0 && turn.isSpent); handled++) {
        const { actor, message } = taken[handled]!;
        handler.receive(actor, message, turn);
      }
      handler.end?.(turn);
      if (turn.batch.size > 0) options.store.commit(turn.batch);
    } catch (error) {
      options.onFailure(error, taken);
      if (queue.length > 0) schedule();
      return;
    }
    if (handled < taken.length) queue = [...taken.slice(handled), ...queue];
    if (queue.length > 0) schedule();
    const failures = turn.release();
    if (failures.length > 0) onEffectFailure(failures[0]);
  }

  return {
    deliver(actor, message) {
      queue.push({ actor, message });
      schedule();
    },
    replay(messages) {
      if (messages.length === 0) return;
      queue = [...messages, ...queue];
      singles += messages.length;
      schedule();
    },
    turn: runTurn,
    setHandler(next) {
      handler = next;
    },
  };
}

/** The turn that is running. */
class OpenTurn implements Turn {
  readonly nowUs: number;
  readonly batch: Batch;
  readonly #options: LoopOptions;
  readonly #effects: (() => void)[] = [];
  readonly #stopwatch: () => number;
  readonly #endMs: number;

  constructor(options: LoopOptions) {
    this.nowUs = options.clock.nowUs();
    this.batch = options.store.batch();
    this.#options = options;
    this.#stopwatch = options.stopwatch ?? (() => 0);
    this.#endMs = this.#stopwatch() + turnMsMax;
  }

  get isSpent(): boolean {
    return this.#stopwatch() >= this.#endMs;
  }

  tell(actor: string, message: unknown): void {
    this.#effects.push(() => this.#options.send(actor, message));
  }

  reply(to: ReplyTo, value: unknown): void {
    this.#effects.push(() => this.#options.reply(to, value));
  }

  after(effect: () => void): void {
    this.#effects.push(effect);
  }

  /** Runs all effects, even if some throw, and returns their errors. */
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
