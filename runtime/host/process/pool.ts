// The threads that run worker plugins. The only file that knows piscina.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { CancelTask, LateOutcome, Loaded } from '../thread/thread.ts';
import type { ThreadData } from '../thread/thread-setup.ts';
import { exitReason, heapMb, WatchedThread } from './thread-end.ts';

export type PoolEvents = {
  /** All threads have started. */
  onAllStarted(): void;
  onLateOutcome(late: LateOutcome): void;
  onThreadReplaced(reason: string): void;
  /** A thread cannot be stopped. */
  onStuck(): void;
};

/** Threads in addition to those that run frames: one is ready to replace a thread that dies, while another one starts. */
const spareThreads = 1;

type PoolThread = Parameters<
  NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>
>[1][number];

class Thread extends WatchedThread {
  /** The numbers of the plugins whose code the thread has loaded. */
  readonly plugins = new Set<number>();
  isReady = false;
}

export class ThreadPool {
  readonly #piscina: Piscina;
  readonly #events: PoolEvents;
  readonly #threads = new Map<number, Thread>();
  readonly #size: number;
  /** The plugin of the latest frame. A frame that waits in the pool may get a thread that has to load the plugin's code first. */
  #plugin = -1;
  #closing = false;

  constructor(threads: number, data: ThreadData, events: PoolEvents) {
    this.#events = events;
    this.#size = threads + spareThreads;
    this.#piscina = new Piscina({
      filename: fileURLToPath(new URL('../thread/thread.js', import.meta.url)),
      name: 'runFrame',
      minThreads: this.#size,
      maxThreads: this.#size,
      loadBalancer: (_, workers) => this.#choose(workers),
      concurrentTasksPerWorker: 1,
      // By measurement, waiting with Atomics is not faster here, and would delay timers and sockets of plugins between frames.
      atomics: 'disabled',
      recordTiming: false,
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heapMb(threads) },
    });
    this.#piscina.on('workerCreate', ({ id }: PoolThread) => this.#started(id));
    this.#piscina.on('message', (message: LateOutcome | Loaded) => {
      if (!('loaded' in message)) events.onLateOutcome(message);
    });
    // An idle thread has died; its `exit` event reports it.
    this.#piscina.on('error', () => {});
  }

  /** Resolves when the frame's tasks are done; rejects when the thread dies. */
  run(shared: SharedArrayBuffer, plugin: number): Promise<void> {
    this.#plugin = plugin;
    return this.#piscina.run(shared);
  }

  /**
   * A thread with the plugin's code, or else the one with the least code: a plugin that kills threads then takes no warm thread from
   * others.
   */
  #choose(workers: readonly PoolThread[]): PoolThread | null {
    let best: PoolThread | null = null;
    let codeMin = Number.POSITIVE_INFINITY;
    for (const worker of workers) {
      const code = this.#threads.get(worker.id)?.plugins;
      if (worker.currentUsage > 0 || code === undefined) continue;
      const size = code.has(this.#plugin) ? -1 : code.size;
      if (size < codeMin) [best, codeMin] = [worker, size];
    }
    if (best !== null) this.#threads.get(best.id)!.plugins.add(this.#plugin);
    return best;
  }

  /** Tells a thread that the task it runs is cancelled. */
  cancel(threadId: number, task: CancelTask): void {
    this.#threads.get(threadId)?.worker.postMessage(task);
  }

  /** Stops a thread, whatever it is doing; `reason` is reported. */
  terminate(threadId: number, reason: string): void {
    const thread = this.#threads.get(threadId);
    if (thread === undefined) return;
    thread.reason = reason;
    void thread.terminate(() => this.#events.onStuck());
  }

  /** Resolves when the thread has exited and all its messages have arrived. */
  async exitOf(threadId: number): Promise<void> {
    await this.#threads.get(threadId)?.exited;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#threads.values()].map(thread => thread.settled()));
    await this.#piscina.destroy();
  }

  /** The thread takes frames as soon as this event handler has returned. */
  #started(threadId: number): void {
    this.#watchThreads();
    const thread = this.#threads.get(threadId);
    if (thread !== undefined) thread.isReady = true;
    let ready = 0;
    for (const { isReady } of this.#threads.values()) if (isReady) ready++;
    if (ready === this.#size) setImmediate(() => this.#events.onAllStarted());
  }

  #watchThreads(): void {
    for (const worker of this.#piscina.threads) {
      const { threadId } = worker;
      if (threadId < 0 || this.#threads.has(threadId)) continue;
      const thread = new Thread(worker);
      this.#threads.set(threadId, thread);
      worker.once('exit', code => {
        this.#threads.delete(threadId);
        if (!this.#closing) this.#events.onThreadReplaced(thread.reason ?? exitReason(code));
      });
    }
  }
}
