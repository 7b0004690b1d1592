// Memory that a thread of concurrent tasks shares with the host's main thread: whether its event loop turns, which frames it has taken,
// which task's code it is running, and which task brought it down. It can be read even when the thread is blocked or dead.

/** Int32 words. Tasks are noted as their place plus one; frames by their ticket. */
const words = { beat: 0, loading: 1, insideTask: 2, insideFrame: 3, blamedTask: 4, blamedFrame: 5, taken: 6 } as const;

export type TaskPosition = { readonly ticket: number; readonly task: number };

export class ThreadStatus {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * Object.keys(words).length)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** The thread: its loop has turned. An uncaught error has not killed it: the plugin handles such errors itself. */
  beat(): void {
    this.#words[words.blamedTask] = 0;
    Atomics.add(this.#words, words.beat, 1);
  }

  /** Changes as long as the loop turns. */
  get beats(): number {
    return Atomics.load(this.#words, words.beat);
  }

  get isLoading(): boolean {
    return Atomics.load(this.#words, words.loading) === 1;
  }

  set isLoading(is: boolean) {
    Atomics.store(this.#words, words.loading, is ? 1 : 0);
  }

  /** Called by the thread: it has taken the frame with this ticket. Tickets only increase. */
  take(ticket: number): void {
    Atomics.store(this.#words, words.taken, ticket);
  }

  /** Whether the thread has had the frame. One that died before it took any counts as having had all: else they would never be charged. */
  hasTaken(ticket: number): boolean {
    const taken = Atomics.load(this.#words, words.taken);
    return taken === 0 || ticket <= taken;
  }

  /** The thread: it calls the handler, or makes an outcome of what the handler answered. */
  enter(ticket: number, task: number): void {
    this.#words[words.insideFrame] = ticket;
    this.#words[words.insideTask] = task + 1;
  }

  /** The thread: the call has returned; the handler may have returned a promise. */
  leave(): void {
    this.#words[words.insideTask] = 0;
  }

  /** The thread: it is about to die of this task. The first counts. */
  blame(ticket: number, task: number): void {
    if (this.#words[words.blamedTask] !== 0) return;
    this.#words[words.blamedFrame] = ticket;
    this.#words[words.blamedTask] = task + 1;
  }

  /** The task that killed the thread or blocks its loop; null if unknown. */
  get culprit(): TaskPosition | null {
    const blamed = this.#words[words.blamedTask]!;
    if (blamed > 0) return { ticket: this.#words[words.blamedFrame]!, task: blamed - 1 };
    const inside = this.#words[words.insideTask]!;
    return inside > 0 ? { ticket: this.#words[words.insideFrame]!, task: inside - 1 } : null;
  }
}
