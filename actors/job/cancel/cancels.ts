// The cancels of unsettled jobs and runs, called marks, and the detached cancels of runs (records/cancel.ts). While there are no cancels, most
// lookups cost one or two comparisons.

import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { type Block, findBlock, groupOf } from '../records/block.ts';
import { type Cancel, decodeCancel, putMark, putNote, readMarks } from '../records/cancel.ts';
import { pipelinePlugin, type RunPhase } from '../records/job.ts';
import { type KeyText, keyText } from '../records/open.ts';
import { type BegunRun, DetachedCancels } from './detached-cancels.ts';

/** Lookups of open runs. `PipelineCalls` (protocol.ts) describes each of them. */
export type RunLookups = {
  readonly isOpen: (run: JobId) => boolean;
  readonly callerOf: (run: JobId) => JobId | null;
  readonly phaseOf: (run: JobId) => RunPhase | null;
  readonly exemptSince: (run: JobId) => number | null;
  readonly begun: (run: JobId) => BegunRun | null;
};

/** The maximum number of cached lookups of runs. */
const knownRunsMax = 16_384;

/**
 * The stored cancel of an unsettled job. `root`: the root of the tree if the job is a run; null: the job is not a run. `notStarted`
 * is the same object as in `cancel`, and its counts grow in place.
 */
type Mark = {
  readonly id: JobId;
  readonly root: JobId | null;
  readonly notStarted: { jobs: number; elements: number };
  cancel: Cancel;
};

export class Cancels {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  readonly #marks = new Map<string, Mark>();
  /** Marks that must be written at the end of the turn. */
  readonly #changed = new Set<Mark>();
  /** The number of marked runs per tree, by root. */
  readonly #runsIn = new Map<string, number>();
  /** By run: the cached result of `around`. */
  readonly #known = new Map<string, JobId | null>();
  readonly #openRuns: RunLookups;
  readonly detached: DetachedCancels;

  constructor(reader: Reader, setAside: SetAside, openRuns: RunLookups) {
    this.#reader = reader;
    this.#setAside = setAside;
    this.#openRuns = openRuns;
    for (const [id, value] of readMarks(reader)) {
      const cancel = setAside.read('cancels', id, () => decodeCancel(value));
      if (cancel) this.#keep(id, this.#rootOf(id), cancel);
    }
    this.detached = new DetachedCancels(reader, setAside, run => openRuns.begun(run));
  }

  /** The root of the run's tree; null: the job is not a run. If its block is unusable, the job counts as a run that is a root. */
  #rootOf(id: JobId): JobId | null {
    const root = this.#setAside.read('blocks', blockOf(id), () => rootIn(findBlock(this.#reader, id), id));
    return root === undefined ? id : root;
  }

  get isEmpty(): boolean {
    return this.#marks.size === 0 && this.detached.size === 0;
  }

  /** Whether any run is marked, or has a detached cancel. */
  get haveRuns(): boolean {
    return this.#runsIn.size > 0 || this.detached.size > 0;
  }

  /** The marked runs, and the runs with detached cancels. */
  get runs(): readonly JobId[] {
    const marked = [...this.#marks.values()].flatMap(({ id, root }) => (root ? [id] : []));
    return [...marked, ...this.detached.runs];
  }

  /** The keys of the blocks with marked jobs or runs. */
  get blocks(): ReadonlySet<KeyText> {
    return new Set(Array.from(this.#marks.values(), ({ id }) => keyText(blockOf(id))));
  }

  /** The mark of this job or run, otherwise its detached cancel. Undefined: it has neither. */
  of(id: JobId): Cancel | undefined {
    return this.own(id) ?? (this.detached.size > 0 ? this.detached.of(id) : undefined);
  }

  /** The mark of this job or run. Undefined: it has none. */
  own(id: JobId): Cancel | undefined {
    return this.#marks.get(keyText(id))?.cancel;
  }

  /** Marks the job or run. If an earlier mark exists, the new mark replaces it, and takes over its counts (`notStarted`). */
  mark(turn: Turn, id: JobId, cancel: Cancel): void {
    const mark = this.#marks.get(keyText(id));
    if (mark) mark.cancel = { ...cancel, notStarted: mark.notStarted };
    putMark(turn.batch, id, mark?.cancel ?? cancel);
    if (!mark) this.#keep(id, this.#rootOf(id), cancel);
    this.#known.clear();
  }

  /** Makes the cancel of this run detached. The cancel then also covers runs that events of the run's jobs start (detached-cancels.ts). */
  detach(turn: Turn, run: JobId, cancel: Cancel): void {
    this.detached.add(turn, run, cancel);
    this.#known.clear();
  }

  #keep(id: JobId, root: JobId | null, cancel: Cancel): Mark {
    const notStarted = { ...cancel.notStarted };
    const mark = { id, root, notStarted, cancel: { ...cancel, notStarted } };
    this.#marks.set(keyText(id), mark);
    this.#count(root, 1);
    return mark;
  }

  #count(root: JobId | null, change: 1 | -1): void {
    if (!root) return;
    const name = keyText(root);
    const runs = (this.#runsIn.get(name) ?? 0) + change;
    if (runs === 0) this.#runsIn.delete(name);
    else this.#runsIn.set(name, runs);
  }

  /** Whether a run of this tree is marked. */
  haveRunsIn(root: JobId): boolean {
    return this.#runsIn.has(keyText(root));
  }

  /** Must be called when a job or run has ended: its mark, if any, becomes a note (records/cancel.ts). */
  ended(turn: Turn, id: JobId): void {
    const name = keyText(id);
    const mark = this.#marks.get(name);
    if (!mark) return;
    this.#marks.delete(name);
    this.#changed.delete(mark);
    putNote(turn.batch, id, mark.cancel);
    this.#count(mark.root, -1);
    if (mark.root) this.#known.clear();
  }

  /**
   * Called when a phase of the run begins. Ends the run's mark, because the cancel or timeout of the preceding part does not stop the
   * jobs of the new phase.
   */
  phaseBegins(turn: Turn, run: JobId): void {
    if (!this.haveRuns) return;
    this.ended(turn, run);
    this.#known.clear();
  }

  /**
   * The run itself if it is marked, otherwise the nearest marked run that contains it, otherwise the run whose detached cancel covers it.
   * An open run that a detached cancel covers gets a mark of its own (`#follow`). For a run in `finally`, only its own mark counts. Null: no
   * cancel applies to the run.
   */
  around(run: JobId): JobId | null {
    if (!this.haveRuns) return null;
    const name = keyText(run);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = this.#marks.has(name) ? run : this.#isFinal(run) ? null : this.#aroundCaller(run);
    if (this.#known.size >= knownRunsMax) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }

  /** Whether the run is in its phase `finally`. Only a cancel of the run itself stops this phase. */
  #isFinal(run: JobId): boolean {
    return this.#openRuns.phaseOf(run)?.name === 'finally';
  }

  #aroundCaller(run: JobId): JobId | null {
    const caller = this.#openRuns.callerOf(run);
    return caller ? this.around(caller) : this.#follow(run);
  }

  /**
   * The run whose detached cancel covers this run. If this run is open, it gets a mark of its own in this turn, and is returned itself.
   * Null: no detached cancel covers it.
   */
  #follow(run: JobId): JobId | null {
    const above = this.detached.above(run);
    // A run that is not open needs no mark: at most some of its jobs are left to end.
    if (above === null || !this.#openRuns.isOpen(run)) return above;
    const cancel = { ...this.detached.of(above)!, notStarted: { jobs: 0, elements: 0 } };
    this.#changed.add(this.#keep(run, this.#openRuns.begun(run)?.root ?? this.#rootOf(run) ?? run, cancel));
    return run;
  }

  /**
   * Whether a cancel of `outer` applies to `run`: `run` is `outer`, is inside `outer`, or is covered by the detached cancel of `outer`. To
   * a run in `finally`, only its own cancel applies.
   */
  isUnder(run: JobId, outer: JobId): boolean {
    const name = keyText(outer);
    for (let at: JobId | null = run; at; at = this.#openRuns.callerOf(at)) if (keyText(at) === name) return true;
    return !this.#isFinal(run) && this.detached.covers(outer, run);
  }

  /** Counts jobs that never started, and elements of fan-outs that never became jobs, because this run was cancelled. */
  countNotStarted(run: JobId, jobs: number, elements: number): void {
    const mark = this.#marks.get(keyText(run));
    if (!mark) return;
    mark.notStarted.jobs += jobs;
    mark.notStarted.elements += elements;
    this.#changed.add(mark);
  }

  /** Must be called at the end of a turn. Writes the marks in `#changed`. */
  close(turn: Turn): void {
    if (this.#changed.size === 0) return;
    for (const { id, cancel } of this.#changed) putMark(turn.batch, id, cancel);
    this.#changed.clear();
  }
}

function rootIn(block: Block | undefined, id: JobId): JobId | null {
  return block?.plugin === pipelinePlugin ? (groupOf(block, indexOf(id)).group.root ?? id) : null;
}
