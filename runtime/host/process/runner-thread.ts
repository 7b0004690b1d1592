// The main thread's side of a thread that runs many tasks of one command concurrently (thread/concurrent-thread.ts). Watches the
// thread, and stops it if its event loop is blocked, or if it loads code for too long.

import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ConcurrentData, GiveFrame, TasksEnded, TasksReturned, ThreadIdle } from '../thread/concurrent-thread.ts';
import type { CancelTask, Loaded } from '../thread/thread.ts';
import type { FrameHead } from '../wire/frame.ts';
import type { Configure } from '../wire/host-setup.ts';
import type { LearnedMask } from '../wire/mask.ts';
import { tasksOf } from '../wire/outcome-message.ts';
import type { Verdict } from '../wire/plugin-host.ts';
import { resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import { TaskClaims } from '../wire/task-claims.ts';
import { type TaskPosition, ThreadStatus } from '../wire/thread-status.ts';
import type { HostSender } from './host-sender.ts';
import { RunnerFrame } from './runner-frame.ts';
import { cancelMsMax, exitReason, WatchedThread } from './thread-end.ts';

/** A thread is stopped if its event loop stays blocked for this long beyond the time limit of the tasks in its oldest frame. */
const graceMs = 100;
/** Loading a plugin's code may take this long or, if that is longer, as long as the time limit of the tasks. */
const loadMsMax = 10_000;

export type RunnerThreadEvents = {
  /** Called when the thread takes no more frames. */
  onSpent(): void;
  /** Called when the thread cannot be stopped. */
  onStuck(): void;
  /** Called when the thread has ended. `reason`: why it ended; null if it was retired or closed. */
  onGone(reason: string | null): void;
};

type ThreadMessage = Loaded | TasksEnded | TasksReturned | ThreadIdle;

/** A frame on the thread. */
class ThreadFrame extends RunnerFrame {
  readonly claims = TaskClaims.of(this.head.count);
}

export class RunnerThread {
  /** The time of `performance.now` at which the thread last became busy or idle, or began to load code. */
  sinceMs = performance.now();
  /** The thread. Its `reason` says why it has ended or is being stopped; null: it lives, or was retired or closed. */
  readonly #thread: WatchedThread;
  readonly #sender: HostSender;
  readonly #learned: LearnedMask;
  readonly #events: RunnerThreadEvents;
  readonly #status = new ThreadStatus();
  /** The unfinished frames, oldest first, by ticket (the number of a frame in this thread). */
  readonly #runs = new Map<number, ThreadFrame>();
  /** The tickets of the unfinished frames, by frame id. */
  readonly #tickets = new Map<number, number>();
  #ticket = 0;
  #beats = 0;
  /**
   * The latest time at which the thread was known not to be blocked: its event loop ran, it was idle, or it began or ended loading code.
   */
  #turnedMs = performance.now();
  #wasLoading = false;
  /**
   * Set if the thread is being stopped because of a task or of loading code: the result for that task or, with `isForAll`, for
   * all tasks of the thread.
   */
  #doom: { readonly settled: TaskResult; readonly isForAll: boolean } | null = null;
  /** Whether the thread has reported that it can be stopped (ThreadIdle). If so, its unfinished tasks have not begun. */
  #isOver = false;
  #isEnding = false;
  /** The cancelled task that the thread is being stopped for. */
  #cancelled: TaskPosition | null = null;

  constructor(data: Configure, heapMb: number, sender: HostSender, learned: LearnedMask, events: RunnerThreadEvents) {
    this.#sender = sender;
    this.#learned = learned;
    this.#events = events;
    const worker = new Worker(fileURLToPath(new URL('../thread/concurrent-thread.js', import.meta.url)), {
      workerData: { ...data, status: this.#status.memory } satisfies ConcurrentData,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#thread = new WatchedThread(worker, heapMb);
    worker.on('message', (message: ThreadMessage) => {
      if ('loaded' in message) this.#thread.hasLoaded();
      else this.#take(message);
    });
    worker.once('exit', code => this.#gone(code));
  }

  get isBusy(): boolean {
    return this.#runs.size > 0;
  }

  take(head: FrameHead, bytes: Uint8Array): void {
    const nowMs = performance.now();
    if (!this.isBusy) this.sinceMs = this.#turnedMs = nowMs;
    const ticket = ++this.#ticket;
    const run = new ThreadFrame(head);
    this.#runs.set(ticket, run);
    this.#tickets.set(head.frameId, ticket);
    // Copies the frame, because otherwise the whole buffer behind this view would be copied to the thread.
    const own = new Uint8Array(bytes);
    const given: GiveFrame = { ticket, bytes: own, claims: run.claims.memory };
    this.#thread.worker.postMessage(given, [own.buffer]);
  }

  /** Stops the thread if it blocks, or if it loads code for too long. */
  check(nowMs: number): void {
    const { beats, isLoading } = this.#status;
    const [oldest] = this.#runs.values();
    // The time that loading code takes does not count towards the deadline of a task.
    if (beats !== this.#beats || oldest === undefined || isLoading !== this.#wasLoading) this.#turnedMs = nowMs;
    this.#beats = beats;
    if (isLoading && !this.#wasLoading) this.sinceMs = nowMs;
    this.#wasLoading = isLoading;
    if (oldest === undefined || this.#isEnding) return;
    const { deadlineMs } = oldest.head;
    if (isLoading) {
      const limitMs = Math.max(loadMsMax, deadlineMs);
      if (nowMs - this.sinceMs >= limitMs) this.#doomed(`timed out after ${limitMs} ms while loading`, true);
    } else if (beats > 0 && nowMs - this.#turnedMs >= deadlineMs + graceMs)
      this.#doomed(timeOutReason(deadlineMs), false);
  }

  /**
   * Cancels a task. A task that has not begun is returned, and never begins. A running task is cancelled by the thread, which sends its outcome
   * at once, but the task's place stays taken until the handler settles. If the thread sends no outcome within `cancelMsMax`, it is probably
   * blocked, and is stopped.
   */
  cancel(frameId: number, task: number, reason: string): void {
    const ticket = this.#tickets.get(frameId);
    const run = ticket === undefined ? undefined : this.#runs.get(ticket);
    if (run === undefined || !run.isOpen(task)) return;
    if (run.claims.claim(task)) {
      this.#return(frameId, task);
      return;
    }
    this.#thread.worker.postMessage({ cancel: ticket!, task, reason } satisfies CancelTask);
    const stopIfUnanswered = () => {
      if (this.#runs.get(ticket!) !== run || !run.isOpen(task) || this.#isEnding) return;
      this.#cancelled = { ticket: ticket!, task };
      this.#doomed(reason, false, 'error');
    };
    // If this thread was busy, the outcome may have arrived unread. It is read before `setImmediate` calls back.
    setTimeout(() => setImmediate(stopIfUnanswered), cancelMsMax);
  }

  /** Stops an idle thread. */
  retire(): void {
    this.#events.onSpent();
    void this.#terminate();
  }

  /** Stops the thread; resolves when it has ended. Must be called only when the thread is idle. */
  async close(): Promise<void> {
    await this.#terminate();
  }

  #doomed(reason: string, isForAll: boolean, verdict: Verdict = 'timed_out'): void {
    this.#thread.reason = reason;
    this.#doom = { settled: resultOfFailure(reason, false, {}, verdict), isForAll };
    this.#events.onSpent();
    void this.#terminate();
  }

  #terminate(): Promise<void> {
    this.#isEnding = true;
    return this.#thread.terminate(() => this.#events.onStuck());
  }

  #take(message: TasksEnded | TasksReturned | ThreadIdle): void {
    if ('ended' in message) {
      for (const [frameId, written] of message.ended) {
        this.#sender.written(frameId, written);
        for (const task of tasksOf(written)) this.#end(frameId, task);
      }
    } else if ('returned' in message) {
      if (message.isSpent) this.#events.onSpent();
      for (const [frameId, task] of message.returned) this.#return(frameId, task);
    } else {
      this.#isOver = true;
      this.#thread.reason ??= 'a task of its plugin did not end after its deadline or cancel';
      void this.#terminate();
    }
  }

  #return(frameId: number, task: number): void {
    this.#sender.returned(frameId, task, task + 1, 'interrupted');
    this.#end(frameId, task);
  }

  #end(frameId: number, task: number): void {
    const ticket = this.#tickets.get(frameId);
    const run = ticket === undefined ? undefined : this.#runs.get(ticket);
    if (run === undefined) return;
    run.end(task);
    if (!run.isOver) return;
    this.#runs.delete(ticket!);
    this.#tickets.delete(frameId);
    if (this.isBusy) return;
    this.sinceMs = performance.now();
    // All tasks of the thread were cancelled while it loads code. The loading may never end.
    if (this.#status.isLoading) this.retire();
  }

  /**
   * Charges the task that ended the thread (`#culprit`) or, if `isForAll` is set, all unfinished tasks. All other unfinished tasks are
   * returned. Those that may have begun run alone the next time. A task may have begun if the thread had taken its frame and `#isOver` is
   * false.
   */
  #gone(code: number): void {
    if (!this.#isEnding) this.#thread.reason ??= exitReason(code);
    const reason = this.#thread.reason === null ? null : this.#learned.text(this.#thread.reason);
    const settled = this.#doom?.settled ?? resultOfFailure(reason ?? '', false);
    const culprit = this.#isOver ? null : this.#culprit();
    for (const [ticket, run] of this.#runs) {
      for (let task = 0; task < run.head.count; task++) {
        const isGuilty = this.#doom?.isForAll || (culprit?.ticket === ticket && culprit.task === task);
        if (isGuilty && run.isOpen(task)) run.charge(task, settled, this.#sender);
      }
      run.giveBack(this.#sender, !this.#isOver && this.#status.hasTaken(ticket) ? 'begun' : 'interrupted');
    }
    this.#runs.clear();
    this.#events.onGone(reason);
  }

  /**
   * The task that ended the thread; null if it is unknown. If the frames that the thread has taken contain only one unfinished task, this
   * task is assumed to have ended the thread.
   */
  #culprit() {
    if (this.#cancelled !== null) return this.#cancelled;
    const known = this.#status.culprit;
    if (known !== null) return known;
    const [only, ...others] = [...this.#runs].filter(([ticket]) => this.#status.hasTaken(ticket));
    if (only === undefined || others.length > 0 || only[1].left > 1) return null;
    const [ticket, run] = only;
    for (let task = 0; task < run.head.count; task++) if (run.isOpen(task)) return { ticket, task };
    return null;
  }
}
