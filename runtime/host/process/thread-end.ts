// Ends plugin threads, and says why they have ended. Also defines their limits.
import { totalmem } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { describe } from '../wire/response.ts';

/** The highest heap limit of a plugin thread (see `heapMb`). A thread that exceeds its limit dies. Buffers do not count. */
export const threadHeapMbMax = 512;
/**
 * If a thread cannot be stopped within this many waits of `terminateWaitMs`, the host is ended. There are many short waits,
 * because a machine that stands still for a while then uses up only one of them.
 */
const terminateWaitsMax = 20;
const terminateWaitMs = 100;

/** The host's view of a plugin thread. Notes why the thread ends, and can stop the thread. */
export class WatchedThread {
  readonly worker: Worker;
  readonly exited: Promise<void>;
  /** Why the thread died or is being stopped. Null: the thread lives, or no reason is known. */
  reason: string | null = null;
  /** Must be called when the thread has reported that it has loaded its own code. */
  readonly hasLoaded: () => void;
  readonly #loaded: Promise<void>;

  constructor(worker: Worker, heapMbMax: number) {
    this.worker = worker;
    this.exited = new Promise(resolve => worker.once('exit', () => resolve()));
    let resolveLoaded!: () => void;
    this.#loaded = new Promise(resolve => (resolveLoaded = resolve));
    this.hasLoaded = resolveLoaded;
    worker.on('error', error => {
      this.reason ??= reasonOf(error, heapMbMax);
    });
  }

  /**
   * Resolves when the thread can be stopped: it has loaded its own code, or has exited. Node aborts the whole process if a thread is stopped
   * while it links its first module. So there is no time limit, however slow the machine is.
   */
  async settled(): Promise<void> {
    await Promise.race([this.#loaded, this.exited]);
  }

  /**
   * Stops the thread, whatever it is doing, once it has loaded its own code. `onStuck` is called if it then does not end in time
   * (`terminateWaitsMax`).
   */
  async terminate(onStuck: () => void): Promise<void> {
    await this.settled();
    let waits = 0;
    const waiting = setInterval(() => {
      if (++waits === terminateWaitsMax) onStuck();
    }, terminateWaitMs);
    void this.worker.terminate();
    await this.exited;
    clearInterval(waiting);
  }
}

/** If a cancelled task has not ended, and was not returned, this long after the cancel, its thread is stopped. */
export const cancelMsMax = 1_000;

/** The error text for a task that ended its thread, from the error with which the thread ended. `heapMbMax`: the thread's heap limit. */
export function reasonOf(error: unknown, heapMbMax: number): string {
  if ((error as { code?: string } | null | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return `out of memory: a plugin thread may use ${heapMbMax} MiB`;
  }
  const message = describe(error);
  const code = /^worker exited with code: (\d+)$/.exec(message)?.[1];
  return code === undefined ? `uncaught error: ${message}` : exitReason(Number(code));
}

export function exitReason(code: number): string {
  return `the plugin ended its thread: process.exit(${code})`;
}

/** The heap limit, in MiB, of each thread of a host with this many threads. */
export function heapMb(threads: number): number {
  return Math.max(64, Math.min(threadHeapMbMax, Math.floor(totalmem() / 2 ** 21 / threads)));
}
