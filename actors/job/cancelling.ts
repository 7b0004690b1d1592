// Cancels jobs and runs. Waiting jobs end in the same commit, and hosts are told to stop running ones. The jobs of a cancelled run are
// handled over several turns.

import { blockOf, indexOf, type JobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { endWaiting, type Wanted } from './cancelled-jobs.ts';
import type { Dispatcher } from './dispatch.ts';
import type { HostSlotName } from './host-slot.ts';
import type { JobState } from './job-state.ts';
import type { OpenAttempt } from './open-attempt.ts';
import type { WaitingCancel } from './outstanding-frames.ts';
import type { CancelJob, CancelReply, PipelineCalls } from './protocol.ts';
import { findBlock, groupOf } from './records/block.ts';
import { cancelText } from './records/cancel.ts';
import { pipelinePlugin } from './records/job.ts';
import { keyText, type OpenBlock } from './records/open.ts';
import { rangesOf } from './records/tree.ts';
import { findJob } from './views/jobs.ts';

/** The maximum number of jobs of cancelled runs that end per turn, and that are examined per turn. */
export const cancelledPerTurnMax = 1024;
const lookedAtPerTurnMax = 16_384;
/** Blocks of a tree that one scan reads. */
const blocksPerScan = 16;
/** Greater than every block key. */
const afterBlocks = Buffer.alloc(12, 0xff);

/** The position in the tree of a cancelled run. It starts at the block of the run itself. */
type Walk = { readonly run: JobId; readonly root: JobId; from: Buffer; index: number };

export class Cancelling {
  readonly #state: JobState;
  readonly #dispatcher: Dispatcher;
  readonly #pipeline: PipelineCalls;
  readonly #walks: Walk[] = [];
  /** Callers to answer once none of the code of these jobs can start any more. */
  readonly #asked: { readonly caller: WaitingCancel; readonly left: Set<OpenAttempt> }[] = [];
  /** The same callers, as of the last commit. */
  readonly #callers: Set<WaitingCancel>;
  /** The last turn that began or continued a walk. Its writes cannot be read before the commit. */
  #turn: Turn | null = null;

  constructor(state: JobState, dispatcher: Dispatcher, pipeline: PipelineCalls, callers: Set<WaitingCancel>) {
    this.#callers = callers;
    this.#state = state;
    this.#dispatcher = dispatcher;
    this.#pipeline = pipeline;
    for (const run of state.cancels.runs) this.#begin(run);
  }

  ask(turn: Turn, { id, by, reason, replyTo }: CancelJob): void {
    const state = this.#state;
    const cancel = { by, reason, atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 } };
    const block = findBlock(state.reader, id);
    if (block?.plugin === pipelinePlugin) {
      if (this.#pipeline.isOpen(id) && state.cancels.around(id) === null) {
        state.cancels.mark(turn, id, cancel, true);
        this.#begin(id);
        this.#turn = turn;
        this.#pipeline.cancelRun(id);
      }
    } else if (block) this.#cancelJob(turn, id, cancel);
    const caller = { replyTo, id };
    this.#await(turn, caller, cancelText(cancel));
    turn.after(() => this.#callers.add(caller));
  }

  /** Tells hosts to stop the job or the jobs of the run. The caller is answered when they have done so. */
  #await(turn: Turn, caller: WaitingCancel, reason: string): void {
    const { id } = caller;
    const isWanted = (job: OpenAttempt) => isJob(job, id) || this.#state.cancelledRun(job.open, job.index) === id;
    const left = this.#stop(turn, job => (isWanted(job) ? reason : null));
    this.#asked.push({ caller, left: new Set(left) });
  }

  /** Repeats the requests after a failed turn: hosts may have cancelled jobs, and callers are waiting for answers. */
  goOn(turn: Turn): void {
    const state = this.#state;
    if (!state.cancels.isEmpty) this.#stop(turn, job => (state.isCancelled(job) ? 'cancelled' : null));
    for (const caller of this.#callers) this.#await(turn, caller, 'cancelled');
  }

  /** The host confirms that none of the task's code can start any more. */
  confirmed(name: HostSlotName, frameId: number, wanted: number): void {
    for (const { job, slot, frame, task } of this.#dispatcher.active()) {
      if (slot.name !== name || frame.id !== frameId || task !== wanted) continue;
      for (const { left } of this.#asked) left.delete(job);
    }
  }

  /** Tells hosts to stop the jobs for which there is a reason. Returns these jobs. */
  #stop(turn: Turn, reasonFor: (job: OpenAttempt) => string | null): OpenAttempt[] {
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

  #hasAttempt(wanted: OpenAttempt): boolean {
    for (const { job } of this.#dispatcher.active()) if (job === wanted) return true;
    return false;
  }

  /** At the end of a turn, answers the callers whose jobs have ended or are being stopped. */
  answer(turn: Turn): void {
    if (this.#asked.length === 0) return;
    for (const asked of this.#asked.splice(0)) {
      for (const job of asked.left) if (!this.#hasAttempt(job)) asked.left.delete(job);
      if (asked.left.size > 0) this.#asked.push(asked);
      else this.#answer(turn, asked.caller);
    }
  }

  #cancelJob(turn: Turn, id: JobId, cancel: Parameters<JobState['cancels']['mark']>[2]): void {
    const state = this.#state;
    const open = state.open.get(keyText(blockOf(id)));
    const index = indexOf(id);
    if (open ? open.isSettled(index) : !this.#isUnread(id)) return;
    if (!state.cancels.of(id) && !(open && state.cancelledRun(open, index)))
      state.cancels.mark(turn, id, cancel, false);
    // Recovery ends the job when it reads the block.
    if (!open) return;
    if (!this.#has(open, index)) endWaiting(state, turn, new Map([[open, new Set([index])]]));
  }

  /** Whether recovery has not read the job yet. */
  #isUnread(id: JobId): boolean {
    const view = findJob(this.#state.reader, id);
    return view !== undefined && (view.status === 'queued' || view.status === 'running');
  }

  /** The answer is the job's status after the commit. */
  #answer(turn: Turn, caller: WaitingCancel): void {
    const { replyTo, id } = caller;
    turn.after(() => {
      this.#callers.delete(caller);
      const job = findJob(this.#state.reader, id);
      turn.reply(replyTo, { kind: 'cancel', status: job?.status ?? null } satisfies CancelReply);
    });
  }

  #begin(run: JobId): void {
    const block = findBlock(this.#state.reader, run);
    const root = block ? (groupOf(block, indexOf(run)).group.root ?? run) : run;
    this.#walks.push({ run, root, from: Buffer.concat([root, blockOf(run)]), index: 0 });
  }

  /** Ends or stops the next jobs of cancelled runs. True: there are more. */
  step(turn: Turn): boolean {
    if (this.#walks.length === 0 || this.#turn === turn) return this.#walks.length > 0;
    this.#turn = turn;
    const wanted: Wanted = new Map();
    const budget = { jobs: cancelledPerTurnMax, looks: lookedAtPerTurnMax };
    while (this.#walks.length > 0 && budget.jobs > 0 && budget.looks > 0) {
      if (this.#walk(this.#walks[0]!, wanted, budget)) this.#walks.shift();
    }
    endWaiting(this.#state, turn, wanted);
    for (const open of wanted.keys()) if (open.inFlight === 0) this.#state.release(open);
    return this.#walks.length > 0;
  }

  /** True: the walk is complete. */
  #walk(walk: Walk, wanted: Wanted, budget: { jobs: number; looks: number }): boolean {
    const { reader } = this.#state;
    const to = Buffer.concat([walk.root, afterBlocks]);
    const entries = [...reader.scan('tree', { from: walk.from, to, limit: blocksPerScan })];
    for (const entry of entries) {
      const key = Buffer.from(entry.key.subarray(walk.root.length));
      for (const index of this.#left(walk, key, rangesOf(entry.value))) {
        walk.from = Buffer.from(entry.key);
        walk.index = index;
        if (budget.jobs === 0 || budget.looks-- === 0) return false;
        if (this.#drop(key, index, wanted)) budget.jobs--;
      }
      walk.from = Buffer.concat([entry.key, Buffer.of(0)]);
      walk.index = 0;
    }
    return entries.length < blocksPerScan;
  }

  /** The unsettled jobs of a tree's entry, from the position of the walk on. */
  *#left({ index: first }: Walk, key: Buffer, ranges: readonly number[]): Iterable<number> {
    const open = this.#state.open.get(keyText(key));
    if (!open && !this.#state.reader.get('open', key)) return;
    for (let pair = 0; pair < ranges.length; pair += 2) {
      for (let index = Math.max(first, ranges[pair]!); index < ranges[pair + 1]!; index++) {
        if (!open?.isSettled(index)) yield index;
      }
    }
  }

  /** Ends or stops the job if it belongs to a cancelled run. True: it will end in this turn. */
  #drop(key: Buffer, index: number, wanted: Wanted): boolean {
    const state = this.#state;
    const open = state.open.get(keyText(key));
    if (!open) {
      const id = Buffer.concat([key, indexBytes(index)]);
      if (state.cancels.around(id) !== null) this.#pipeline.cancelRun(id);
      return false;
    }
    const run = state.cancelledRun(open, index);
    if (!run) return false;
    // Its host was told when the run was cancelled.
    if (this.#has(open, index)) return false;
    addTo(wanted, open, index);
    return true;
  }
}

function isJob({ open, index }: OpenAttempt, id: JobId): boolean {
  return index === indexOf(id) && open.key === keyText(blockOf(id));
}

function addTo(wanted: Wanted, open: OpenBlock, index: number): void {
  const indexes = wanted.get(open);
  if (indexes) indexes.add(index);
  else wanted.set(open, new Set([index]));
}

function indexBytes(index: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(index);
  return bytes;
}
