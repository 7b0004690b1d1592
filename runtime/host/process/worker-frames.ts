// Runs frames of worker plugins on the threads of a pool. Running frames are checked at intervals. If a task is slow, the later tasks of
// its frame are returned.

import { Alarm } from '../../alarm.ts';
import type { FrameHead } from '../wire/frame.ts';
import type { LearnedMask } from '../wire/mask.ts';
import { outcomeOfRun } from '../wire/outcome-message.ts';
import type { ReturnReason } from '../wire/plugin-host.ts';
import { resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import { SharedFrame } from '../wire/shared-frame.ts';
import type { FramesOptions } from './concurrent-frames.ts';
import type { HostSender } from './host-sender.ts';
import { ThreadPool } from './pool.ts';
import { cancelMsMax, heapMb, reasonOf } from './thread-end.ts';

/** A task that runs longer than this is slow. */
const slowMs = 5;
/** A frame that has waited this long is returned if every thread is busy with a slow frame (one whose later tasks have been returned). */
const patienceMs = 20;
/** If a thread does not take its frame, or loads a plugin's code, for this long, the frame's tasks that no thread has begun are returned. */
const slowLoadMs = 250;
/** If a thread loads a plugin's code for this long, and for at least the time limit of the frame's tasks, the thread is replaced. */
const loadMsMax = 10_000;
/** If a plugin has ended a thread, the plugin's frames wait at most this long for all threads to run again. */
const heldMsMax = 5_000;
/** How long a handler may go on after its deadline before its thread is replaced. */
export const graceMs = 100;
/** The interval at which running frames are checked and their outcomes sent. */
const tickMs = 3;
/** The interval that replaces `tickMs` while only slow tasks run, and the later tasks of all unfinished frames have been returned. */
const lazyTickMs = 20;

type ThreadFrame = {
  readonly head: FrameHead;
  readonly slot: SharedFrame;
  /** The number of bytes of the frame's outcomes that have been sent. */
  reportedBytes: number;
  /** The number of tasks that are not returned: at first all tasks, and after `#takeBack` the tasks that had begun. */
  started: number;
  takenBack: boolean;
  /**
   * The progress at the last check (`#check`): 0 waiting for a thread, 1 given to a thread that has not taken it, 2 loading code, otherwise 3
   * plus the number of answered tasks.
   */
  seen: number;
  /** The time of `performance.now` at which a check first found the progress `seen`. */
  seenAtMs: number;
  /** Set if the thread is being stopped because of the running task: the result of that task. */
  doom: TaskResult | null;
  /** Whether the thread is being stopped although no task of the frame is running. */
  isStopped: boolean;
};

export class WorkerFrames {
  readonly #threads: number;
  readonly #sender: HostSender;
  readonly #learned: LearnedMask;
  readonly #pool: ThreadPool;
  /** All unfinished frames. */
  readonly #runs = new Set<ThreadFrame>();
  /** The frames that the pool has not got yet. The pool gets at most `#threads` frames at once, and none of a held plugin (`#held`). */
  #waiting: ThreadFrame[] = [];
  #running = 0;
  /** The numbers of plugins that have ended a thread. Their frames wait until all threads run again, or until the timer fires. */
  readonly #held = new Map<number, NodeJS.Timeout>();
  readonly #clock = new Alarm(() => this.#tick());

  constructor({ threads, data, sender, learned, onStuck }: FramesOptions) {
    this.#threads = threads;
    this.#sender = sender;
    this.#learned = learned;
    this.#pool = new ThreadPool(threads, data, {
      onAllStarted: () => this.#release([...this.#held.keys()]),
      onLateOutcome: late => {
        // State updates are applied in the order in which outcomes are sent, and those in the frame's memory come before this one.
        const run = this.#find(late.frameId);
        if (run !== undefined) this.#report(run);
        sender.written(late.frameId, late.written);
      },
      onThreadReplaced: reason => sender.replaced(learned.text(reason)),
      onStuck,
    });
  }

  get idle(): boolean {
    return this.#runs.size === 0;
  }

  submit(head: FrameHead, frame: Uint8Array): void {
    const slot = SharedFrame.of(frame, head.count);
    const run: ThreadFrame = {
      head,
      slot,
      reportedBytes: 0,
      started: head.count,
      takenBack: false,
      seen: 0,
      seenAtMs: performance.now(),
      doom: null,
      isStopped: false,
    };
    this.#runs.add(run);
    this.#waiting.push(run);
    this.#launch();
    this.#clock.set(performance.now() + tickMs);
  }

  /** Gives back to the ledger all tasks that no thread has begun. */
  returnUnstarted(): void {
    for (const run of this.#runs) this.#takeBack(run, 'interrupted');
    this.#dropWaiting();
  }

  /**
   * Gives back to the ledger the frame's tasks that no thread has claimed. If the thread has claimed the cancelled task but not called its
   * handler, the task never begins, and is returned when the thread leaves the frame (`#land`). If the handler runs, its signal fires. If the task
   * has not ended after `cancelMsMax`, its thread is replaced.
   */
  cancel(frameId: number, task: number, reason: string): void {
    const run = this.#find(frameId);
    if (run === undefined) return;
    this.#takeBack(run, 'interrupted');
    this.#dropWaiting();
    const { slot } = run;
    if (task >= run.started || task < slot.answered) return;
    slot.drop(task);
    this.#pool.cancel(slot.thread, { cancel: frameId, task, reason });
    setTimeout(() => {
      if (!this.#runs.has(run) || slot.answered > task || run.doom !== null) return;
      run.doom = resultOfFailure(reason, false);
      this.#pool.terminate(slot.thread, reason);
    }, cancelMsMax);
  }

  /** Stops all threads. Must be called only when all frames have ended (`idle`). */
  async close(): Promise<void> {
    this.#clock.clear();
    for (const timer of this.#held.values()) clearTimeout(timer);
    this.#waiting = [];
    this.#runs.clear();
    await this.#pool.close();
  }

  #find(frameId: number): ThreadFrame | undefined {
    for (const run of this.#runs) if (run.head.frameId === frameId) return run;
    return undefined;
  }

  #launch(): void {
    while (this.#running < this.#threads) {
      const place = this.#waiting.findIndex(({ head }) => !this.#held.has(head.plugin));
      if (place < 0) return;
      const [run] = this.#waiting.splice(place, 1) as [ThreadFrame];
      this.#running++;
      this.#pool.run(run.slot.shared, run.head.plugin).then(
        () => this.#land(run),
        error => this.#crash(run, error),
      );
    }
  }

  /** Forgets the waiting frames whose tasks have been returned. */
  #dropWaiting(): void {
    for (const run of this.#waiting) if (run.takenBack) this.#runs.delete(run);
    this.#waiting = this.#waiting.filter(run => !run.takenBack);
  }

  #land(run: ThreadFrame): void {
    this.#running--;
    this.#launch();
    if (!this.#runs.delete(run)) return;
    this.#report(run);
    // The thread has answered all tasks that it claimed, except one that was cancelled before its handler was called.
    this.#sender.returned(run.head.frameId, run.slot.answered, run.started, 'interrupted');
  }

  /** Called if the frame's thread died, is being stopped, or can run no more frames. The running task fails, and the later tasks are returned. */
  async #crash(run: ThreadFrame, error: unknown): Promise<void> {
    this.#takeBack(run, 'interrupted');
    this.#hold(run.head.plugin);
    const reason = reasonOf(error, heapMb(this.#threads));
    // The thread may still live. If a plugin has damaged built-in objects, any code on the thread can fail.
    if (run.doom === null && !run.isStopped) this.#pool.terminate(run.slot.thread, reason);
    await this.#pool.exitOf(run.slot.thread);
    this.#running--;
    this.#launch();
    if (!this.#runs.delete(run)) return;
    this.#report(run);
    const task = run.slot.answered;
    if (task >= run.started) return;
    const settled = run.doom ?? resultOfFailure(this.#learned.text(reason), false);
    this.#sender.outcomes(run.head.frameId, [outcomeOfRun(task, settled, run.seenAtMs)]);
  }

  #hold(plugin: number): void {
    clearTimeout(this.#held.get(plugin));
    this.#held.set(
      plugin,
      setTimeout(() => this.#release([plugin]), heldMsMax),
    );
  }

  #release(plugins: readonly number[]): void {
    for (const plugin of plugins) {
      clearTimeout(this.#held.get(plugin));
      this.#held.delete(plugin);
    }
    this.#launch();
  }

  #report(run: ThreadFrame): void {
    const { written } = run.slot;
    if (written === run.reportedBytes) return;
    this.#sender.written(run.head.frameId, run.slot.outcomes(run.reportedBytes, written));
    run.reportedBytes = written;
  }

  #takeBack(run: ThreadFrame, reason: ReturnReason): void {
    if (run.takenBack) return;
    run.takenBack = true;
    run.started = run.slot.takeBack();
    this.#sender.returned(run.head.frameId, run.started, run.head.count, reason);
  }

  #tick(): void {
    const nowMs = performance.now();
    let slow = 0;
    for (const run of this.#runs) {
      this.#check(run, nowMs);
      if (run.takenBack && run.seen > 0) slow++;
    }
    if (slow >= this.#threads) {
      for (const run of this.#waiting) if (nowMs - run.seenAtMs >= patienceMs) this.#takeBack(run, 'crowded');
      this.#dropWaiting();
    }
    if (this.#runs.size > 0) this.#clock.set(nowMs + (slow === this.#runs.size ? lazyTickMs : tickMs));
  }

  #check(run: ThreadFrame, nowMs: number): void {
    const { slot, head } = run;
    const { phase, answered } = slot;
    const waits = phase === 'waiting';
    const thread = waits ? this.#pool.threadOf(slot.shared) : slot.thread;
    if (thread === 0) return;
    // Only a frame that was already running at the last check sends outcomes here. A frame that ends sooner sends all its outcomes at its
    // end.
    if (run.seen >= 3) this.#report(run);
    // Loading is a separate stage of the progress, so the loading time does not count towards the first task.
    const seen = waits ? 1 : phase === 'loading' ? 2 : 3 + answered;
    if (seen !== run.seen) {
      run.seen = seen;
      run.seenAtMs = nowMs;
      return;
    }
    const sinceMs = nowMs - run.seenAtMs;
    const loading = phase === 'loading';
    if (sinceMs >= (waits || loading ? slowLoadMs : slowMs)) this.#takeBack(run, 'crowded');
    const limitMs = loading ? Math.max(loadMsMax, head.deadlineMs) : head.deadlineMs + graceMs;
    if (sinceMs < limitMs || run.doom !== null || run.isStopped) return;
    if (waits || answered >= run.started) {
      // Code that an earlier job left behind blocks the thread. No job of this frame is charged.
      run.isStopped = true;
      this.#takeBack(run, 'crowded');
      this.#pool.terminate(thread, 'code that an ended job has left behind blocked the thread');
      return;
    }
    const reason = loading ? `timed out after ${limitMs} ms while loading` : timeOutReason(head.deadlineMs);
    run.doom = resultOfFailure(reason, false, {}, 'timed_out');
    this.#takeBack(run, 'crowded');
    this.#pool.terminate(slot.thread, reason);
  }
}
