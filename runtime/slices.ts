// Long looks at the store in short slices: between two of them the thread's loop turns, and nothing is held open.

/** Work that yields where it may be put off; what it yields is ignored. It holds no scan open over a yield. */
export type Sliced<T> = Generator<unknown, T, void>;

/** Of a turn of the loop, for all slices together. */
export const sliceMsMax = 4;
/** Of one piece of work, before the next one has its turn. */
const quantumMsMax = 1;

/** Runs the work; a promise only where one slice is not enough. `begin` is called before each slice. */
export function inSlices<T>(work: Sliced<T>, begin: () => void): T | Promise<T> {
  begin();
  const first = slice(work, sliceMsMax);
  if (first.done) return first.value;
  return new Promise((resolve, reject) => {
    const next = (): void => {
      try {
        begin();
        const step = slice(work, sliceMsMax);
        if (step.done) resolve(step.value);
        else setImmediate(next);
      } catch (error) {
        reject(error as Error);
      }
    };
    setImmediate(next);
  });
}

/** At least one step. */
function slice<T>(work: Sliced<T>, msMax: number): IteratorResult<unknown, T> {
  const endMs = performance.now() + msMax;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}

/** Its share was closed before it was done. */
export class Dropped extends Error {}

type Waiting = {
  readonly share: Share;
  /** Runs on for one quantum. True when it is over, well or not. */
  readonly advance: () => boolean;
  readonly drop: () => void;
};

/**
 * Divides a thread between several pieces of sliced work. The work that has had the least time is next, and new work starts
 * at that level, so short work ends soon even beside long work.
 */
export class Slices {
  readonly #begin: () => void;
  readonly #waiting: Waiting[] = [];
  /** The time that the one whose turn it is has had. */
  #levelMs = 0;
  #scheduled = false;

  /** `begin` is called once in each turn of the loop that has slices, before them. */
  constructor(begin: () => void) {
    this.#begin = begin;
  }

  /** What belongs together, and counts as one. */
  share(): Share {
    return new Share(waiting => this.#add(waiting), this.#remove);
  }

  #add(waiting: Waiting): void {
    const { share } = waiting;
    share.usedMs = Math.max(share.usedMs, this.#levelMs);
    this.#waiting.push(waiting);
    this.#schedule();
  }

  readonly #remove = (share: Share): void => {
    for (const waiting of this.#waiting.filter(each => each.share === share)) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.drop();
    }
  };

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
      const next = this.#waiting.reduce((a, b) => (b.share.usedMs < a.share.usedMs ? b : a));
      this.#levelMs = next.share.usedMs;
      if (next.advance()) this.#waiting.splice(this.#waiting.indexOf(next), 1);
      const startMs = nowMs;
      nowMs = performance.now();
      next.share.usedMs += nowMs - startMs;
      if (nowMs >= endMs) return;
    }
  }
}

export class Share {
  usedMs = 0;
  readonly #add: (waiting: Waiting) => void;
  readonly #remove: (share: Share) => void;
  #closed = false;

  constructor(add: (waiting: Waiting) => void, remove: (share: Share) => void) {
    this.#add = add;
    this.#remove = remove;
  }

  /** Rejects with `Dropped` when the share is closed meanwhile. */
  run<T>(work: Sliced<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Dropped());
    return new Promise((resolve, reject) => {
      const advance = (): boolean => {
        try {
          const step = slice(work, quantumMsMax);
          if (step.done) resolve(step.value);
          return step.done === true;
        } catch (error) {
          reject(error as Error);
          return true;
        }
      };
      this.#add({ share: this, advance, drop: () => reject(new Dropped()) });
    });
  }

  /** What is still to be done of it is dropped. */
  close(): void {
    this.#closed = true;
    this.#remove(this);
  }
}
