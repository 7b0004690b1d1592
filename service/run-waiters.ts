// Callers that wait for runs. Answers are written for a few milliseconds at a time, and between these the loop handles sockets: so the
// first callers can send their next calls before the last have their answers.
import { setImmediate as nextLoop } from 'node:timers/promises';
import { formatId, type JobId, parseId } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';

/** Why the waiting ends: the run has settled, or the service stops. */
export type OnRunEnd = (how: 'settled' | 'stopped') => void;

/** Time for answers of runs before the main thread handles sockets again. */
export const answersMsMax = 2;

export class RunWaiters {
  readonly #link: Link;
  readonly #reader: Reader;
  readonly #waiting = new Map<string, Set<OnRunEnd>>();
  /** Runs that settled in this turn of the loop. */
  readonly #settled = new Set<string>();
  readonly #due: OnRunEnd[] = [];
  #telling = false;

  constructor(link: Link, reader: Reader) {
    this.#link = link;
    this.#reader = reader;
  }

  add(id: JobId, onRunEnd: OnRunEnd): void {
    const name = formatId(id);
    // A run can settle before its caller knows the id.
    if (this.#settled.has(name)) this.#tellSoon(onRunEnd);
    else this.#waiting.set(name, (this.#waiting.get(name) ?? new Set()).add(onRunEnd));
  }

  remove(id: JobId, onRunEnd: OnRunEnd): void {
    const name = formatId(id);
    const waiting = this.#waiting.get(name);
    // The ledger keeps watching the run: a call with the same idempotency key may be on its way.
    if (waiting?.delete(onRunEnd) && waiting.size === 0) this.#waiting.delete(name);
  }

  settled(id: JobId): void {
    const name = formatId(id);
    // The reply with the id of this run may be in the same packet, behind this message.
    if (this.#settled.size === 0) setImmediate(() => this.#settled.clear());
    this.#settled.add(name);
    for (const onRunEnd of this.#waiting.get(name) ?? []) this.#tellSoon(onRunEnd);
    this.#waiting.delete(name);
  }

  /** The pipeline actor has been re-created: tells it again which runs have waiting callers. */
  renew(): void {
    for (const name of this.#waiting.keys()) this.#link.tell('pipeline', { kind: 'await_run', id: parseId(name)! });
  }

  /** Ends all waiting, because the service stops. */
  release(): void {
    for (const onRunEnd of this.#due.splice(0)) onRunEnd('settled');
    for (const waiting of this.#waiting.values()) for (const onRunEnd of waiting) onRunEnd('stopped');
    this.#waiting.clear();
  }

  /** After the whole packet has been handled. */
  #tellSoon(onRunEnd: OnRunEnd): void {
    this.#due.push(onRunEnd);
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => void this.#tell());
  }

  async #tell(): Promise<void> {
    this.#reader.refresh();
    let endMs = performance.now() + answersMsMax;
    for (let onRunEnd = this.#due.shift(); onRunEnd; onRunEnd = this.#due.shift()) {
      onRunEnd('settled');
      // The caller reads its tree here.
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
