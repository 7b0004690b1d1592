// Callers that wait for runs. They are told some milliseconds at a time, with a look at the sockets between: the first are
// back with their next calls, and the ledger at work, before the last have read their trees.
import { setImmediate as nextLoop } from 'node:timers/promises';
import { formatId, type JobId, parseId } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';

/** Why a caller need not wait for its run any longer. */
export type OnOver = (how: 'settled' | 'stopped') => void;

/** Of the main thread, for the answers of runs, before it looks at the sockets. */
export const answersMsMax = 2;

export class RunWaiters {
  readonly #link: Link;
  readonly #reader: Reader;
  readonly #waiting = new Map<string, Set<OnOver>>();
  /** Runs that settled in this turn of the loop. */
  readonly #settled = new Set<string>();
  readonly #due: OnOver[] = [];
  #telling = false;

  constructor(link: Link, reader: Reader) {
    this.#link = link;
    this.#reader = reader;
  }

  add(id: JobId, onOver: OnOver): void {
    const name = formatId(id);
    // A run may settle before its caller knows the id.
    if (this.#settled.has(name)) this.#tellSoon(onOver);
    else this.#waiting.set(name, (this.#waiting.get(name) ?? new Set()).add(onOver));
  }

  remove(id: JobId, onOver: OnOver): void {
    const name = formatId(id);
    const waiting = this.#waiting.get(name);
    // The ledger goes on watching: another caller may be on its way to it with the same key.
    if (waiting?.delete(onOver) && waiting.size === 0) this.#waiting.delete(name);
  }

  settled(id: JobId): void {
    const name = formatId(id);
    // Whoever has joined in since may have the reply that names the run in this same packet.
    if (this.#settled.size === 0) setImmediate(() => this.#settled.clear());
    this.#settled.add(name);
    for (const onOver of this.#waiting.get(name) ?? []) this.#tellSoon(onOver);
    this.#waiting.delete(name);
  }

  /** The pipeline actor was made anew: it is told again what is waited for. */
  renew(): void {
    for (const name of this.#waiting.keys()) this.#link.tell('pipeline', { kind: 'await_run', id: parseId(name)! });
  }

  /** The service stops: nobody waits any longer. */
  release(): void {
    for (const onOver of this.#due.splice(0)) onOver('settled');
    for (const waiting of this.#waiting.values()) for (const onOver of waiting) onOver('stopped');
    this.#waiting.clear();
  }

  /** When the whole packet has been handed on. */
  #tellSoon(onOver: OnOver): void {
    this.#due.push(onOver);
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => void this.#tell());
  }

  async #tell(): Promise<void> {
    this.#reader.refresh();
    let endMs = performance.now() + answersMsMax;
    for (let onOver = this.#due.shift(); onOver; onOver = this.#due.shift()) {
      onOver('settled');
      // Here it reads its tree.
      await undefined;
      if (performance.now() < endMs) continue;
      await nextLoop();
      this.#link.flush();
      this.#reader.refresh();
      endMs = performance.now() + answersMsMax;
    }
    this.#telling = false;
  }
}
