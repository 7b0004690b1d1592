// Threads that load their code before they are given work.
import { setPriority } from 'node:os';
import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';

/** Starts threads of one kind. Their code obtains its data from `givenData`. */
export class ThreadKind {
  readonly name: string;
  readonly #code: URL;
  readonly #limits: ResourceLimits;
  #spare: Worker | null = null;

  /** `limits`: the resources of a thread; exceeding them ends it. */
  constructor(name: string, code: URL, limits: ResourceLimits = {}) {
    this.name = name;
    this.#code = code;
    this.#limits = limits;
  }

  /** Makes a thread load its code while the caller does other things. It does not keep the process alive. */
  prepare(): void {
    this.#spare ??= this.#load();
    this.#spare.unref();
  }

  /** Starts a thread with this data, or the prepared one if there is one. */
  start(data: object): Worker {
    const worker = this.#spare ?? this.#load();
    this.#spare = null;
    worker.ref();
    worker.postMessage(data);
    return worker;
  }

  #load(): Worker {
    return new Worker(this.#code, { resourceLimits: this.#limits });
  }
}

/** Called in such a thread: its start data. */
export function givenData<T>(): Promise<T> {
  printWarnings();
  return new Promise(resolve => parentPort!.once('message', resolve));
}

/** Lowers the priority of the calling thread only, if the system has priorities of threads. */
export function yieldToOthers(niceness: number): void {
  try {
    if (process.platform === 'linux') setPriority(niceness);
  } catch {}
}

/** Node would write its warnings directly to the descriptor, between the lines of the log. Printed warnings go through the log. */
function printWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => void process.stderr.write(`${name}: ${message}\n`));
}
