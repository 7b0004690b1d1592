// How late the event loop of a thread runs its timers. The thread measures this delay, and other threads read it in shared memory.

/** The time between two measurements. */
const everyMs = 1_000;
/** The indexes of the cells: how late the last measurement was, and the time of that measurement, both in ms. */
const [late, measured] = [0, 1];

export class LoopDelay {
  readonly shared: SharedArrayBuffer;
  readonly #cells: Float64Array;

  constructor(shared = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)) {
    this.shared = shared;
    this.#cells = new Float64Array(shared);
  }

  /** Measures the calling thread from now on. */
  measure(): void {
    const cells = this.#cells;
    cells[late] = 0;
    cells[measured] = nowMs();
    setInterval(() => {
      const atMs = nowMs();
      cells[late] = Math.max(0, atMs - cells[measured]! - everyMs);
      cells[measured] = atMs;
    }, everyMs).unref();
  }

  /**
   * The longer of two times, in ms: how late the last measurement was, and how long the next measurement is overdue. Null: no thread has
   * been measured.
   */
  get ms(): number | null {
    const atMs = this.#cells[measured]!;
    return atMs === 0 ? null : Math.max(this.#cells[late]!, nowMs() - atMs - everyMs);
  }
}

/** The system's monotonic clock, which is the same in all threads. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
