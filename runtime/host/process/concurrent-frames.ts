// Runs the frames of worker plugins whose tasks run concurrently. Each command has threads of its own: one for each runner number
// that occurs in frames of the command.

import { Alarm } from '../../alarm.ts';
import { type FrameHead, FrameReader } from '../wire/frame.ts';
import type { Configure } from '../wire/host-setup.ts';
import type { LearnedMask } from '../wire/mask.ts';
import type { HostSender } from './host-sender.ts';
import { RunnerThread } from './runner-thread.ts';
import { heapMb } from './thread-end.ts';

/** The interval at which all threads are checked while a task runs. */
const tickMs = 50;
/** The interval at which all threads are checked while no task runs. */
const idleTickMs = 1_000;
/** A thread ends after this time without a task. */
export const idleMsMax = 10_000;

/** The options of `ConcurrentFrames`, and of `WorkerFrames`. */
export type FramesOptions = {
  readonly threads: number;
  readonly data: Configure;
  readonly sender: HostSender;
  /** Masks secrets in the error message of a thread that dies. */
  readonly learned: LearnedMask;
  /** Called when a thread cannot be stopped. */
  readonly onStuck: () => void;
};

export class ConcurrentFrames {
  readonly #options: FramesOptions;
  /** The threads that take frames, by plugin, command and runner. */
  readonly #taking = new Map<string, RunnerThread>();
  /** All threads, including those that take no more frames. */
  readonly #threads = new Set<RunnerThread>();
  readonly #clock = new Alarm(() => this.#tick());
  #isClosing = false;

  constructor(options: FramesOptions) {
    this.#options = options;
  }

  get idle(): boolean {
    for (const thread of this.#threads) if (thread.isBusy) return false;
    return true;
  }

  submit(head: FrameHead, bytes: Uint8Array): void {
    const { command } = new FrameReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const key = `${head.plugin} ${command} ${head.runner}`;
    let thread = this.#taking.get(key);
    if (thread === undefined) {
      thread = this.#start(key);
      this.#taking.set(key, thread);
    }
    thread.take(head, bytes);
    this.#clock.set(performance.now() + tickMs);
  }

  /** Does nothing, because a runner is sent only as many tasks as it may run at once, so usually no task waits. */
  returnUnstarted(): void {}

  cancel(frameId: number, task: number, reason: string): void {
    for (const thread of this.#threads) thread.cancel(frameId, task, reason);
  }

  /** Stops all threads. Must be called only when no task runs (`idle`). */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#clock.clear();
    await Promise.all([...this.#threads].map(thread => thread.close()));
  }

  #start(key: string): RunnerThread {
    const release = () => {
      if (this.#taking.get(key) === thread) this.#taking.delete(key);
    };
    const { threads, data, sender, learned, onStuck } = this.#options;
    const thread = new RunnerThread(data, heapMb(threads), sender, learned, {
      onSpent: release,
      onStuck,
      onGone: reason => {
        release();
        this.#threads.delete(thread);
        if (reason !== null && !this.#isClosing) sender.replaced(reason);
      },
    });
    this.#threads.add(thread);
    return thread;
  }

  #tick(): void {
    const nowMs = performance.now();
    let isBusy = false;
    for (const thread of this.#threads) {
      thread.check(nowMs);
      if (thread.isBusy) isBusy = true;
      else if (nowMs - thread.sinceMs >= idleMsMax) thread.retire();
    }
    if (this.#threads.size > 0 && !this.#isClosing) this.#clock.set(nowMs + (isBusy ? tickMs : idleTickMs));
  }
}
