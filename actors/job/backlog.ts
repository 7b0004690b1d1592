// What waits to be handed out, in order.

import { Queue } from './queue.ts';
import type { OpenBlock } from './records/open.ts';

/** One job that is to run although its block was passed already: a retry, a returned task, a suspect. */
export type Again = {
  readonly open: OpenBlock;
  readonly index: number;
  readonly attempt: number;
  /** It has a record in `retries`. */
  readonly kept: boolean;
  /** Nobody else shares its frame: what happens then is its own doing. */
  readonly alone: boolean;
};

export class Backlog {
  readonly fresh = new Queue<OpenBlock>();
  readonly again = new Queue<Again>();
  /** Jobs in both. */
  waiting = 0;

  enqueue(open: OpenBlock): void {
    this.fresh.push(open);
    this.waiting += open.count - open.next;
  }

  enqueueAgain(again: Again): void {
    this.again.push(again);
    this.waiting++;
  }

  /** The command of the job that is next. */
  get nextCommand(): string | undefined {
    return this.again.peek()?.open.command ?? this.fresh.peek()?.command;
  }

  /** Moves the next job, or the next block of them. */
  moveNextTo(other: Backlog): void {
    const again = this.again.shift();
    if (again) {
      this.waiting--;
      other.enqueueAgain(again);
      return;
    }
    const open = this.fresh.shift();
    if (!open) return;
    this.waiting -= open.count - open.next;
    other.enqueue(open);
  }
}
