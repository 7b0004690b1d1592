// The pool of threads that run frames of worker plugins. The only file that imports piscina.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { CancelTask, LateOutcome, Loaded } from '../thread/thread.ts';
import type { ThreadData } from '../thread/thread-setup.ts';
import { exitReason, heapMb, WatchedThread } from './thread-end.ts';

export type PoolEvents = {
  /** Called when all threads have started, and again each time when a thread was replaced and the new thread has started. */
  onAllStarted(): void;
  onLateOutcome(late: LateOutcome): void;
  onThreadReplaced(reason: string): void;
  /** Called if a thread cannot be stopped. */
  onStuck(): void;
};

/** The number of additional threads. If a thread dies, a spare one takes over at once, while a new one starts. */
const spareThreads = 1;

type PoolThread = Parameters<
  NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>
>[1][number];

class Thread extends WatchedThread {
  /** The numbers of the plugins whose frames the thread was given: it has loaded the code of these plugins, or is loading it. */
  readonly plugins = new Set<number>();
  isReady = false;
}

export class ThreadPool {
  readonly #piscina: Piscina;
  readonly #events: PoolEvents;
  readonly #threads = new Map<number, Thread>();
  readonly #size: number;
  readonly #heapMb: number;
  /**
   * The plugin number of the frame that was submitted last. Threads are chosen by this number. So a frame that has waited in the
   * pool may get a thread that still has to load its plugin's code.
   */
  #plugin = -1;
  #closing = false;

  constructor(threads: number, data: ThreadData, events: PoolEvents) {
    this.#events = events;
    this.#size = threads + spareThreads;
    this.#heapMb = heapMb(threads);
    this.#piscina = new Piscina({
      filename: fileURLToPath(new URL('../thread/thread.js', import.meta.url)),
      name: 'runFrame',
      minThreads: this.#size,
      maxThreads: this.#size,
      loadBalancer: (_, workers) => this.#choose(workers),
      concurrentTasksPerWorker: 1,
      // Waiting with Atomics is not faster here, as measured, and would delay timers and sockets of plugins between frames.
      atomics: 'disabled',
      recordTiming: false,
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMb },
    });
    this.#piscina.on('workerCreate', ({ id }: PoolThread) => this.#started(id));
    this.#piscina.on('message', (message: LateOutcome | Loaded) => {
      if (!('loaded' in message)) events.onLateOutcome(message);
    });
    // This event reports the death of an idle thread; the `exit` event of the thread is handled instead.
    this.#piscina.on('error', () => {});
  }

  /** Resolves when the frame's tasks have ended. Rejects if the thread dies, unless it dies of a thrown null or undefined. */
  run(shared: SharedArrayBuffer, plugin: number): Promise<void> {
    this.#plugin = plugin;
    return this.#piscina.run(shared);
  }

  /**
   * Chooses an idle thread: one that has the plugin's code, or else the one with the code of the fewest plugins. So a plugin that
   * kills its threads rarely kills a thread that other plugins use.
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

  cancel(threadId: number, task: CancelTask): void {
    this.#threads.get(threadId)?.worker.postMessage(task);
  }

  /** Stops a thread, whatever it is doing. `reason` is reported when the thread is replaced. */
  terminate(threadId: number, reason: string): void {
    const thread = this.#threads.get(threadId);
    if (thread === undefined) return;
    thread.reason = reason;
    void thread.terminate(() => this.#events.onStuck());
  }

  /** Resolves when the thread has exited. All its messages have arrived then. */
  async exitOf(threadId: number): Promise<void> {
    await this.#threads.get(threadId)?.exited;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#threads.values()].map(thread => thread.settled()));
    await this.#piscina.destroy();
  }

  /** Called when a thread has started. The thread takes frames as soon as this event handler has returned. */
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
      const thread = new Thread(worker, this.#heapMb);
      this.#threads.set(threadId, thread);
      worker.once('exit', code => {
        this.#threads.delete(threadId);
        if (!this.#closing) this.#events.onThreadReplaced(thread.reason ?? exitReason(code));
      });
    }
  }
}
