// A frame on a runner. Notes which of its tasks have ended; if the runner is lost, reports or returns the unfinished tasks.

import type { FrameHead } from '../wire/frame.ts';
import { outcomeOfRun } from '../wire/outcome-message.ts';
import type { ReturnReason } from '../wire/plugin-host.ts';
import type { TaskResult } from '../wire/response.ts';
import type { HostSender } from './host-sender.ts';

export class RunnerFrame {
  readonly head: FrameHead;
  readonly #ended: Uint8Array;
  readonly #sentMs = performance.now();
  #left: number;

  constructor(head: FrameHead) {
    this.head = head;
    this.#ended = new Uint8Array(head.count);
    this.#left = head.count;
  }

  get isOver(): boolean {
    return this.#left === 0;
  }

  get left(): number {
    return this.#left;
  }

  isOpen(task: number): boolean {
    return this.#ended[task] === 0;
  }

  end(task: number): void {
    if (this.#ended[task] !== 0) return;
    this.#ended[task] = 1;
    this.#left--;
  }

  /** Ends a task for which the runner has sent no outcome, and reports this result. */
  charge(task: number, settled: TaskResult, sender: HostSender): void {
    this.end(task);
    sender.outcomes(this.head.frameId, [outcomeOfRun(task, settled, this.#sentMs)]);
  }

  /** Gives back to the ledger all tasks that have not ended. */
  giveBack(sender: HostSender, reason: ReturnReason): void {
    for (let task = 0; task < this.head.count; task++) {
      if (this.#ended[task] !== 0) continue;
      const first = task;
      while (task < this.head.count && this.#ended[task] === 0) this.end(task++);
      sender.returned(this.head.frameId, first, task, reason);
    }
  }
}
