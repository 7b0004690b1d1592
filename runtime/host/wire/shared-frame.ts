// The memory for a frame, shared by a plugin thread and the host's main thread. It says which tasks may start, and has the outcomes so far.
//
//   control words | room for outcomes | the frame's bytes
//
// The main thread can withdraw unstarted tasks and read outcomes, whatever the thread is doing, and even after it has died.
import { outcomeHeadBytes, writeOutcome } from './outcome-message.ts';
import type { Outcome } from './plugin-host.ts';

/** The positions of the control words, each an Int32. */
const words = {
  claimed: 0,
  count: 1,
  phase: 2,
  thread: 3,
  written: 4,
  answered: 5,
  room: 6,
  frameBytes: 7,
  begun: 8,
} as const;
const controlBytes = 36;
/**
 * The room for outcomes is `roomBase` bytes, plus this many bytes for each task: enough for outcomes with small bodies. An
 * outcome that does not fit is sent as a message.
 */
const roomPerTask = 56;
const roomBase = 4096;

const phases = ['waiting', 'loading', 'running'] as const;
export type Phase = (typeof phases)[number];

export class SharedFrame {
  readonly shared: SharedArrayBuffer;
  readonly count: number;
  readonly #control: Int32Array;
  #room: Buffer | null = null;

  constructor(shared: SharedArrayBuffer) {
    this.shared = shared;
    this.#control = new Int32Array(shared, 0, controlBytes / 4);
    this.count = this.#control[words.count]!;
  }

  static of(frame: Uint8Array, count: number): SharedFrame {
    const room = roomBase + roomPerTask * count;
    const shared = new SharedArrayBuffer(controlBytes + room + frame.length);
    new Uint8Array(shared, controlBytes + room).set(frame);
    const control = new Int32Array(shared, 0, controlBytes / 4);
    control[words.count] = count;
    control[words.room] = room;
    control[words.frameBytes] = frame.length;
    return new SharedFrame(shared);
  }

  get frame(): Buffer {
    return Buffer.from(this.shared, controlBytes + this.#control[words.room]!, this.#control[words.frameBytes]!);
  }

  /** Called by the thread: takes the next task; -1 if none is left. */
  claim(): number {
    const task = Atomics.add(this.#control, words.claimed, 1);
    return task < this.count ? task : -1;
  }

  /**
   * Called by the main thread: prevents the thread from starting more tasks. Returns the position of the first task that has not started.
   */
  takeBack(): number {
    return Math.min(Atomics.exchange(this.#control, words.claimed, this.count), this.count);
  }

  /** Called by the thread right before it calls the handler of a claimed task. False: the task was cancelled, and must not begin. */
  begin(task: number): boolean {
    return Atomics.compareExchange(this.#control, words.begun, task, task + 1) === task;
  }

  /** Called by the main thread when it cancels a task that the thread has claimed. If the task has not begun, it never begins. */
  drop(task: number): void {
    Atomics.compareExchange(this.#control, words.begun, task, -1);
  }

  get phase(): Phase {
    return phases[Atomics.load(this.#control, words.phase)]!;
  }

  enter(phase: Phase, threadId: number): void {
    this.#control[words.thread] = threadId;
    Atomics.store(this.#control, words.phase, phases.indexOf(phase));
  }

  /** The id of the thread that has taken the frame; 0 if none has. */
  get thread(): number {
    return this.#control[words.thread]!;
  }

  /** Called by the thread: stores an outcome. Returns false if there is no room for it. */
  publish(outcome: Outcome): boolean {
    this.#room ??= Buffer.from(this.shared, controlBytes, this.#control[words.room]!);
    const at = this.#control[words.written]!;
    if (at + outcomeHeadBytes + outcome.body.length > this.#room.length) return false;
    Atomics.store(this.#control, words.written, writeOutcome(this.#room, at, outcome));
    return true;
  }

  /** Called by the thread when one more task has its outcome, in this memory or in a message. */
  countAnswered(): void {
    Atomics.add(this.#control, words.answered, 1);
  }

  get answered(): number {
    return Atomics.load(this.#control, words.answered);
  }

  /** The length of the stored outcomes so far, in bytes. */
  get written(): number {
    return Atomics.load(this.#control, words.written);
  }

  outcomes(from: number, to: number): Uint8Array {
    return new Uint8Array(this.shared, controlBytes + from, to - from);
  }
}
