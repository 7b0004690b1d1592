// The callers that wait for jobs and runs. If many jobs settle at once, the main thread notifies their callers for `answersMsMax` at a
// time, and handles sockets in between. So the first callers can send their next calls before the last callers have their answers.
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { IdempotencyKey, SubmitReply } from '../actors/job/protocol.ts';
import { formatId, type JobId, parseId } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';

/** Called when the waiting ends: the job has settled, the service stops, or too many callers wait already. */
export type OnJobEnd = (how: 'settled' | 'stopped' | 'crowded') => void;

/** The maximum number of waiting callers. Further callers are answered at once, before their jobs have settled. */
export const waitersMax = 16_384;
/** The main thread answers waiting callers for about this long before it handles sockets again. */
export const answersMsMax = 2;

export class JobWaiters {
  readonly #link: Link;
  readonly #reader: Reader;
  readonly #waiting = new Map<string, Set<OnJobEnd>>();
  /** The jobs that were reported as settled in this iteration of the event loop. */
  readonly #settled = new Set<string>();
  readonly #due: OnJobEnd[] = [];
  /** The number of waiting callers, including those whose submissions have no reply yet. */
  #count = 0;
  /** How many of the submissions without a reply have an idempotency key. Each of these may get the id of an earlier job. */
  #keyed = 0;
  #notifying = false;
  /** Whether the waiting of all callers has ended, because the service stops. */
  #isReleased = false;

  constructor(link: Link, reader: Reader) {
    this.#link = link;
    this.#reader = reader;
  }

  /**
   * Submits a job whose caller waits. If the job is accepted, `onJobEnd` is called once: after the promise has resolved, but possibly before
   * code that awaits the promise continues. After `leave`, `onJobEnd` is called only if the call was already due.
   */
  async start(
    { idempotency }: { readonly idempotency?: IdempotencyKey },
    submit: (watch: boolean) => Promise<SubmitReply>,
    onJobEnd: OnJobEnd,
  ): Promise<SubmitReply> {
    const watch = this.#count < waitersMax;
    if (watch) this.#count++;
    if (watch && idempotency) this.#keyed++;
    let reply: SubmitReply | null = null;
    try {
      reply = await submit(watch);
    } finally {
      if (watch && idempotency) this.#keyed--;
      if (watch && reply?.kind !== 'accepted') this.#count--;
    }
    if (reply.kind === 'accepted') {
      if (watch) this.#add(reply.id, onJobEnd);
      else queueMicrotask(() => onJobEnd('crowded'));
    }
    return reply;
  }

  /**
   * Waits for a job that is on disk. `onJobEnd` is called once; soon, with `crowded`, if too many callers wait already. After `leave`, it is
   * called only if the call was already due.
   */
  join(id: JobId, onJobEnd: OnJobEnd): void {
    if (this.#count >= waitersMax) {
      queueMicrotask(() => onJobEnd('crowded'));
      return;
    }
    this.#count++;
    this.#add(id, onJobEnd);
    this.#link.tell('job', { kind: 'await_job', id });
  }

  #add(id: JobId, onJobEnd: OnJobEnd): void {
    const name = formatId(id);
    // A job can settle before its caller knows its id.
    if (this.#settled.has(name)) this.#notifySoon(onJobEnd);
    else if (this.#isReleased) queueMicrotask(() => onJobEnd('stopped'));
    else this.#waiting.set(name, (this.#waiting.get(name) ?? new Set()).add(onJobEnd));
  }

  /** Called when a caller no longer waits. */
  leave(id: JobId, onJobEnd: OnJobEnd): void {
    const name = formatId(id);
    const waiting = this.#waiting.get(name);
    if (!waiting?.delete(onJobEnd)) return;
    this.#count--;
    if (waiting.size > 0) return;
    this.#waiting.delete(name);
    // The reply to a submission with an idempotency key may name this job. So while such a reply is missing, the ledger keeps watching the job.
    if (this.#keyed === 0) this.#link.tell('job', { kind: 'forget_job', id });
  }

  settled(id: JobId): void {
    const name = formatId(id);
    // The reply that tells a caller the id of this job may be in the same packet, after this message. So the id is kept until the packet is handled.
    if (this.#settled.size === 0) setImmediate(() => this.#settled.clear());
    this.#settled.add(name);
    for (const onJobEnd of this.#waiting.get(name) ?? []) this.#notifySoon(onJobEnd);
    this.#waiting.delete(name);
  }

  /** Called when the ledger's actors have restarted. Names the jobs that callers wait for to the new actors. */
  renew(): void {
    // The packet with this message may also have replies whose callers then begin to wait. So this waits until the whole packet has been
    // handled.
    setImmediate(() => {
      for (const name of this.#waiting.keys()) this.#link.tell('job', { kind: 'await_job', id: parseId(name)! });
    });
  }

  /** Called when the service stops: ends the waiting of all callers. Later callers do not wait. */
  release(): void {
    this.#isReleased = true;
    // The jobs of the callers in `#due` may have settled after the reader's last refresh.
    this.#reader.refresh();
    for (const onJobEnd of this.#due.splice(0)) onJobEnd('settled');
    for (const waiting of this.#waiting.values()) for (const onJobEnd of waiting) onJobEnd('stopped');
    this.#waiting.clear();
  }

  /** Tells the caller that its job has settled, once all messages that arrived together have been handled. */
  #notifySoon(onJobEnd: OnJobEnd): void {
    this.#count--;
    this.#due.push(onJobEnd);
    if (this.#notifying) return;
    this.#notifying = true;
    queueMicrotask(() => void this.#tell());
  }

  async #tell(): Promise<void> {
    this.#reader.refresh();
    let endMs = performance.now() + answersMsMax;
    for (let onJobEnd = this.#due.shift(); onJobEnd; onJobEnd = this.#due.shift()) {
      onJobEnd('settled');
      // Lets the caller's code continue now. That code reads the job, or the tree of the run, and writes the answer.
      await undefined;
      if (performance.now() < endMs) continue;
      await nextLoop();
      this.#link.flush();
      this.#reader.refresh();
      endMs = performance.now() + answersMsMax;
    }
    this.#notifying = false;
  }
}
