// A thread that has many tasks of one command under way, as the host's main thread has it: it is watched, and replaced when it blocks.

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ConcurrentData, GiveFrame, TasksEnded, ThreadClosing, ThreadIdle } from '../thread/concurrent-thread.ts';
import type { Loaded } from '../thread/thread.ts';
import type { ThreadData } from '../thread/thread-setup.ts';
import type { FrameHead } from '../wire/frame.ts';
import type { LearnedMask } from '../wire/mask.ts';
import { tasksOf } from '../wire/outcome-message.ts';
import { resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import { ThreadStatus } from '../wire/thread-status.ts';
import type { HostSender } from './host-sender.ts';
import { RunnerFrame } from './runner-frame.ts';
import { exitReason, reasonOf, terminateMsMax } from './thread-end.ts';

/** Beyond the deadline of its oldest task a thread may block for so long. */
const graceMs = 100;
/** A plugin's code may take so long to load, or as long as a task where that is longer. */
const loadMsMax = 10_000;
/** Node aborts the process when a thread is stopped while its first module is linked: closing waits so long for that. */
const linkMsMax = 5_000;

export type RunnerThreadEvents = {
  /** It takes no more frames. */
  onSpent(): void;
  /** It holds out against being stopped. */
  onStuck(): void;
  /** It is gone; null: it was let go. */
  onGone(reason: string | null): void;
};

type Said = Loaded | TasksEnded | ThreadClosing | ThreadIdle;

export class RunnerThread {
  /** Since when it has had something under way, or nothing. */
  sinceMs = performance.now();
  readonly #worker: Worker;
  readonly #sender: HostSender;
  readonly #learned: LearnedMask;
  readonly #events: RunnerThreadEvents;
  readonly #status = new ThreadStatus();
  readonly #loaded: Promise<void>;
  readonly #exited: Promise<void>;
  /** By their tickets, the oldest first; and the tickets by the ids of frames. */
  readonly #runs = new Map<number, RunnerFrame>();
  readonly #tickets = new Map<number, number>();
  #ticket = 0;
  #beats = 0;
  /** When its loop was last seen to have turned. */
  #turnedMs = performance.now();
  #wasLoading = false;
  /** Why it died, or is being stopped; null: it lives, or was let go. */
  #reason: string | null = null;
  /** It is being stopped since it blocks: how its culprit ends, or all that it has. */
  #doom: { readonly settled: TaskResult; readonly isForAll: boolean } | null = null;
  /** It has said that nothing is under way in it: what it has been given since has not begun. */
  #isOver = false;
  #isEnding = false;

  constructor(data: ThreadData, heapMb: number, sender: HostSender, learned: LearnedMask, events: RunnerThreadEvents) {
    this.#sender = sender;
    this.#learned = learned;
    this.#events = events;
    this.#worker = new Worker(fileURLToPath(new URL('../thread/concurrent-thread.js', import.meta.url)), {
      workerData: { ...data, status: this.#status.memory } satisfies ConcurrentData,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    const worker = this.#worker;
    let linked = () => {};
    this.#loaded = new Promise(resolve => {
      linked = resolve;
    });
    worker.on('message', (said: Said) => {
      if ('loaded' in said) linked();
      else this.#take(said);
    });
    worker.on('error', error => {
      this.#reason ??= reasonOf(error);
    });
    this.#exited = new Promise(resolve => {
      worker.once('exit', code => {
        this.#gone(code);
        resolve();
      });
    });
  }

  get isBusy(): boolean {
    return this.#runs.size > 0;
  }

  take(head: FrameHead, bytes: Uint8Array): void {
    const nowMs = performance.now();
    if (!this.isBusy) this.sinceMs = this.#turnedMs = nowMs;
    const ticket = ++this.#ticket;
    this.#runs.set(ticket, new RunnerFrame(head));
    this.#tickets.set(head.frameId, ticket);
    // A view of what came over the pipe: as it is, all that came with it would be copied along.
    const own = new Uint8Array(bytes);
    this.#worker.postMessage({ ticket, bytes: own } satisfies GiveFrame, [own.buffer]);
  }

  /** Stops it if it blocks. */
  look(nowMs: number): void {
    const { beats, isLoading } = this.#status;
    const [oldest] = this.#runs.values();
    // Loading and running are told apart: loading is not the tasks' time.
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

  /** It has nothing to do, and is not needed any more. */
  retire(): void {
    this.#events.onSpent();
    void this.#terminate();
  }

  /** Resolves when it is gone; what it runs is not answered. */
  async close(): Promise<void> {
    await Promise.race([this.#loaded, this.#exited, sleep(linkMsMax, null, { ref: false })]);
    await this.#terminate();
  }

  #doomed(reason: string, isForAll: boolean): void {
    this.#reason = reason;
    this.#doom = { settled: resultOfFailure(reason, false, {}, 'timed_out'), isForAll };
    this.#events.onSpent();
    void this.#terminate();
  }

  async #terminate(): Promise<void> {
    this.#isEnding = true;
    const stuck = setTimeout(() => this.#events.onStuck(), terminateMsMax);
    void this.#worker.terminate();
    await this.#exited;
    clearTimeout(stuck);
  }

  #take(said: TasksEnded | ThreadClosing | ThreadIdle): void {
    if ('ended' in said) {
      for (const [frameId, written] of said.ended) {
        this.#sender.written(frameId, written);
        for (const task of tasksOf(written)) this.#end(frameId, task);
      }
    } else if ('spent' in said) {
      this.#events.onSpent();
      for (const [frameId, task] of said.spent) {
        this.#sender.returned(frameId, task, task + 1);
        this.#end(frameId, task);
      }
    } else {
      this.#isOver = true;
      this.#reason ??= 'a task of its plugin had not ended at its deadline';
      void this.#terminate();
    }
  }

  #end(frameId: number, task: number): void {
    const ticket = this.#tickets.get(frameId);
    const run = ticket === undefined ? undefined : this.#runs.get(ticket);
    if (run === undefined) return;
    run.end(task);
    if (!run.isOver) return;
    this.#runs.delete(ticket!);
    this.#tickets.delete(frameId);
    if (!this.isBusy) this.sinceMs = performance.now();
  }

  /** Who is known to have brought it down is charged; the others go back, and run alone. What had not begun goes back as it came. */
  #gone(code: number): void {
    if (!this.#isEnding) this.#reason ??= exitReason(code);
    const reason = this.#reason === null ? null : this.#learned.text(this.#reason);
    const settled = this.#doom?.settled ?? resultOfFailure(reason ?? '', false);
    const culprit = this.#isOver ? null : this.#culprit();
    for (const [ticket, run] of this.#runs) {
      for (let task = 0; task < run.head.count; task++) {
        const isGuilty = this.#doom?.isForAll || (culprit?.ticket === ticket && culprit.task === task);
        if (isGuilty && run.isOpen(task)) run.charge(task, settled, this.#sender);
      }
      run.giveBack(this.#sender, !this.#isOver && this.#status.hasTaken(ticket));
    }
    this.#runs.clear();
    this.#events.onGone(reason);
  }

  /** Where only one was under way it is that one. */
  #culprit() {
    const known = this.#status.culprit;
    if (known !== null) return known;
    const [only, ...others] = [...this.#runs].filter(([ticket]) => this.#status.hasTaken(ticket));
    if (only === undefined || others.length > 0 || only[1].left > 1) return null;
    const [ticket, run] = only;
    for (let task = 0; task < run.head.count; task++) if (run.isOpen(task)) return { ticket, task };
    return null;
  }
}
