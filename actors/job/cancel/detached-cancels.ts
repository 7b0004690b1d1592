// Detached cancels of runs. Such a cancel covers its run, and every run that an event of a covered run's job starts (`starterOf` in
// records/cancel.ts). An open covered run gets its own mark (cancels.ts) at its first lookup. The walk through its tree (cancelling.ts)
// looks up the covered runs that nothing else has looked up.
import { blockOf, type JobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import {
  type Cancel,
  decodeCancel,
  groupIn,
  putDetached,
  readDetached,
  removeDetached,
  starterOf,
} from '../records/cancel.ts';
import type { JobGroup } from '../records/job.ts';
import { keyText } from '../records/open.ts';

/** The maximum number of detached cancels that one turn checks for completion. */
const examinedPerTurnMax = 64;

/** The origin of an open run: the job that caused it (`parent`), the run that called it (`run`), and the phase of that run (`phase`). */
export type BegunRun = Pick<JobGroup, 'root' | 'parent' | 'hooked' | 'phase'> & {
  readonly run: { readonly run: JobId } | null;
};

type Detached = { readonly run: JobId; readonly root: JobId; readonly cancel: Cancel };

export class DetachedCancels {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  /** Returns the origin of an open run that may not be stored yet. Null: the run is a root, is not open, or the store has its origin. */
  readonly #begun: (run: JobId) => BegunRun | null;
  readonly #cancels = new Map<string, Detached>();
  /** The number of detached cancels per tree, by root. */
  readonly #roots = new Map<string, number>();

  constructor(reader: Reader, setAside: SetAside, begun: (run: JobId) => BegunRun | null) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.#begun = begun;
    for (const [run, value] of readDetached(reader)) {
      const cancel = setAside.read('cancels', run, () => decodeCancel(value));
      if (cancel) this.#keep(run, cancel);
    }
  }

  get size(): number {
    return this.#cancels.size;
  }

  get runs(): readonly JobId[] {
    return Array.from(this.#cancels.values(), ({ run }) => run);
  }

  of(run: JobId): Cancel | undefined {
    return this.#cancels.get(keyText(run))?.cancel;
  }

  add(turn: Turn, run: JobId, cancel: Cancel): void {
    putDetached(turn.batch, run, cancel);
    this.#keep(run, cancel);
  }

  #keep(run: JobId, cancel: Cancel): void {
    const root = this.#groupOf(run)?.root ?? run;
    this.#cancels.set(keyText(run), { run, root, cancel });
    this.#roots.set(keyText(root), (this.#roots.get(keyText(root)) ?? 0) + 1);
  }

  /** The nearest run with a detached cancel among this run and the runs above it (`#next`). Null: none of them has one. */
  above(run: JobId): JobId | null {
    if (this.#cancels.size === 0) return null;
    const { root } = this.#originOf(run) ?? {};
    if (!this.#roots.has(keyText(root ?? run))) return null;
    return this.#find(run, name => this.#cancels.has(name));
  }

  /** Whether the detached cancel of `outer` covers the run. */
  covers(outer: JobId, run: JobId): boolean {
    const wanted = keyText(outer);
    return this.#cancels.has(wanted) && this.#find(run, name => name === wanted) !== null;
  }

  /** The first wanted run among this run and the runs above it (`#next`). Null: none of them is wanted. */
  #find(run: JobId, isWanted: (name: string) => boolean): JobId | null {
    for (let at: JobId | null = run; at; at = this.#next(at)) if (isWanted(keyText(at))) return at;
    return null;
  }

  /** Whether a detached cancel would cover a run that an event of this job starts. */
  coversEventsOf(job: JobId, root: JobId): boolean {
    if (this.#cancels.size === 0 || !this.#roots.has(keyText(root))) return false;
    const group = this.#groupOf(job);
    return group?.run != null && group.phase !== 'finally' && this.above(group.run.run) !== null;
  }

  /**
   * The run above this run: the run that called it or, if none did, the run whose job started it by an event. Null: there is none, or
   * this run belongs to a phase `finally`, where a detached cancel of a run above does not apply.
   */
  #next(run: JobId): JobId | null {
    const origin = this.#originOf(run);
    if (origin?.phase === 'finally') return null;
    return origin && (origin.run?.run ?? this.#starterOf(origin));
  }

  #originOf(run: JobId): BegunRun | null {
    return this.#begun(run) ?? this.#groupOf(run);
  }

  /** The group of the job. Null: the job is not stored, or its block is unusable. */
  #groupOf(job: JobId): JobGroup | null {
    return this.#setAside.read('blocks', blockOf(job), () => groupIn(this.#reader, job)) ?? null;
  }

  /** The result of `starterOf`; null also if the block of the parent is unusable. */
  #starterOf(run: BegunRun): JobId | null {
    const { parent } = run;
    return parent && (this.#setAside.read('blocks', blockOf(parent), () => starterOf(this.#reader, run)) ?? null);
  }

  /** Removes the detached cancels in trees for which `isQuiet` returns true. A call checks at most `examinedPerTurnMax` cancels. */
  end(turn: Turn, isQuiet: (root: JobId) => boolean): void {
    let left = examinedPerTurnMax;
    for (const [name, detached] of [...this.#cancels]) {
      if (left-- === 0) return;
      const { run, root } = detached;
      this.#cancels.delete(name);
      if (!isQuiet(root)) {
        // Moves the cancel to the end of the map: the next turn begins with the other cancels.
        this.#cancels.set(name, detached);
        continue;
      }
      removeDetached(turn.batch, run);
      const others = this.#roots.get(keyText(root))! - 1;
      if (others === 0) this.#roots.delete(keyText(root));
      else this.#roots.set(keyText(root), others);
    }
  }
}
