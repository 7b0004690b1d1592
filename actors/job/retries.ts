// Jobs that wait for the time of their next attempt, soonest first.
import type { OpenAttempt } from './open-attempt.ts';

/** A binary heap by due time. */
export class Retries {
  readonly #heap: OpenAttempt[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get nextDueUs(): number | null {
    return this.#heap[0]?.dueUs ?? null;
  }

  push(item: OpenAttempt): void {
    const heap = this.#heap;
    let at = heap.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.dueUs <= item.dueUs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = item;
  }

  /** Removes and returns the soonest one, if it is due. */
  popDue(nowUs: number): OpenAttempt | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (!first || first.dueUs > nowUs) return undefined;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  /** Removes the wanted ones and returns them. */
  take(wanted: (item: OpenAttempt) => boolean): OpenAttempt[] {
    const taken: OpenAttempt[] = [];
    const kept: OpenAttempt[] = [];
    for (const item of this.#heap) (wanted(item) ? taken : kept).push(item);
    if (taken.length === 0) return taken;
    this.#heap.length = 0;
    for (const item of kept) this.push(item);
    return taken;
  }

  #sink(item: OpenAttempt): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.dueUs < heap[child]!.dueUs) child++;
      if (heap[child]!.dueUs >= item.dueUs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = item;
  }
}
