// Waits for the end of runs by counting in the memory of this process, for peers that have no steps or joins of their
// own.

export class Runs {
  readonly #waiting = new Map<number, () => void>();
  #count = 0;
  #childrenLeft = 0;
  #onChildren: () => void = () => {};

  /** Begins a run under a new number. Resolves when `end` has been called with this number. */
  async run(begin: (run: number) => Promise<unknown>): Promise<void> {
    const run = this.#count++;
    const ended = new Promise<void>(resolve => this.#waiting.set(run, resolve));
    await begin(run);
    await ended;
  }

  end(run: number): void {
    this.#waiting.get(run)?.();
    this.#waiting.delete(run);
  }

  /** Adds children. Resolves when `childEnded` has counted all of them. */
  async children(count: number, add: () => Promise<unknown>): Promise<void> {
    this.#childrenLeft = count;
    const ended = new Promise<void>(resolve => {
      this.#onChildren = resolve;
    });
    await add();
    await ended;
  }

  childEnded(count = 1): void {
    this.#childrenLeft -= count;
    if (this.#childrenLeft === 0) this.#onChildren();
  }
}
