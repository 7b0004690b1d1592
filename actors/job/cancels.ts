// The stored cancels of unsettled jobs, called marks. If there are none, no lookup costs anything.

import type { JobId } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { type Cancel, decodeCancel, putMark, putNote, readMarks } from './records/cancel.ts';
import { keyText } from './records/open.ts';

/** The run that called this one; null: none, or that run has ended. */
export type CallerOf = (run: JobId) => JobId | null;

/** The maximum number of cached lookups of runs. */
const knownRunsMax = 16_384;

type Mark = { readonly id: JobId; readonly isRun: boolean; cancel: Cancel; isDirty: boolean };

export class Cancels {
  readonly #marks = new Map<string, Mark>();
  #runs = 0;
  /** By run: the marked run that contains it, or the run itself if it is marked. */
  readonly #known = new Map<string, JobId | null>();
  readonly #callerOf: CallerOf;

  constructor(reader: Reader, setAside: SetAside, isRun: (id: JobId) => boolean, callerOf: CallerOf) {
    this.#callerOf = callerOf;
    for (const [id, value] of readMarks(reader)) {
      const cancel = setAside.read('cancels', id, () => decodeCancel(value));
      if (cancel) this.#keep({ id, isRun: isRun(id), cancel, isDirty: false });
    }
  }

  get isEmpty(): boolean {
    return this.#marks.size === 0;
  }

  /** Whether a run is marked. */
  get haveRuns(): boolean {
    return this.#runs > 0;
  }

  /** The marked runs. */
  get runs(): readonly JobId[] {
    return [...this.#marks.values()].flatMap(({ id, isRun }) => (isRun ? [id] : []));
  }

  of(id: JobId): Cancel | undefined {
    return this.#marks.get(keyText(id))?.cancel;
  }

  mark(turn: Turn, id: JobId, cancel: Cancel, isRun: boolean): void {
    putMark(turn.batch, id, cancel);
    this.#keep({ id, isRun, cancel, isDirty: false });
  }

  #keep(mark: Mark): void {
    this.#marks.set(keyText(mark.id), mark);
    if (!mark.isRun) return;
    this.#runs++;
    this.#known.clear();
  }

  /** The job has ended: its mark, if any, becomes a note. */
  ended(turn: Turn, id: JobId): void {
    const name = keyText(id);
    const mark = this.#marks.get(name);
    if (!mark) return;
    this.#marks.delete(name);
    putNote(turn.batch, id, mark.cancel);
    if (!mark.isRun) return;
    this.#runs--;
    this.#known.clear();
  }

  /** The marked run that this run is or is inside. Null: there is none. */
  around(run: JobId): JobId | null {
    if (this.#runs === 0) return null;
    const name = keyText(run);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const caller = this.#marks.has(name) ? null : this.#callerOf(run);
    const found = this.#marks.has(name) ? run : caller && this.around(caller);
    if (this.#known.size >= knownRunsMax) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }

  /** Counts jobs and elements of a marked run that never started. */
  countNotStarted(run: JobId, jobs: number, elements: number): void {
    const mark = this.#marks.get(keyText(run));
    if (!mark) return;
    const before = mark.cancel.notStarted;
    mark.cancel = { ...mark.cancel, notStarted: { jobs: before.jobs + jobs, elements: before.elements + elements } };
    mark.isDirty = true;
  }

  /** Writes the counts that changed in this turn. */
  close(turn: Turn): void {
    if (this.#runs === 0) return;
    for (const mark of this.#marks.values()) {
      if (!mark.isDirty) continue;
      mark.isDirty = false;
      putMark(turn.batch, mark.id, mark.cancel);
    }
  }
}
