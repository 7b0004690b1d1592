// How plugin threads end, and their limits.
import { totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { describe } from '../wire/response.ts';

/** A thread that exceeds this heap size dies. Buffers do not count. */
export const threadHeapMbMax = 512;
/** If a thread cannot be stopped within this time, the host is ended. */
const terminateMsMax = 2_000;
/**
 * Stopping a thread while it links its first module makes Node abort the process. Closing waits this long for the linking to finish.
 */
const linkMsMax = 5_000;

/** A plugin thread, from the host's point of view: why it ends, and the means to end it. */
export class WatchedThread {
  readonly worker: Worker;
  readonly exited: Promise<void>;
  /** Why it died or is being stopped. */
  reason: string | null = null;
  readonly #loaded: Promise<void>;

  constructor(worker: Worker) {
    this.worker = worker;
    this.exited = new Promise(resolve => worker.once('exit', () => resolve()));
    this.#loaded = new Promise(resolve => {
      worker.on('message', message => {
        if (typeof message === 'object' && message !== null && 'loaded' in message) resolve();
      });
    });
    worker.on('error', error => {
      this.reason ??= reasonOf(error);
    });
  }

  /** Resolves when it can be stopped safely. */
  async settled(): Promise<void> {
    await Promise.race([this.#loaded, this.exited, sleep(linkMsMax, null, { ref: false })]);
  }

  /** Stops it, whatever it does. */
  async terminate(onStuck: () => void): Promise<void> {
    const stuck = setTimeout(onStuck, terminateMsMax);
    void this.worker.terminate();
    await this.exited;
    clearTimeout(stuck);
  }
}

/** How long a handler may take to react to the signal of a cancel. Then its thread is replaced. */
export const cancelMsMax = 1_000;

/** The error of the task that ended its thread. */
export function reasonOf(error: unknown): string {
  if ((error as { code?: string } | null | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return `out of memory: a plugin thread may use ${threadHeapMbMax} MiB`;
  }
  const message = describe(error);
  const code = /^worker exited with code: (\d+)$/.exec(message)?.[1];
  return code === undefined ? `uncaught error: ${message}` : exitReason(Number(code));
}

export function exitReason(code: number): string {
  return `the plugin ended its thread: process.exit(${code})`;
}

/** The heap limit of each thread of a host with this many threads. */
export function heapMb(threads: number): number {
  return Math.max(64, Math.min(threadHeapMbMax, Math.floor(totalmem() / 2 ** 21 / threads)));
}
