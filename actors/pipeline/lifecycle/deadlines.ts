// The deadlines of open runs and of their phases. Deadlines that are due are read from the store; this class keeps only the time of the
// next one.
import { earlier } from '../../../runtime/clock.ts';
import type { JobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { noDeadlines } from '../records/run.ts';
import { type RunDeadline, readRunDeadlineKey, runDeadlineKey, runDeadlinesUpTo } from '../records/run-deadline.ts';
import type { Run } from '../run.ts';

/** The maximum number of deadlines that one turn handles. */
export const duePerTurnMax = 256;

const nothing = new Uint8Array(0);

type DueDeadline = { readonly run: JobId; readonly deadline: RunDeadline };

export class Deadlines {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  /** No deadline of an open run is earlier than this time. Null: there is no deadline. */
  nextUs: number | null;
  /** The earliest deadline that this turn has added; reads do not show it before the commit. */
  #addedUs: number | null = null;

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.nextUs = this.#firstUs();
  }

  /** Begins a turn. */
  renew(): void {
    this.#addedUs = null;
  }

  /** Replaces the deadlines of the run. */
  set(batch: Batch, run: Run, deadlines: readonly RunDeadline[]): void {
    for (const each of run.deadlines) batch.remove('run_deadlines', runDeadlineKey(run.id, each));
    for (const each of deadlines) {
      batch.put('run_deadlines', runDeadlineKey(run.id, each), nothing);
      this.#addedUs = Math.min(this.#addedUs ?? Infinity, each[0]);
      this.nextUs = Math.min(this.nextUs ?? Infinity, each[0]);
    }
    run.deadlines = deadlines.length === 0 ? noDeadlines : deadlines;
  }

  /**
   * Returns the deadlines that have passed, at most `duePerTurnMax`. The caller must remove each one from its run. Deadlines of runs that
   * were set aside are skipped.
   */
  due(nowUs: number): DueDeadline[] {
    if (this.nextUs === null || this.nextUs > nowUs) return [];
    const due: DueDeadline[] = [];
    for (const key of this.#reader.keys('run_deadlines', runDeadlinesUpTo(nowUs))) {
      const found = readRunDeadlineKey(key);
      if (found && !this.#setAside.has('runs', found.run)) due.push(found);
      // `nextUs` is unchanged: the next turn takes the remaining deadlines.
      if (due.length === duePerTurnMax) return due;
    }
    this.nextUs = earlier(this.#firstUs(nowUs), this.#addedUs);
    return due;
  }

  /** Removes one deadline of the run. False: the run does not have it any more. */
  remove(batch: Batch, run: Run, [us, kind]: RunDeadline): boolean {
    const others = run.deadlines.filter(each => each[0] !== us || each[1] !== kind);
    if (others.length === run.deadlines.length) return false;
    this.set(batch, run, others);
    return true;
  }

  /** The time of the first stored deadline or, with `afterUs`, of the first one after that time. Null: no such deadline is stored. */
  #firstUs(afterUs?: number): number | null {
    const from = afterUs === undefined ? {} : { from: runDeadlinesUpTo(afterUs).to };
    for (const key of this.#reader.keys('run_deadlines', from)) {
      const found = readRunDeadlineKey(key);
      if (found) return found.deadline[0];
    }
    return null;
  }
}
