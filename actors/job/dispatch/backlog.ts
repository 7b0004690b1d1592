// A queue of jobs that wait to be dispatched.

import { firstAttempt, type OpenAttempt } from '../open-attempt.ts';
import type { OpenBlock } from '../records/open.ts';
import { AttemptQueue, Queue } from './queues.ts';

/** While the queue has at most this many blocks, blocks whose jobs have ended stay in it until their turn comes. */
const spentBlocksMax = 1_024;

export class Backlog {
  /** Some of these blocks may have no waiting jobs any more. */
  readonly blocks = new Queue<OpenBlock>();
  /** Jobs that are dispatched before the jobs of `blocks`: retries, returned jobs, suspects, and other jobs that were queued one by one. */
  readonly attempts = new AttemptQueue();
  /** The number of jobs that wait in `attempts` and `blocks`. */
  waiting = 0;
  /** The numbers of waiting jobs by command. */
  readonly #byCommand = new Map<string, number>();

  /** The number of waiting jobs of this command. */
  waitingOf(command: string): number {
    return this.#byCommand.get(command) ?? 0;
  }

  /** Counts jobs of this command that begin to wait, or, if `change` is negative, no longer wait. */
  changeWaiting(command: string, change: number): void {
    this.waiting += change;
    this.#byCommand.set(command, this.waitingOf(command) + change);
    if (change < 0 && this.blocks.length > spentBlocksMax) this.#dropSpent();
  }

  /** Removes the blocks without waiting jobs if they are certainly more than half of all blocks. */
  #dropSpent(): void {
    const inBlocks = this.waiting - this.attempts.length;
    if (inBlocks * 2 < this.blocks.length) this.blocks.keepOnly(({ untouched }) => untouched > 0);
  }

  enqueue(open: OpenBlock): void {
    this.blocks.push(open);
    open.waitsIn = this;
    this.changeWaiting(open.command, open.untouched);
  }

  /** The first block with an unsettled job that was never dispatched; `next` of the block is the index of this job. */
  get nextBlock(): OpenBlock | undefined {
    for (;;) {
      const open = this.blocks.peek();
      if (!open) return undefined;
      while (open.next < open.count && open.isSettled(open.next)) open.next++;
      if (open.next < open.count) return open;
      this.blocks.shift();
    }
  }

  peek(): OpenAttempt | undefined {
    const next = this.attempts.peek();
    if (next) return next;
    const open = this.nextBlock;
    return open && firstAttempt(open, open.next);
  }

  enqueueAttempt(job: OpenAttempt): void {
    this.attempts.push(job);
    this.changeWaiting(job.open.command, 1);
  }

  get nextCommand(): string | undefined {
    return this.attempts.peek()?.open.command ?? this.nextBlock?.command;
  }

  shift(): OpenAttempt | undefined {
    const job = this.attempts.shift() ?? this.#shiftOfBlock();
    if (job) this.changeWaiting(job.open.command, -1);
    return job;
  }

  #shiftOfBlock(): OpenAttempt | undefined {
    const open = this.nextBlock;
    if (!open) return undefined;
    const job = firstAttempt(open, open.next++);
    if (open.next === open.count) this.blocks.shift();
    return job;
  }

  /** Removes the job from `attempts` and returns it. Undefined: the job is not in `attempts`. */
  withdraw(open: OpenBlock, index: number): OpenAttempt | undefined {
    const job = this.attempts.remove(open, index);
    if (job) this.changeWaiting(job.open.command, -1);
    return job;
  }

  /** The waiting jobs of this command. Each job may be removed while the next ones are read. */
  *jobsOf(command: string): Iterable<OpenAttempt> {
    for (const job of this.attempts) if (job.open.command === command) yield job;
    for (const open of this.blocks) {
      if (open.command !== command) continue;
      for (let index = open.next; index < open.count; index++)
        if (!open.isSettled(index)) yield firstAttempt(open, index);
    }
  }

  /** Moves the next attempt or, if no attempt waits, the next block to the other backlog. */
  moveNextTo(other: Backlog): void {
    const job = this.attempts.shift();
    if (job) {
      this.changeWaiting(job.open.command, -1);
      other.enqueueAttempt(job);
      return;
    }
    const open = this.blocks.shift();
    if (!open) return;
    this.changeWaiting(open.command, -open.untouched);
    other.enqueue(open);
  }
}
