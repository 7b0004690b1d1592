// Long work in short slices: between two of them the thread's loop turns, and nothing is held open.

/** Work that yields where it can be interrupted; what it yields is ignored. It holds no scan open over a yield. */
export type Sliced<T> = Generator<unknown, T, void>;

/** The time of all slices in one turn of the loop. */
export const sliceMsMax = 4;
/** The time of one piece of work, before the next one has its turn. */
const quantumMsMax = 1;

/** Its share was closed before it was done. */
export class Dropped extends Error {}

/** The time that the work of one share has had. */
type Used = { ms: number };

type Waiting = {
  readonly used: Used;
  /** Runs on for one quantum. True when it is over, well or not. */
  readonly advance: () => boolean;
  readonly drop: () => void;
};

/** Work that belongs together, and counts as one. */
export type Share = {
  /** Rejects with `Dropped` when the share is closed meanwhile. */
  run<T>(work: Sliced<T>): Promise<T>;
  /** Drops what is not done yet. */
  close(): void;
};

/**
 * Divides a thread between several pieces of sliced work. The work that has had the least time is next, and new work starts
 * at that level, so short work ends soon even beside long work.
 */
export class Slices {
  readonly #begin: () => void;
  #waiting: Waiting[] = [];
  /** The time that the one whose turn it is has had. */
  #levelMs = 0;
  #scheduled = false;

  /** `begin` is called once in each turn of the loop that has slices, before them. */
  constructor(begin: () => void) {
    this.#begin = begin;
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
    const endMs = performance.now() + sliceMsMax;
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

/** At least one step. */
function quantum<T>(work: Sliced<T>): IteratorResult<unknown, T> {
  const endMs = performance.now() + quantumMsMax;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}
