// The unit of execution of a thread: take all that waits, handle it until quiet, commit once, then send everything out.
import type { Batch } from './store/store.ts';

/** Who asked, so that an answer finds its way back; opaque to actors. */
export type ReplyTo = { readonly thread: string; readonly ask: number };

/** What a handler may do. Nothing of it leaves the turn before its commit is on disk (law 1). */
export interface Turn {
  /** The time of this turn, in µs since the epoch; it never goes back. */
  readonly nowUs: number;
  /** It has had its time of the thread: what can wait for the next turn does. */
  readonly isSpent: boolean;
  /** The writes of this turn; commits as one. */
  readonly batch: Batch;
  /** To an actor of this thread: handled in this same turn. To one of another thread: sent after the commit. */
  tell(actor: string, message: unknown): void;
  /** Answers an ask, after the commit. */
  reply(to: ReplyTo, value: unknown): void;
  /** Runs after the commit: the place for everything outside (frames to a host, timers). */
  after(effect: () => void): void;
}

/** An actor: state behind one mailbox. Handlers are synchronous (law 2). */
export interface Actor {
  /** Takes all that waited, in order. */
  receive(messages: readonly unknown[], turn: Turn): void;
  /** Called each time all mailboxes of the thread are quiet, before the commit; may tell, and then quiet comes again. */
  quiet?(turn: Turn): void;
}
