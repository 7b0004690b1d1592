// Threads that load their code before they are given work.
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';

/** Starts threads that run the same code. That code obtains its data from `givenData`. */
export class ThreadKind {
  readonly name: string;
  readonly #code: URL;
  readonly #limits: ResourceLimits;
  #spare: Worker | null = null;

  /** `limits`: the maximum resources of a thread. A thread that exceeds them is ended. */
  constructor(name: string, code: URL, limits: ResourceLimits = {}) {
    this.name = name;
    this.#code = code;
    this.#limits = limits;
  }

  /** Starts a spare thread that loads its code while the caller does other things. A spare thread does not keep the process alive. */
  prepare(): void {
    this.#spare ??= this.#load();
    this.#spare.unref();
  }

  /** Gives this data to the prepared thread, or to a new one if none is prepared. */
  start(data: object): Worker {
    const worker = this.#spare ?? this.#load();
    this.#spare = null;
    worker.ref();
    worker.postMessage(data);
    return worker;
  }

  /**
   * Ends the prepared thread, if there is one, once it has loaded its code. A process aborts if it exits while a thread loads native code.
   */
  async discard(): Promise<void> {
    const worker = this.#spare;
    this.#spare = null;
    if (worker === null) return;
    worker.ref();
    worker.postMessage(null);
    await once(worker, 'exit').catch(() => {});
  }

  #load(): Worker {
    return new Worker(this.#code, { resourceLimits: this.#limits });
  }
}

/**
 * Must be called by the code of a thread that a `ThreadKind` has started. Resolves with the data that `start` was given. Ends the
 * thread if it was discarded.
 */
export function givenData<T>(): Promise<T> {
  printWarnings();
  return new Promise(resolve => parentPort!.once('message', data => (data === null ? process.exit() : resolve(data))));
}

/**
 * Lowers the priority of the calling thread, if the system allows it. Works only on Linux: on other systems, the call would affect the whole
 * process, so nothing is done.
 */
export function yieldToOthers(niceness: number): void {
  try {
    if (process.platform === 'linux') setPriority(niceness);
  } catch {}
}

/**
 * Prints Node's warnings through `process.stderr`, which the main thread writes. If the log is JSON, the main thread makes log lines of
 * them. Node itself would write the warnings directly to the file descriptor, between the lines of the log.
 */
function printWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => void process.stderr.write(`${name}: ${message}\n`));
}
