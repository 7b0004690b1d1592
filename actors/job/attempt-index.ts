// A map from jobs to values. A job is found by its block and index in constant time.
import type { OpenBlock } from './records/open.ts';

export class AttemptIndex<T> {
  readonly #byBlock = new Map<OpenBlock, Map<number, T>>();
  size = 0;

  add(open: OpenBlock, index: number, value: T): void {
    let jobs = this.#byBlock.get(open);
    if (!jobs) {
      jobs = new Map();
      this.#byBlock.set(open, jobs);
    }
    jobs.set(index, value);
    this.size++;
  }

  /** Removes the job's value and returns it. Undefined: the job has none. */
  take(open: OpenBlock, index: number): T | undefined {
    const jobs = this.#byBlock.get(open);
    const value = jobs?.get(index);
    if (value === undefined) return undefined;
    jobs!.delete(index);
    if (jobs!.size === 0) this.#byBlock.delete(open);
    this.size--;
    return value;
  }
}
