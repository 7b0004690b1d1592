// A binary heap of the times at which schedules are due, soonest first. If a schedule gets another time, its old entry stays in the
// heap, and is dropped when it comes first.

/** An element of the heap. `nextMs`: when the element is due; Infinity: never. */
export type Due = { nextMs: number };

type Entry<T> = { readonly atMs: number; readonly due: T };

export class DueHeap<T extends Due> {
  readonly #heap: Entry<T>[] = [];

  /** When the earliest element is due. Infinity: no element will be due. */
  get nextMs(): number {
    this.#dropStale();
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Sets the time at which `due` is due; Infinity: never. */
  set(due: T, atMs: number): void {
    if (due.nextMs === atMs) return;
    due.nextMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const heap = this.#heap;
    const entry = { atMs, due };
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.atMs <= atMs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Removes and returns the element with the earliest time, if this time has come. Undefined: no element is due. */
  pop(nowMs: number): T | undefined {
    if (this.nextMs > nowMs) return undefined;
    const { due } = this.#removeFirst();
    due.nextMs = Number.POSITIVE_INFINITY;
    return due;
  }

  #dropStale(): void {
    for (let first = this.#heap[0]; first && first.due.nextMs !== first.atMs; first = this.#heap[0])
      this.#removeFirst();
  }

  #removeFirst(): Entry<T> {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (last === first) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++;
      if (heap[child]!.atMs >= last.atMs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
