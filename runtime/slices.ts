// Divides long work into short slices, so that the event loop runs every few milliseconds. No scan of the store stays open between two
// slices.

/** Work that yields wherever it can be interrupted. When it yields, it has no scan of the store open. The yielded values are ignored. */
export type Sliced<T> = Generator<unknown, T, void>;

/** The default of `Slices`: in one iteration of the event loop, no further slice begins once the slices have taken this long together. */
export const sliceMsMax = 4;
/** One piece of work runs for about this long before another piece may continue. */
const quantumMsMax = 1;

/** The error of work whose share was closed before the work was done. */
export class Dropped extends Error {}

type Waiting = {
  readonly used: Used;
  /** Continues the work for about `quantumMsMax`. Returns whether the work has ended, with or without success. */
  readonly advance: () => boolean;
  readonly drop: () => void;
};

/** A share of the thread's time. Several pieces of work may use it together. The times that they take are added up. */
export type Share = {
  /**
   * Runs the work in slices, and resolves with its result. Rejects with the error of the work, or with `Dropped` if the share is closed
   * before the work has ended.
   */
  run<T>(work: Sliced<T>): Promise<T>;
  /** Closes the share. The promises of its unfinished work, and of all later work, are rejected with `Dropped`. */
  close(): void;
};

/**
 * The time that a share counts as having used. It is the time that the share's work has taken, but when the share gets work, a time below
 * `Slices.#levelMs` is raised to `#levelMs`.
 */
type Used = { ms: number };

/**
 * Divides the time of a thread between shares. The work of the share that has used the least time continues next, so short work ends soon,
 * even beside long work. A share that gets work counts as having used at least `#levelMs`. Otherwise a share that was idle for long would
 * keep the thread until it had caught up with the others.
 */
export class Slices {
  readonly #begin: () => void;
  readonly #msMax: number;
  #waiting: Waiting[] = [];
  /** How much time the last share to run had used (`Used`) before it ran. */
  #levelMs = 0;
  #scheduled = false;

  /** `begin` is called before the slices of each iteration of the event loop. `msMax`: see `sliceMsMax`. */
  constructor(begin: () => void, msMax = sliceMsMax) {
    this.#begin = begin;
    this.#msMax = msMax;
  }

  share(): Share {
    const used: Used = { ms: 0 };
    let isClosed = false;
    return {
      run: work => (isClosed ? Promise.reject(new Dropped()) : this.#run(work, used)),
      close: () => {
        isClosed = true;
        for (const { drop } of this.#waiting.filter(each => each.used === used)) drop();
        this.#waiting = this.#waiting.filter(each => each.used !== used);
      },
    };
  }

  #run<T>(work: Sliced<T>, used: Used): Promise<T> {
    return new Promise((resolve, reject) => {
      const advance = (): boolean => {
        try {
          const result = quantum(work);
          if (result.done) resolve(result.value);
          return result.done === true;
        } catch (error) {
          reject(error as Error);
          return true;
        }
      };
      used.ms = Math.max(used.ms, this.#levelMs);
      this.#waiting.push({ used, advance, drop: () => reject(new Dropped()) });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #turn(): void {
    const endMs = performance.now() + this.#msMax;
    this.#begin();
    let nowMs = performance.now();
    while (this.#waiting.length > 0) {
      const next = this.#waiting.reduce((a, b) => (b.used.ms < a.used.ms ? b : a));
      this.#levelMs = next.used.ms;
      if (next.advance()) this.#waiting = this.#waiting.filter(each => each !== next);
      const startMs = nowMs;
      nowMs = performance.now();
      next.used.ms += nowMs - startMs;
      if (nowMs >= endMs) return;
    }
  }
}

/** Runs the work to its end, without interruption. */
export function wholly<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Runs the work until it has ended or `quantumMsMax` has passed, but for at least one step. */
function quantum<T>(work: Sliced<T>): IteratorResult<unknown, T> {
  const endMs = performance.now() + quantumMsMax;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}
