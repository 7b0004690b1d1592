// Cancels jobs and runs. Right after the commit, hosts are asked to stop the running jobs. A cancelled waiting job ends in the commit that
// records the cancel or, if recovery has not read its block yet, when recovery reads the block. The waiting jobs of a cancelled run
// may take several turns to end: a limited number ends in each.

import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockOf, indexOf, type JobId, jobId, keyBeforeTurnOf } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import type { HostSlotName } from '../dispatch/host-slot.ts';
import type { WaitingCancel } from '../dispatch/outstanding-frames.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { PipelineCalls } from '../protocol.ts';
import type { OperationOutcome } from '../records/action.ts';
import { findBlock } from '../records/block.ts';
import { type Cancel, cancelText, groupIn } from '../records/cancel.ts';
import { headgatePlugin, pipelinePlugin, type Status } from '../records/job.ts';
import { endOfBlocks } from '../records/list-indexes.ts';
import { findOpen, keyText, type OpenBlock } from '../records/open.ts';
import { rangesOf } from '../records/tree.ts';
import { BlockCache, twoBlocks } from '../views/block-cache.ts';
import { findJob } from '../views/jobs.ts';
import type { CancelJob, CancelReply } from './cancel-protocol.ts';
import { endWaiting, type JobsToEnd } from './cancelled-jobs.ts';

/** The maximum number of jobs that the walks of one turn examine. */
const examinedPerTurnMax = 16_384;
const blocksPerScan = 16;

/**
 * The default options of `cancelRun`. `detached`: whether the cancel is detached (detached-cancels.ts). `force`: whether the run is stopped even
 * in its phase `finally`.
 */
const plainly = { detached: false, force: false };

/**
 * A walk through the blocks of a tree, which ends the waiting jobs of cancelled runs. It may take several turns. The walk continues at
 * `from`, the key of a block in the table `tree`, with the job `index` of this block, and ends before `to`.
 */
type Walk = { readonly root: JobId; from: Buffer; index: number; to: Buffer };

export class Cancelling {
  /** Cancels an action over many jobs. Set by `startJobActor`. */
  cancelAction: ((turn: Turn, id: JobId, cancel: Cancel) => void) | null = null;
  /** Ends a delayed run. False: the run is not delayed. Set by `Delayed`. */
  cancelDelayedRun: (turn: Turn, id: JobId, cancel: Cancel) => boolean = () => false;
  /** The maximum number of jobs that the walks (`Walk`) of one turn end or cancel, and that one call of `cancelAll` handles. */
  perTurnMax = 256;
  readonly #state: JobState;
  readonly #dispatcher: Dispatcher;
  readonly #pipeline: PipelineCalls;
  /** The unfinished walks through trees: by root, and by `earlyName`. */
  readonly #walks = new Map<string, Walk>();
  /**
   * The callers that wait for an answer. `left`: the jobs that hosts are stopping for the caller. The caller is answered when no code
   * of these jobs can start any more.
   */
  readonly #asked: { readonly caller: WaitingCancel; readonly left: Set<OpenAttempt> }[] = [];
  /** The callers that, as of the last commit, wait for an answer. The set outlives the actors (`OutstandingFrames.cancels`). */
  readonly #callers: Set<WaitingCancel>;
  /** The last turn that began or continued a walk. The walks continue in a later turn, because reads of the store do not show that turn's writes. */
  #turn: Turn | null = null;

  constructor(state: JobState, dispatcher: Dispatcher, pipeline: PipelineCalls, callers: Set<WaitingCancel>) {
    this.#callers = callers;
    this.#state = state;
    this.#dispatcher = dispatcher;
    this.#pipeline = pipeline;
    for (const run of state.cancels.runs) this.#begin(run);
  }

  ask(turn: Turn, { id, by, reason, detached = false, force = false, replyTo }: CancelJob): void {
    const state = this.#state;
    const cancel = { by, reason, atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 } };
    const block = findBlock(state.reader, id);
    if (block?.plugin === pipelinePlugin) {
      const phase = this.#pipeline.phaseOf(id);
      const own = state.cancels.own(id);
      if (!force && phase?.name === 'finally' && (!own || own.timeout)) {
        // A repeated cancel changes nothing: an earlier one has ended the parts before `finally`.
        const isEnding = detached || phase.status !== 'cancelled';
        turn.reply(replyTo, { kind: 'cancel', status: 'running', isEnding } satisfies CancelReply);
        return;
      }
      this.cancelRun(turn, id, cancel, { detached, force });
    } else if (block?.plugin === headgatePlugin) this.cancelAction?.(turn, id, cancel);
    else if (block) {
      const waiting: JobsToEnd = new Map();
      this.#cancelJob(turn, id, cancel, waiting);
      endWaiting(state, turn, waiting);
      for (const open of waiting.keys()) state.releaseLoaded(open);
    }
    const caller = { replyTo, id };
    this.#await(turn, caller, cancelText(cancel));
    turn.after(() => this.#callers.add(caller));
  }

  /**
   * Cancels these jobs for an action or a schedule; no caller waits for an answer. Returns the outcomes of the ids that were handled,
   * in order. If the turn runs out of time, or after `perTurnMax` ids, the other ids are left for a later turn.
   */
  cancelAll(turn: Turn, ids: readonly JobId[], cancel: Cancel): OperationOutcome[] {
    const { reader, setAside } = this.#state;
    const blocks = new BlockCache(reader, twoBlocks);
    const outcomes: OperationOutcome[] = [];
    const cancelled = new Set<string>();
    const waiting: JobsToEnd = new Map();
    for (const id of ids) {
      if (outcomes.length > 0 && (turn.isSpent || outcomes.length >= this.perTurnMax)) break;
      let outcome: OperationOutcome = 'not_found';
      if (this.#state.find(blockOf(id))) outcome = this.#cancelJob(turn, id, cancel, waiting);
      else {
        const plugin = setAside.read('blocks', blockOf(id), () => blocks.find(blockOf(id))?.plugin ?? null);
        // If the block is unusable, the job may still be an open run.
        if (plugin === undefined || plugin === pipelinePlugin) outcome = this.cancelRun(turn, id, cancel);
        else if (plugin !== null) outcome = 'already_settled';
      }
      if (outcome === 'done') cancelled.add(keyText(id));
      outcomes.push(outcome);
    }
    endWaiting(this.#state, turn, waiting);
    for (const each of waiting.keys()) if (each.inFlight === 0) this.#state.release(each);
    if (cancelled.size > 0) this.#stopAll(turn, cancelled);
    return outcomes;
  }

  /** Stops the runs that `takeOverdue` (protocol.ts) returns. True: some runs were stopped. */
  stopOverdue(turn: Turn): boolean {
    const stopped = new Set<string>();
    for (const { run, cancel } of this.#pipeline.takeOverdue(turn)) {
      const force = cancel.timeout !== undefined;
      if (this.cancelRun(turn, run, cancel, { detached: false, force }) === 'done') stopped.add(keyText(run));
    }
    if (stopped.size > 0) this.#stopAll(turn, stopped);
    return stopped.size > 0;
  }

  /** Whether `stopOverdue` has left some runs for a later turn. */
  areOverdue({ nowUs }: Turn): boolean {
    const { nextDeadlineUs } = this.#pipeline;
    return nextDeadlineUs !== null && nextDeadlineUs <= nowUs;
  }

  /** Tells hosts to stop the jobs in `cancelled`, and the jobs inside the runs in `cancelled`. `cancelled` has ids of jobs and runs. */
  #stopAll(turn: Turn, cancelled: ReadonlySet<string>): void {
    const { cancels } = this.#state;
    this.stop(turn, ({ open, index }) => {
      const id = jobId(open.keyBytes, index);
      const stopped = cancelled.has(keyText(id)) ? id : this.#state.cancelledRun(open, index);
      return stopped && cancelled.has(keyText(stopped)) ? cancelText(cancels.of(stopped)!) : null;
    });
  }

  /** Cancels a run. `ending`: an earlier cancel is stopping the run, or the run is in `finally` and `force` is not set. */
  cancelRun(turn: Turn, id: JobId, cancel: Cancel, { detached, force } = plainly): OperationOutcome {
    if (this.cancelDelayedRun(turn, id, cancel)) return 'done';
    const { cancels, setAside } = this.#state;
    // If the run's record is unusable, the run is not open, but its jobs can still be ended.
    if (!this.#pipeline.isOpen(id) && !setAside.has('runs', id)) return 'already_settled';
    if (!force && this.#pipeline.phaseOf(id)?.name === 'finally') return 'ending';
    const marked = cancels.around(id);
    const detaches = detached && cancels.detached.of(id) === undefined;
    // If a time limit has stopped the run, or a run that contains it, a cancel without `timeout` still marks the run.
    const isOvertaken = marked !== null && !cancel.timeout && cancels.of(marked)?.timeout !== undefined;
    if (marked === null || isOvertaken) cancels.mark(turn, id, cancel);
    if (detaches) cancels.detach(turn, id, (marked && !isOvertaken && cancels.of(marked)) || cancel);
    if (marked !== null && !detaches) return 'ending';
    this.#begin(id);
    this.#turn = turn;
    this.#pipeline.cancelRun(id);
    return 'done';
  }

  /**
   * Tells hosts to stop the job that the caller has cancelled or, if the caller has cancelled a run, the jobs to which this cancel applies. The
   * caller is answered when no code of these jobs can start any more.
   */
  #await(turn: Turn, caller: WaitingCancel, reason: string): void {
    const { id } = caller;
    const { cancels } = this.#state;
    const isWanted = (job: OpenAttempt) => {
      if (isJob(job, id)) return true;
      const run = cancels.haveRuns ? this.#state.runOf(job) : null;
      return run !== null && cancels.isUnder(run, id);
    };
    const left = this.stop(turn, job => (isWanted(job) ? reason : null));
    this.#asked.push({ caller, left: new Set(left) });
  }

  /**
   * Called in the first turn of the actors. Tells hosts again to stop the jobs that were cancelled or are past their deadline: hosts may still
   * have such jobs after a failed turn. The callers of earlier turns wait for new confirmations.
   */
  goOn(turn: Turn): void {
    const state = this.#state;
    this.stop(turn, job => state.stopOf(job, turn.nowUs) && 'stopped');
    for (const caller of this.#callers) this.#await(turn, caller, 'cancelled');
  }

  /** Handles a host's confirmation that none of the task's code can start any more. */
  confirmed(name: HostSlotName, frameId: number, wanted: number): void {
    const job = this.#dispatcher.jobAt(name, frameId, wanted);
    if (job) for (const { left } of this.#asked) left.delete(job);
  }

  /** Tells hosts to stop the jobs for which `reasonFor` gives a reason, and returns these jobs. */
  stop(turn: Turn, reasonFor: (job: OpenAttempt) => string | null): OpenAttempt[] {
    const stopped: OpenAttempt[] = [];
    for (const { job, slot, frame, task } of this.#dispatcher.active()) {
      const reason = reasonFor(job);
      if (reason === null) continue;
      stopped.push(job);
      turn.after(() => slot.host?.cancel(frame.id, task, reason));
    }
    return stopped;
  }

  /** Whether a host has the job. */
  #has(open: OpenBlock, index: number): boolean {
    if (open.inFlight === 0) return false;
    for (const { job } of this.#dispatcher.active()) if (job.open === open && job.index === index) return true;
    return false;
  }

  /**
   * Must be called at the end of a turn. Removes detached cancels that are complete (`#isQuiet`), and answers callers
   * (`#answerStopped`).
   */
  close(turn: Turn): void {
    const { detached } = this.#state.cancels;
    if (detached.size > 0) detached.end(turn, root => this.#isQuiet(root));
    if (this.#asked.length > 0) this.#answerStopped(turn);
  }

  /** Answers a caller if, for each of the caller's jobs, a host has confirmed the cancel or no host has the job. */
  #answerStopped(turn: Turn): void {
    const active = new Set(Array.from(this.#dispatcher.active(), ({ job }) => job));
    for (const asked of this.#asked.splice(0)) {
      for (const job of asked.left) if (!active.has(job)) asked.left.delete(job);
      if (asked.left.size > 0) this.#asked.push(asked);
      else this.#answer(turn, asked.caller);
    }
  }

  /**
   * Cancels a job, unless it has settled. If its block is found (`JobState.find`) and no host has the job, adds the job to `waiting`. Then
   * `endWaiting` must be called with `waiting` in this turn.
   */
  #cancelJob(turn: Turn, id: JobId, cancel: Cancel, waiting: JobsToEnd): OperationOutcome {
    const state = this.#state;
    const open = state.find(blockOf(id));
    const index = indexOf(id);
    if (open ? open.isSettled(index) : !this.#isUnread(id)) return 'already_settled';
    const isEnding =
      state.cancels.of(id) !== undefined || (open !== undefined && state.cancelledRun(open, index) !== null);
    if (!isEnding) state.cancels.mark(turn, id, cancel);
    // If recovery has not read the block yet, recovery ends the job when it reads the block.
    if (open && !this.#has(open, index)) addTo(waiting, open, index);
    return isEnding ? 'ending' : 'done';
  }

  /** Whether the job, whose block was not found, is unsettled. If it is, recovery is not complete yet. */
  #isUnread(id: JobId): boolean {
    const status = this.#statusOf(id);
    return status === 'queued' || status === 'running';
  }

  /** The job's status as of the last commit. Null: there is no such job, or one of its records is unusable. */
  #statusOf(id: JobId): Status | null {
    const { reader, setAside } = this.#state;
    const open = setAside.read('open', blockOf(id), () => findOpen(reader, blockOf(id)) ?? null);
    return open === undefined ? null : (readable(() => findJob(reader, id)?.status) ?? null);
  }

  /** Answers the caller, with the job's status after the commit. */
  #answer(turn: Turn, caller: WaitingCancel): void {
    const { replyTo, id } = caller;
    turn.after(() => {
      this.#callers.delete(caller);
      turn.reply(replyTo, { kind: 'cancel', status: this.#statusOf(id) } satisfies CancelReply);
    });
  }

  #begin(run: JobId): void {
    const { reader, setAside } = this.#state;
    const root = setAside.read('blocks', blockOf(run), () => groupIn(reader, run))?.root ?? run;
    const block = blockOf(run);
    this.#walkThrough(keyText(root), root, block, endOfBlocks);
    // The turn that accepted the run may have put jobs of it into older blocks. Another walk finds them, so that the first one does not go back.
    this.#walkThrough(earlyName(root), root, keyBeforeTurnOf(block), block);
  }

  /** Begins a walk through these blocks, or makes the walk with this name go through them. It goes back if it has passed them. */
  #walkThrough(name: string, root: JobId, first: BlockKey, end: BlockKey): void {
    const [from, to] = [Buffer.concat([root, first]), Buffer.concat([root, end])];
    const walk = this.#walks.get(name);
    if (!walk) this.#walks.set(name, { root, from, index: 0, to });
    else if (Buffer.compare(from, walk.from) <= 0) Object.assign(walk, { from, index: 0 });
    if (walk && Buffer.compare(to, walk.to) > 0) walk.to = to;
  }

  /**
   * Whether all detached cancels of this tree are complete: no walk through the tree continues, no run in it is marked, and no event or
   * hook in it waits to start runs.
   */
  #isQuiet(root: JobId): boolean {
    if (this.#walks.has(keyText(root)) || this.#walks.has(earlyName(root))) return false;
    if (this.#state.cancels.haveRunsIn(root)) return false;
    return !this.#pipeline.haveWaitingEvents(root);
  }

  /** Ends the next waiting jobs of cancelled runs, and cancels the runs inside these runs. True: some walks are not complete. */
  step(turn: Turn): boolean {
    const state = this.#state;
    if (this.#turn === turn) return this.#walks.size > 0;
    if (this.#walks.size > 0) {
      this.#turn = turn;
      const wanted: JobsToEnd = new Map();
      const budget = { jobs: this.perTurnMax, examined: examinedPerTurnMax };
      for (const [root, walk] of this.#walks) {
        if (!this.#walk(walk, wanted, budget)) break;
        this.#walks.delete(root);
      }
      endWaiting(state, turn, wanted);
      for (const open of wanted.keys()) if (open.inFlight === 0) state.release(open);
    }
    return this.#walks.size > 0;
  }

  /**
   * Continues the walk, and adds the jobs that must end to `wanted`. True: the walk is complete. False: the walk must continue in
   * a later turn.
   */
  #walk(walk: Walk, wanted: JobsToEnd, budget: { jobs: number; examined: number }): boolean {
    const entries = [...this.#state.reader.scan('tree', { from: walk.from, to: walk.to, limit: blocksPerScan })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(walk.root.length));
      for (const index of this.#left(walk, key, rangesOf(entry.value))) {
        walk.from = Buffer.from(entry.key);
        walk.index = index;
        if (budget.jobs === 0 || budget.examined-- === 0) return false;
        if (this.#drop(key, index, wanted)) budget.jobs--;
      }
      const open = this.#state.open.get(keyText(key));
      if (open && !wanted.has(open)) this.#state.releaseLoaded(open);
      walk.from = keyAfter(entry.key);
      walk.index = 0;
    }
    return entries.length < blocksPerScan;
  }

  /**
   * The indexes in `ranges` that the walk has not passed. If the block is in memory, indexes of settled jobs are left out. If the block is
   * not open, there are none.
   */
  *#left({ index: first }: Walk, key: Buffer, ranges: readonly number[]): Iterable<number> {
    const open = this.#state.open.get(keyText(key));
    if (!open && !this.#state.reader.get('open', key)) return;
    for (let pair = 0; pair < ranges.length; pair += 2) {
      for (let index = Math.max(first, ranges[pair]!); index < ranges[pair + 1]!; index++) {
        if (!open?.isSettled(index)) yield index;
      }
    }
  }

  /**
   * Handles the job that the walk has reached. If the job waits and belongs to a cancelled run, adds the job to `wanted`. If the job is
   * itself a run to which a cancel applies, cancels the run. True: the job was added or cancelled.
   */
  #drop(key: Buffer, index: number, wanted: JobsToEnd): boolean {
    const state = this.#state;
    const open = state.open.get(keyText(key));
    if (!open) {
      const id = jobId(key, index);
      return state.cancels.around(id) !== null && this.#pipeline.cancelRun(id);
    }
    const run = state.cancelledRun(open, index);
    if (!run) return false;
    // If a host has the job, the host was asked to stop it when the run was cancelled.
    if (this.#has(open, index)) return false;
    addTo(wanted, open, index);
    return true;
  }
}

/** The name of the walk through blocks that are older than the block of their run. */
function earlyName(root: JobId): string {
  return `early ${keyText(root)}`;
}

function isJob({ open, index }: OpenAttempt, id: JobId): boolean {
  return index === indexOf(id) && open.key === keyText(blockOf(id));
}

function addTo(wanted: JobsToEnd, open: OpenBlock, index: number): void {
  const indexes = wanted.get(open);
  if (indexes) indexes.add(index);
  else wanted.set(open, new Set([index]));
}
