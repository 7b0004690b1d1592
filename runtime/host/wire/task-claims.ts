// Memory that says which tasks of a frame are claimed. The thread of concurrent tasks claims a task to begin it or to give it back, and the
// host's main thread claims a task to cancel it. The first claim of a task wins, so a cancelled task never begins, even if the thread is
// blocked when the task is cancelled.

export class TaskClaims {
  readonly memory: SharedArrayBuffer;
  readonly #claimed: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#claimed = new Uint8Array(memory);
  }

  static of(count: number): TaskClaims {
    return new TaskClaims(new SharedArrayBuffer(count));
  }

  /** Returns whether this is the first claim of the task. */
  claim(task: number): boolean {
    return Atomics.exchange(this.#claimed, task, 1) === 0;
  }

  get areAll(): boolean {
    return !this.#claimed.includes(0);
  }
}
