// The pool of threads that run frames of worker plugins. No other file of the service imports piscina.
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { CancelTask, LateOutcome, Loaded } from '../thread/thread.ts';
import type { Configure } from '../wire/host-setup.ts';
import { exitReason, heapMb, WatchedThread } from './thread-end.ts';

export type PoolEvents = {
  /** Called when all threads have started, and again each time a new thread has replaced another and all threads run. */
  onAllStarted(): void;
  onLateOutcome(late: LateOutcome): void;
  onThreadReplaced(reason: string): void;
  /** Called if a thread cannot be stopped. */
  onStuck(): void;
};

/** The number of additional threads. If a thread dies, a spare thread takes over at once, while a new thread starts. */
const spareThreads = 1;

/** `plugin`: the number of the plugin. `resolve` and `reject` settle the promise of `run`. */
type PoolFrame = {
  readonly shared: SharedArrayBuffer;
  readonly plugin: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** One of the pool's places for threads. Frames and cancels reach its thread over `port`. */
type Place = {
  port: MessagePort | null;
  /** The thread that runs the frames; null while it starts. */
  threadId: number | null;
  /** Whether the thread gets frames. The first thread of a place gets frames while it starts, later threads only once they have started. */
  isOpen: boolean;
  /**
   * The numbers of the plugins whose frames the thread was given. The thread has usually loaded the code of these plugins, or is loading
   * it.
   */
  readonly plugins: Set<number>;
  running: PoolFrame | null;
};

/**
 * Piscina starts the threads, and replaces those that end. Each thread has a single piscina task, which runs the frames that arrive at a port, and
 * normally lasts as long as the thread. So a frame costs one message in each direction.
 */
export class ThreadPool {
  readonly #piscina: Piscina;
  readonly #events: PoolEvents;
  readonly #places: readonly Place[];
  readonly #threads = new Map<number, WatchedThread>();
  /** The threads whose piscina task is over, but which have not ended yet. */
  readonly #failed = new Set<number>();
  readonly #heapMb: number;
  /** The frames that wait for a thread, in order. */
  #waiting: PoolFrame[] = [];
  #closing = false;

  constructor(threads: number, data: Configure, events: PoolEvents) {
    this.#events = events;
    const size = threads + spareThreads;
    this.#heapMb = heapMb(threads);
    this.#piscina = new Piscina({
      filename: fileURLToPath(new URL('../thread/thread.js', import.meta.url)),
      name: 'serve',
      minThreads: size,
      maxThreads: size,
      loadBalancer: (_, workers) =>
        workers.find(({ id, currentUsage }) => currentUsage === 0 && !this.#failed.has(id)) ?? null,
      concurrentTasksPerWorker: 1,
      // Measurements show that waiting with Atomics is not faster here. It would also delay timers and sockets of plugins between frames.
      atomics: 'disabled',
      recordTiming: false,
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMb },
    });
    this.#piscina.on('workerCreate', () => this.#watchThreads());
    this.#piscina.on('message', (message: LateOutcome | Loaded) => {
      if ('loaded' in message) this.#loaded(message.loaded);
      else events.onLateOutcome(message);
    });
    // This event reports the death of an idle thread; the `exit` event of the thread is handled instead.
    this.#piscina.on('error', () => {});
    this.#places = Array.from({ length: size }, () => {
      return { port: null, threadId: null, isOpen: true, plugins: new Set<number>(), running: null };
    });
    for (const place of this.#places) void this.#keepServing(place);
  }

  /** Resolves when a thread has finished the frame. Rejects if the frame's thread dies, or can run no more frames. */
  run(shared: SharedArrayBuffer, plugin: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ shared, plugin, resolve, reject });
      this.#assign();
    });
  }

  /** Keeps a piscina task running for this place. When the thread of the place has ended, the next thread gets a new task. */
  async #keepServing(place: Place): Promise<void> {
    while (!this.#closing) {
      const { port1, port2 } = new MessageChannel();
      place.port = port1;
      port1.on('message', (threadId: number | null) => {
        if (threadId === null) this.#ended(place);
        else this.#started(place, threadId);
      });
      // If a thread dies of a thrown null or undefined, the promise resolves instead of rejecting. So every end of the task counts as a failure.
      const error = await this.#piscina.run(port2, { transferList: [port2] }).catch(cause => cause);
      port1.close();
      if (place.threadId !== null && this.#threads.has(place.threadId)) this.#failed.add(place.threadId);
      const lost = place.running;
      place.threadId = null;
      place.isOpen = false;
      place.running = null;
      place.plugins.clear();
      lost?.reject(error);
    }
  }

  /** The id of the running thread that was given the frame; 0: the frame waits for a thread, or for the start of its thread. */
  threadOf(shared: SharedArrayBuffer): number {
    return this.#places.find(({ running }) => running?.shared === shared)?.threadId ?? 0;
  }

  /** Piscina reports a thread that replaces another one (`workerCreate`) only after this message of the thread. */
  #loaded(threadId: number): void {
    this.#watchThreads();
    this.#threads.get(threadId)?.hasLoaded();
  }

  #started(place: Place, threadId: number): void {
    this.#watchThreads();
    place.threadId = threadId;
    place.isOpen = true;
    this.#assign();
    if (this.#places.every(each => each.threadId !== null)) setImmediate(() => this.#events.onAllStarted());
  }

  #ended(place: Place): void {
    const ended = place.running;
    place.running = null;
    ended?.resolve();
    this.#assign();
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const place = this.#choose(this.#waiting[0]!.plugin);
      if (place === null) return;
      const frame = this.#waiting.shift()!;
      place.plugins.add(frame.plugin);
      place.running = frame;
      place.port!.postMessage(frame.shared);
    }
  }

  /**
   * Chooses an idle thread that has the plugin's code, or else the idle thread that has the code of the fewest plugins. So a plugin that
   * kills its threads rarely kills a thread that other plugins use.
   */
  #choose(plugin: number): Place | null {
    let best: Place | null = null;
    let codeMin = Number.POSITIVE_INFINITY;
    for (const place of this.#places) {
      if (!place.isOpen || place.running !== null) continue;
      const size = place.plugins.has(plugin) ? -1 : place.plugins.size;
      if (size < codeMin) [best, codeMin] = [place, size];
    }
    return best;
  }

  /**
   * Sends the cancel over the port of the frames. A message at the thread's own port would end the thread, because piscina takes each
   * message there for a message of its own.
   */
  cancel(threadId: number, task: CancelTask): void {
    this.#places.find(place => place.threadId === threadId)?.port?.postMessage(task);
  }

  /** Stops a thread, whatever it is doing. `reason` is reported when the thread is replaced. */
  terminate(threadId: number, reason: string): void {
    const thread = this.#threads.get(threadId);
    if (thread === undefined) return;
    thread.reason = reason;
    void thread.terminate(() => this.#events.onStuck());
  }

  /** Resolves when the thread has exited. By then all its messages have arrived. */
  async exitOf(threadId: number): Promise<void> {
    await this.#threads.get(threadId)?.exited;
  }

  async close(): Promise<void> {
    this.#closing = true;
    // Threads that replace others may be starting, and others may start meanwhile.
    const settled = new Set<WatchedThread>();
    for (;;) {
      this.#watchThreads();
      const starting = [...this.#threads.values()].filter(thread => !settled.has(thread));
      if (starting.length === 0) break;
      await Promise.all(starting.map(thread => thread.settled()));
      for (const thread of starting) settled.add(thread);
    }
    await this.#piscina.destroy();
  }

  #watchThreads(): void {
    for (const worker of this.#piscina.threads) {
      const { threadId } = worker;
      if (threadId < 0 || this.#threads.has(threadId)) continue;
      const thread = new WatchedThread(worker, this.#heapMb);
      this.#threads.set(threadId, thread);
      worker.once('exit', code => {
        this.#threads.delete(threadId);
        this.#failed.delete(threadId);
        if (!this.#closing) this.#events.onThreadReplaced(thread.reason ?? exitReason(code));
      });
    }
  }
}
