// Jobs that wait for the time of their next attempt, soonest first.
import { AttemptIndex } from '../attempt-index.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { OpenBlock } from '../records/open.ts';

/** A waiting job, and its position in the heap. */
type Item = { readonly job: OpenAttempt; at: number };

/** A binary heap by due time, from which any job can be removed. */
export class Retries {
  readonly #heap: Item[] = [];
  readonly #index = new AttemptIndex<Item>();

  get size(): number {
    return this.#heap.length;
  }

  get nextDueUs(): number | null {
    return this.#heap[0]?.job.dueUs ?? null;
  }

  push(job: OpenAttempt): void {
    const item = { job, at: 0 };
    this.#index.add(job.open, job.index, item);
    this.#heap.push(item);
    this.#rise(item, this.#heap.length - 1);
  }

  /** Removes and returns the job with the earliest time, if this time has come. */
  popDue(nowUs: number): OpenAttempt | undefined {
    const first = this.#heap[0]?.job;
    return first && first.dueUs <= nowUs ? this.remove(first.open, first.index) : undefined;
  }

  /** Removes and returns the next attempt of a job. Undefined: the job does not wait for the time of an attempt. */
  remove(open: OpenBlock, index: number): OpenAttempt | undefined {
    const item = this.#index.take(open, index);
    if (!item) return undefined;
    const last = this.#heap.pop()!;
    if (last !== item) {
      // The last item takes the free place, and then moves to its position.
      if (last.job.dueUs < item.job.dueUs) this.#rise(last, item.at);
      else this.#sink(last, item.at);
    }
    return item.job;
  }

  /** Moves the item from this position towards the first one, as far as the order requires. */
  #rise(item: Item, from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#heap[parent]!.job.dueUs <= item.job.dueUs) break;
      this.#put(this.#heap[parent]!, at);
      at = parent;
    }
    this.#put(item, at);
  }

  /** Moves the item from this position away from the first one, as far as the order requires. */
  #sink(item: Item, from: number): void {
    const heap = this.#heap;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.job.dueUs < heap[child]!.job.dueUs) child++;
      if (heap[child]!.job.dueUs >= item.job.dueUs) break;
      this.#put(heap[child]!, at);
      at = child;
    }
    this.#put(item, at);
  }

  #put(item: Item, at: number): void {
    this.#heap[at] = item;
    item.at = at;
  }
}
