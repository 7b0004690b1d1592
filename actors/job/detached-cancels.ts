// Detached cancels of runs also cancel the runs that events of their jobs have started, and the runs that these have started. A covered run gets
// a mark of its own when it is first looked up, at the latest when the walk through its tree reaches it.
import type { JobId } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import {
  type Cancel,
  decodeCancel,
  groupIn,
  putDetached,
  readDetached,
  removeDetached,
  starterOf,
} from './records/cancel.ts';
import type { JobGroup } from './records/job.ts';
import { keyText } from './records/open.ts';

/** Such cancels that are looked at in one turn, to see whether they are over. */
const lookedAtPerTurnMax = 64;

/** Where an open run came from: `parent` is the job that caused it, `run` the run that called it. */
export type BegunRun = Pick<JobGroup, 'root' | 'parent' | 'hooked'> & { readonly run: { readonly run: JobId } | null };

type Detached = { readonly run: JobId; readonly root: JobId; readonly cancel: Cancel };

export class DetachedCancels {
  readonly #reader: Reader;
  /** What the store may not know yet of a run. */
  readonly #begun: (run: JobId) => BegunRun | null;
  readonly #cancels = new Map<string, Detached>();
  /** How many of them each tree has, by its root. */
  readonly #roots = new Map<string, number>();

  constructor(reader: Reader, setAside: SetAside, begun: (run: JobId) => BegunRun | null) {
    this.#reader = reader;
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
    const root = groupIn(this.#reader, run)?.root ?? run;
    this.#cancels.set(keyText(run), { run, root, cancel });
    this.#roots.set(keyText(root), (this.#roots.get(keyText(root)) ?? 0) + 1);
  }

  /** The run with the detached cancel that this run comes under. Null: there is none. */
  above(run: JobId): JobId | null {
    if (this.#cancels.size === 0) return null;
    const { root } = this.#originOf(run) ?? {};
    if (!this.#roots.has(keyText(root ?? run))) return null;
    return this.#find(run, name => this.#cancels.has(name));
  }

  /** Whether the run comes under the detached cancel of `outer`. */
  covers(outer: JobId, run: JobId): boolean {
    const wanted = keyText(outer);
    return this.#cancels.has(wanted) && this.#find(run, name => name === wanted) !== null;
  }

  /** The nearest that is wanted of the run and those above it. */
  #find(run: JobId, isWanted: (name: string) => boolean): JobId | null {
    for (let at: JobId | null = run; at; at = this.#next(at)) if (isWanted(keyText(at))) return at;
    return null;
  }

  /** Whether runs that events of this job would start come under one. */
  coversEventsOf(job: JobId, root: JobId): boolean {
    if (this.#cancels.size === 0 || !this.#roots.has(keyText(root))) return false;
    const position = groupIn(this.#reader, job)?.run;
    return position != null && this.above(position.run) !== null;
  }

  /** The run that called this one, or whose job started it by an event. */
  #next(run: JobId): JobId | null {
    const origin = this.#originOf(run);
    return origin && (origin.run?.run ?? starterOf(this.#reader, origin));
  }

  #originOf(run: JobId): BegunRun | null {
    return this.#begun(run) ?? groupIn(this.#reader, run);
  }

  /** Removes those with which nothing is left to end. */
  end(turn: Turn, isQuiet: (root: JobId) => boolean): void {
    let left = lookedAtPerTurnMax;
    for (const [name, detached] of [...this.#cancels]) {
      if (left-- === 0) return;
      const { run, root } = detached;
      this.#cancels.delete(name);
      if (!isQuiet(root)) {
        // To the end: the others come first in the next turn.
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
