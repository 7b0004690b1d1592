// Runs the turns of a thread. A turn takes messages from a queue, handles them, commits once, and then runs its effects (turn.ts).
import type { Clock } from './clock.ts';
import type { Batch, Store } from './store/store.ts';
import type { ReplyTo, Turn, TurnHandler } from './turn.ts';

export type QueuedMessage = { readonly actor: string; readonly message: unknown };

export type Loop = {
  deliver(actor: string, message: unknown): void;
  /** Puts these messages before all waiting ones. Each of these messages gets a turn of its own. */
  replay(messages: readonly QueuedMessage[]): void;
  /** Runs one turn now. For tests, which do not wait for `schedule`. */
  turn(): void;
  /** Sets the handler of all messages from now on, including waiting ones. */
  setHandler(handler: TurnHandler): void;
};

export type LoopOptions = {
  readonly store: Store;
  readonly clock: Clock;
  /** Reads a steady clock, in ms, to measure how long a turn has taken. Absent: every turn counts as taking no time. */
  readonly stopwatch?: () => number;
  /** Arranges that `run`, which runs one turn, is called soon. `schedule` is not called again until that turn begins. */
  readonly schedule: (run: () => void) => void;
  /** Sends a message to an actor of another thread. */
  readonly send: (actor: string, message: unknown) => void;
  /** Sends the answer to an ask. */
  readonly reply: (to: ReplyTo, value: unknown) => void;
  /**
   * Called when a turn has failed before its effects: a handler threw, or the store could not commit. `delivered`: the messages that the
   * turn had taken from the queue, in order.
   */
  readonly onFailure: (error: unknown, delivered: readonly QueuedMessage[]) => void;
  /**
   * Called with the first error if effects threw after the commit. All other effects have run. By default, `onFailure` is called instead,
   * without messages.
   */
  readonly onEffectFailure?: (error: unknown) => void;
};

/** A turn that has taken this long handles no further message, and defers all work that can wait. */
export const turnMsMax = 15;

export function startLoop(options: LoopOptions): Loop {
  const { onEffectFailure = (error: unknown) => options.onFailure(error, []) } = options;
  let handler: TurnHandler = { receive() {} };
  let queue: QueuedMessage[] = [];
  /** The number of messages at the front of the queue that each get a turn of their own. */
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
      // Handles at least one message, so that every turn makes progress.
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

/** A turn in progress. It collects the writes and effects of its handlers. */
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
    // An effect may add further effects, which run after all others.
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
