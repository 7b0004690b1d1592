// The deadlines of open runs and of their phases. Deadlines that are due are read from the store; this class keeps only the time of the
// next one.
import { keyAfter } from '../../../runtime/bytes.ts';
import { earlier } from '../../../runtime/clock.ts';
import type { JobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { noDeadlines } from '../records/run.ts';
import { type RunDeadline, readRunDeadlineKey, runDeadlineKey, runDeadlinesUpTo } from '../records/run-deadline.ts';
import type { Run } from '../run.ts';

/** A turn handles at least this many of the deadlines that have passed, even if it has no time left. */
const duePerTurnMin = 256;
const duePerScan = 64;

const nothing = new Uint8Array(0);

type DueDeadline = { readonly run: JobId; readonly deadline: RunDeadline };

export class Deadlines {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  /** No deadline of an open run is earlier than this time. Null: there is no deadline. */
  nextUs: number | null;
  /** The earliest deadline that this turn has added; reads do not show it before the commit. */
  #addedUs: number | null = null;
  /** Whether this turn has read the deadlines that have passed. */
  #isRead = false;

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.nextUs = this.#firstUs();
  }

  /** Begins a turn. */
  renew(): void {
    this.#addedUs = null;
    this.#isRead = false;
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
   * The deadlines that have passed, until the turn is spent. The caller must remove each one from its run. Deadlines of runs that were set
   * aside are skipped. A turn reads them only once, because reads of the store do not show the turn's writes.
   */
  *due(turn: Pick<Turn, 'nowUs' | 'isSpent'>): Iterable<DueDeadline> {
    if (this.#isRead || this.nextUs === null || this.nextUs > turn.nowUs) return;
    this.#isRead = true;
    let from: Uint8Array | undefined;
    let taken = 0;
    for (;;) {
      const range = { ...(from && { from }), ...runDeadlinesUpTo(turn.nowUs), limit: duePerScan };
      const keys = Array.from(this.#reader.keys('run_deadlines', range), key => Buffer.from(key));
      for (const key of keys) {
        const found = readRunDeadlineKey(key);
        if (!found || this.#setAside.has('runs', found.run)) continue;
        // `nextUs` is unchanged: the next turn takes the remaining deadlines.
        if (taken >= duePerTurnMin && turn.isSpent) return;
        taken++;
        yield found;
      }
      if (keys.length < duePerScan) break;
      from = keyAfter(keys.at(-1)!);
    }
    this.nextUs = earlier(this.#firstUs(turn.nowUs), this.#addedUs);
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
