// The unit of execution of a thread: handle the messages that wait, commit once, then run the effects.
import type { Batch } from './store/store.ts';

/** The number of an ask, by which its answer finds the asker; opaque to actors. */
export type ReplyTo = { readonly ask: number };

/** What a handler may do. Nothing of it leaves the turn before its commit is on disk (law 1). */
export interface Turn {
  /** The time of this turn, in µs since the epoch; it never goes back. */
  readonly nowUs: number;
  /** The turn has had its time of the thread: work that can wait for the next turn waits. */
  readonly isSpent: boolean;
  /** The writes of this turn; they commit as one. */
  readonly batch: Batch;
  /** Sends a message to an actor of another thread, after the commit. */
  tell(actor: string, message: unknown): void;
  /** Answers an ask, after the commit. */
  reply(to: ReplyTo, value: unknown): void;
  /** Runs after the commit: the place for everything outside (frames to a host, timers). */
  after(effect: () => void): void;
}

/** An actor: state that its own handlers alone change. Actors of one thread call each other within a turn. */
export interface Actor {
  receive(message: unknown, turn: Turn): void;
}

/** The actors of a thread, in the order of a turn. All of it is synchronous (law 2). */
export interface TurnHandler {
  /** Before the first message. */
  begin?(turn: Turn): void;
  receive(actor: string, message: unknown, turn: Turn): void;
  /** After the last message, before the commit. */
  end?(turn: Turn): void;
}
