// Threads whose code is loaded before there is anything for them to do.
import { parentPort, Worker } from 'node:worker_threads';

/** Starts threads of one kind. Their code takes its data from `givenData`. */
export class ThreadKind {
  readonly #code: URL;
  #spare: Worker | null = null;

  constructor(code: URL) {
    this.#code = code;
  }

  /** Has a thread load its code, while the caller still does other things. It keeps no process alive. */
  prepare(): void {
    this.#spare ??= new Worker(this.#code);
    this.#spare.unref();
  }

  /** A running thread: the prepared one where there is one. */
  start(data: object): Worker {
    const worker = this.#spare ?? new Worker(this.#code);
    this.#spare = null;
    worker.ref();
    worker.postMessage(data);
    return worker;
  }
}

/** In such a thread: what it was started with. */
export function givenData<T>(): Promise<T> {
  return new Promise(resolve => parentPort!.once('message', resolve));
}
