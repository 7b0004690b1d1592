/** Limits how many pieces of asynchronous work run at a time. Further ones wait, and begin in the order in which they were given. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(max: number) {
    this.#free = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>(begin => void this.#waiting.push(begin));
    try {
      return await work();
    } finally {
      const begin = this.#waiting.shift();
      if (begin) begin();
      else this.#free++;
    }
  }
}
