// First-in, first-out queues in which adding and taking an item are fast, however long the queue is.
import { AttemptIndex } from '../attempt-index.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { OpenBlock } from '../records/open.ts';

export class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Items that are removed meanwhile may still be among the next ones. */
  *[Symbol.iterator](): Iterator<T> {
    const items = this.#items;
    for (let at = this.#head; at < items.length; at++) yield items[at]!;
  }

  /** Removes all other items. */
  keepOnly(isKept: (item: T) => boolean): void {
    this.#items = [...this].filter(isKept);
    this.#head = 0;
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

type Place = { readonly job: OpenAttempt; before: Place | null; after: Place | null };

/** A queue, as a linked list, from which any attempt can be removed. */
export class AttemptQueue {
  #first: Place | null = null;
  #last: Place | null = null;
  readonly #index = new AttemptIndex<Place>();

  get length(): number {
    return this.#index.size;
  }

  push(job: OpenAttempt): void {
    const place: Place = { job, before: this.#last, after: null };
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
    this.#index.add(job.open, job.index, place);
  }

  peek(): OpenAttempt | undefined {
    return this.#first?.job;
  }

  *[Symbol.iterator](): Iterator<OpenAttempt> {
    for (let place = this.#first; place; place = place.after) yield place.job;
  }

  shift(): OpenAttempt | undefined {
    return this.#first ? this.remove(this.#first.job.open, this.#first.job.index) : undefined;
  }

  remove(open: OpenBlock, index: number): OpenAttempt | undefined {
    const place = this.#index.take(open, index);
    if (!place) return undefined;
    const { job, before, after } = place;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    return job;
  }
}
