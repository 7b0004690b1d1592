// The unit of execution of a thread: handle the waiting messages, commit once, then run the effects.
import type { Batch } from './store/store.ts';

/** The number of an ask, which leads an answer to its asker; opaque to actors. */
export type ReplyTo = { readonly ask: number };

/** What a handler may do. Nothing leaves the turn before its commit is on disk (law 1). */
export interface Turn {
  /** The time of this turn, in µs since the epoch; it never goes back. */
  readonly nowUs: number;
  /** Whether the turn has used up its time: work that can wait should wait for the next turn. */
  readonly isSpent: boolean;
  /** The writes of this turn; they commit as one. */
  readonly batch: Batch;
  /** Sends a message to an actor of another thread, after the commit. The actor `edge` is the main thread. */
  tell(actor: string, message: unknown): void;
  /** Answers an ask, after the commit. */
  reply(to: ReplyTo, value: unknown): void;
  /** Runs the effect after the commit: for everything outside of the ledger, such as frames to a host and timers. */
  after(effect: () => void): void;
}

/** An actor: state that only its own handlers change. Actors of one thread call each other within a turn. */
export interface Actor {
  receive(message: unknown, turn: Turn): void;
}

/** The actors of a thread, called in the order of a turn. All calls are synchronous (law 2). */
export interface TurnHandler {
  /** Before the first message. */
  begin?(turn: Turn): void;
  receive(actor: string, message: unknown, turn: Turn): void;
  /** After the last message, before the commit. */
  end?(turn: Turn): void;
}
