// Threads whose code is loaded before there is anything for them to do.
import { setPriority } from 'node:os';
import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';

/** Starts threads of one kind. Their code takes its data from `givenData`. */
export class ThreadKind {
  readonly name: string;
  readonly #code: URL;
  readonly #limits: ResourceLimits;
  #spare: Worker | null = null;

  /** `limits`: what a thread may use; one that needs more ends. */
  constructor(name: string, code: URL, limits: ResourceLimits = {}) {
    this.name = name;
    this.#code = code;
    this.#limits = limits;
  }

  /** Has a thread load its code, while the caller still does other things. It keeps no process alive. */
  prepare(): void {
    this.#spare ??= this.#load();
    this.#spare.unref();
  }

  /** A running thread: the prepared one where there is one. */
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

/** In such a thread: what it was started with. */
export function givenData<T>(): Promise<T> {
  printWarnings();
  return new Promise(resolve => parentPort!.once('message', resolve));
}

/** Lowers the priority of the calling thread alone, on systems that have priorities of threads. */
export function yieldToOthers(niceness: number): void {
  try {
    if (process.platform === 'linux') setPriority(niceness);
  } catch {}
}

/** Node itself would write its warnings past every stream, between the lines of the log. The log takes what is printed. */
function printWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => void process.stderr.write(`${name}: ${message}\n`));
}
