// The jobs and runs that callers wait for. The main thread receives a message when one of them settles.
import { formatId, type JobId } from '../../runtime/ids.ts';
import { readable } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { AwaitedJobs, JobSettled } from './protocol.ts';
import { latestAttempt } from './records/attempts.ts';
import { findBlock } from './records/block.ts';

export class Awaited implements AwaitedJobs {
  readonly #reader: Reader;
  readonly #ids = new Set<string>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  add(id: JobId): void {
    this.#ids.add(formatId(id));
  }

  addKnown(id: JobId, turn: Turn): void {
    this.add(id);
    // Checked after the commit: until then, reads of the store do not show that a job has settled in this turn.
    turn.after(() => {
      if (this.#hasSettled(id)) this.ended(id, turn);
    });
  }

  /** Called when no caller waits for the job any more. */
  remove(id: JobId): void {
    this.#ids.delete(formatId(id));
  }

  /**
   * Reports the end of a job or run to the main thread, if callers wait for this job or run. Must be called in the turn in which the job or
   * run settles. `addKnown` also calls this method, after a commit.
   */
  ended(id: JobId, turn: Turn): void {
    if (this.#ids.delete(formatId(id))) turn.tell('edge', { kind: 'job_settled', id } satisfies JobSettled);
  }

  /** Whether the job has settled, does not exist, or has an unusable record. */
  #hasSettled(id: JobId): boolean {
    const hasSettled = readable(
      () => latestAttempt(this.#reader, id)?.attempt.final ?? findBlock(this.#reader, id) === undefined,
    );
    return hasSettled ?? true;
  }
}
