// Memory that a thread of concurrent tasks shares with the host's main thread. It says whether the thread's event loop runs,
// which frames the thread has taken, which task's code is running, and which task ended the thread. The main thread can read this
// memory even if the thread is blocked or dead.

/** The positions of the words, each an Int32. A task is stored as its position in the frame plus one, a frame as its ticket. */
const words = { beat: 0, loading: 1, insideTask: 2, insideFrame: 3, blamedTask: 4, blamedFrame: 5, taken: 6 } as const;

export type TaskPosition = { readonly ticket: number; readonly task: number };

export class ThreadStatus {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * Object.keys(words).length)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /**
   * Called by the thread when its event loop has run. If a task was blamed before (`blame`) and the thread still runs, the plugin handles
   * uncaught errors itself, and the blame is withdrawn.
   */
  beat(): void {
    this.#words[words.blamedTask] = 0;
    Atomics.add(this.#words, words.beat, 1);
  }

  /** A number that changes as long as handlers have not settled and the thread's event loop runs. */
  get beats(): number {
    return Atomics.load(this.#words, words.beat);
  }

  get isLoading(): boolean {
    return Atomics.load(this.#words, words.loading) === 1;
  }

  set isLoading(is: boolean) {
    Atomics.store(this.#words, words.loading, is ? 1 : 0);
  }

  /** Called by the thread when it has taken the frame with this ticket. Tickets only increase. */
  take(ticket: number): void {
    Atomics.store(this.#words, words.taken, ticket);
  }

  /**
   * Whether the thread has taken the frame. True for every frame while the thread has taken none. If a thread dies on startup, some task
   * must be charged, because the same tasks would otherwise end one thread after another.
   */
  hasTaken(ticket: number): boolean {
    const taken = Atomics.load(this.#words, words.taken);
    return taken === 0 || ticket <= taken;
  }

  /** Called by the thread before it calls the handler of a task or reads the handler's answer: notes the task. */
  enter(ticket: number, task: number): void {
    this.#words[words.insideFrame] = ticket;
    this.#words[words.insideTask] = task + 1;
  }

  /** Called by the thread when the handler has returned, possibly with a promise, or when the answer has been read. */
  leave(): void {
    this.#words[words.insideTask] = 0;
  }

  /** Called by the thread when this task is about to end the thread. Only the first call since the last `beat` counts. */
  blame(ticket: number, task: number): void {
    if (this.#words[words.blamedTask] !== 0) return;
    this.#words[words.blamedFrame] = ticket;
    this.#words[words.blamedTask] = task + 1;
  }

  /** The task that ended the thread or blocks its event loop; null if it is unknown. */
  get culprit(): TaskPosition | null {
    const blamed = this.#words[words.blamedTask]!;
    if (blamed > 0) return { ticket: this.#words[words.blamedFrame]!, task: blamed - 1 };
    const inside = this.#words[words.insideTask]!;
    return inside > 0 ? { ticket: this.#words[words.insideFrame]!, task: inside - 1 } : null;
  }
}
