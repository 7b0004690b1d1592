// A turn is the unit of execution of a thread: it handles waiting messages, commits once, and then runs its effects (loop.ts).
import type { Batch } from './store/store.ts';

/** Identifies an ask (link.ts). The link delivers the answer by this number; actors only pass the number on. */
export type ReplyTo = { readonly ask: number };

/** The operations that a handler can use in a turn. Nothing leaves the turn before its commit is on disk (law 1 in ARCHITECTURE.md). */
export interface Turn {
  /** The time of this turn, in µs since the epoch; it never goes back. */
  readonly nowUs: number;
  /** Whether the turn has used up its time. If so, work that can wait must be left to a later turn. */
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

/** An actor has state that only its own handlers change. Actors of one thread call each other within a turn. */
export interface Actor {
  receive(message: unknown, turn: Turn): void;
}

/**
 * Handles the turns of a thread. The methods are listed in the order of their calls, and never await (law 2 in ARCHITECTURE.md).
 */
export interface TurnHandler {
  /** Called before the first message of the turn. */
  begin?(turn: Turn): void;
  receive(actor: string, message: unknown, turn: Turn): void;
  /** Called after the last message of the turn, before the commit. */
  end?(turn: Turn): void;
}
