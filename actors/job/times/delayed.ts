// Delayed jobs and runs, expiry and deadlines. Timers say when to look at a job: delayed jobs become due, unstarted jobs expire,
// and jobs past their deadline end or are stopped. A block whose unsettled jobs are all delayed is usually only on disk.
import { blockOf, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Released } from '../../schedule/protocol.ts';
import { endWaiting, expiryAt, lateText } from '../cancel/cancelled-jobs.ts';
import type { Cancelling } from '../cancel/cancelling.ts';
import type { JobState } from '../job-state.ts';
import { firstAttempt } from '../open-attempt.ts';
import type { PipelineCalls, RefusedWork } from '../protocol.ts';
import { type Cancel, cancelText, putNote } from '../records/cancel.ts';
import { pipelinePlugin } from '../records/job.ts';
import { keyText, type OpenBlock } from '../records/open.ts';
import type { JobTimes } from '../records/options.ts';
import type { Timer } from '../records/timer.ts';
import type { RunJobs } from '../run-jobs.ts';
import { hasStarted } from '../views/started-runs.ts';
import type { RescheduleJob, RescheduleReply } from './time-protocol.ts';

/**
 * The maximum number of jobs that timers make due, end or stop in one turn. If all delayed jobs of a block of plugin jobs become due at once, and
 * none of the block was dispatched before, they count as one. Runs are counted one by one.
 */
export const timedPerTurnMax = 1_024;
/** After a start, jobs wait until all due timers have been handled, but not longer than this. */
const catchUpUsMax = 5_000_000;

export type DelayedOptions = {
  readonly state: JobState;
  readonly cancelling: Cancelling;
  readonly runs: RunJobs;
  readonly pipeline: PipelineCalls;
};

export class Delayed {
  readonly #options: DelayedOptions;
  /** The last turn that handled timers. A turn handles timers only once, because reads of the store do not show the turn's writes. */
  #turn: Turn | null = null;
  /** How many more jobs timers may make due, end or stop in this turn (`timedPerTurnMax`). */
  #left = 0;
  /** Whether jobs may start: all timers that came due before the start have been handled, or `catchUpUsMax` is over. */
  #isCaughtUp = false;
  /** The time of the first turn after the start. */
  #startedUs: number | null = null;

  constructor(options: DelayedOptions) {
    this.#options = options;
    options.cancelling.cancelDelayedRun = (turn, id, cancel) => this.#endRun(turn, id, cancel);
  }

  ask(turn: Turn, { id, runAtUs, delayMs }: RescheduleJob): RescheduleReply | RefusedWork {
    if (!this.#options.state.isLoaded) return { kind: 'refused', refusal: 'unavailable' };
    const atUs = runAtUs ?? turn.nowUs + delayMs! * 1000;
    const isDone = this.reschedule(turn, id, atUs);
    this.releaseBlocks([id]);
    return { kind: 'reschedule', runAtUs: isDone ? Math.max(atUs, turn.nowUs) : null };
  }

  /** Releases the decoded blocks of rescheduled jobs, because these jobs may wait long for their dispatch. */
  releaseBlocks(ids: readonly JobId[]): void {
    const { state } = this.#options;
    for (const id of ids) {
      const open = state.open.get(keyText(blockOf(id)));
      if (open) state.releaseLoaded(open);
    }
  }

  /**
   * A time in µs before which no timer is due. Null: there is no timer, or not all unsettled jobs have been read since the start.
   */
  get nextUs(): number | null {
    const { isLoaded, times } = this.#options.state;
    return isLoaded ? times.nextUs : null;
  }

  isDue(nowUs: number): boolean {
    const { nextUs } = this;
    return nextUs !== null && nextUs <= nowUs;
  }

  /** Whether no job may start yet: some timers that came due before the start are left, so queued jobs may belong to expired runs. */
  isCatchingUp({ nowUs }: Turn): boolean {
    if (this.#isCaughtUp) return false;
    this.#startedUs ??= nowUs;
    const { isLoaded, times } = this.#options.state;
    const areLeft = times.nextUs !== null && times.nextUs <= nowUs;
    const isOver = nowUs - this.#startedUs > catchUpUsMax;
    this.#isCaughtUp = isOver || (isLoaded && !areLeft);
    return areLeft && !isOver;
  }

  /** Handles timers whose time has come. True: the next turn must continue, because more due timers may be left. */
  step(turn: Turn): boolean {
    const { times, setAside } = this.#options.state;
    if (!this.isDue(turn.nowUs)) return false;
    if (this.#turn === turn) return true;
    this.#turn = turn;
    this.#left = timedPerTurnMax;
    let isFirst = true;
    for (const timer of times.due(turn.nowUs)) {
      const open = this.#find(timer.block);
      // The timers of a block whose record was set aside are kept until the record can be read.
      if (!open && setAside.has('open', timer.block)) continue;
      // Each turn handles at least one timer, even if it has no time left.
      if (open && ((turn.isSpent && !isFirst) || !this.#handle(turn, open, timer))) return true;
      isFirst = false;
      times.remove(turn.batch, timer);
    }
    times.handled(turn.nowUs);
    return false;
  }

  /** Handles a timer of a block that is open. False: jobs of the timer are left for the next turn. */
  #handle(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    if (this.#left <= 0) return false;
    const isOver = this.#act(turn, open, timer);
    const { state } = this.#options;
    // Timers may concern very many blocks, so the decoded block does not stay in memory.
    if (open.inFlight === 0) state.release(open);
    // A block whose jobs are all still delayed, because they were rescheduled, leaves memory at the end of the turn.
    if (open.delayed === open.unsettled) state.touch(open);
    return isOver;
  }

  #act(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    switch (timer.kind) {
      case 'run_at':
        return this.#makeDue(turn, open, timer);
      case 'expires':
        return this.#expire(turn, open, timer);
      case 'deadline':
        return this.#endLate(turn, open, timer);
    }
  }

  #find(key: Uint8Array): OpenBlock | undefined {
    return this.#options.state.find(key) ?? this.#options.runs.find(key);
  }

  #makeDue(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    const { state } = this.#options;
    const due = this.#reached(turn, open, timer, 'runAtUs').filter(index => open.isDelayed(index));
    if (open.plugin === pipelinePlugin) return this.#beginRuns(turn, open, due);
    const isWhole = due.length === open.delayed && open.next === 0;
    const some = isWhole ? due : due.slice(0, this.#left);
    this.#left -= isWhole ? 1 : some.length;
    if (isWhole) {
      for (const index of some) state.wake(open, index);
      if (some.length > 0) state.lane(open.plugin).enqueue(open);
    } else for (const index of some) this.#enqueue(turn, open, index);
    return some.length === due.length;
  }

  /** Ends the delay of the job and queues the job in its lane. */
  #enqueue(turn: Turn, open: OpenBlock, index: number): void {
    const { state } = this.#options;
    // From now on the jobs of the block are queued one by one.
    if (open.next === 0) open.next = open.count;
    state.wake(open, index);
    state.lane(open.plugin).enqueueAttempt(state.move(turn, firstAttempt(open, index), 'waiting', 0));
  }

  #beginRuns(turn: Turn, open: OpenBlock, due: readonly number[]): boolean {
    for (const [place, index] of due.entries()) {
      if (place > 0 && (this.#left <= 0 || turn.isSpent)) return false;
      this.#left--;
      this.#beginRun(turn, open, index);
    }
    return true;
  }

  /** Begins the delayed run, or ends it if it has expired while the service was down. */
  #beginRun(turn: Turn, open: OpenBlock, index: number): void {
    const { state, runs, pipeline } = this.#options;
    const times = state.times.of(open, state.load(open), index);
    const id = jobId(open.keyBytes, index);
    const expiresUs = times?.expiresUs ?? null;
    if (expiresUs !== null && expiresUs <= turn.nowUs) this.#endRun(turn, id, expiryAt(turn.nowUs));
    else {
      runs.wake(turn, open, index);
      pipeline.beginDelayed(id, times?.runAtUs ?? turn.nowUs);
    }
  }

  #expire(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    const { state } = this.#options;
    if (open.plugin === pipelinePlugin) return this.#expireRuns(turn, open, timer);
    const expired = this.#reached(turn, open, timer, 'expiresUs').filter(index => open.isUnstarted(index));
    const some = expired.slice(0, this.#left);
    this.#left -= some.length;
    endWaiting(state, turn, new Map([[open, new Set(some)]]));
    return some.length === expired.length;
  }

  #expireRuns(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    const { state, cancelling } = this.#options;
    for (const index of this.#reached(turn, open, timer, 'expiresUs')) {
      if (this.#left-- <= 0) return false;
      const id = jobId(open.keyBytes, index);
      const isStarted = hasStarted(state.reader, state.setAside, state.open, id);
      if (!isStarted) cancelling.cancelRun(turn, id, expiryAt(turn.nowUs));
    }
    return true;
  }

  #endLate(turn: Turn, open: OpenBlock, timer: Timer): boolean {
    const { state, cancelling } = this.#options;
    const late = this.#reached(turn, open, timer, 'deadlineUs');
    const some = late.slice(0, this.#left);
    this.#left -= some.length;
    const wanted = new Set(some);
    if (open.inFlight > 0) {
      const running = cancelling.stop(turn, job => (job.open === open && wanted.has(job.index) ? lateText : null));
      for (const { index } of running) wanted.delete(index);
    }
    endWaiting(state, turn, new Map([[open, wanted]]));
    return some.length === late.length;
  }

  /** The indexes of the timer's unsettled jobs whose time `name` has come. A rescheduled job may have a later time than the timer. */
  #reached(turn: Turn, open: OpenBlock, { first, count }: Timer, name: keyof JobTimes): number[] {
    const { state } = this.#options;
    const block = state.load(open);
    const isSame = open.rescheduled === 0;
    let atUs = state.times.of(open, block, first)?.[name] ?? null;
    const reached: number[] = [];
    for (let index = first; index < first + count; index++) {
      if (!isSame) atUs = state.times.of(open, block, index)?.[name] ?? null;
      if (atUs !== null && atUs <= turn.nowUs && !open.isSettled(index)) reached.push(index);
    }
    return reached;
  }

  /**
   * Gives the delayed job or run another time. If this time has passed, the job or run is due at once. False: the job or run is not
   * delayed, or waits in the queue of its schedule. Also false: its open record is unusable, or has not been read since the start. The
   * decoded block stays in memory until `releaseBlocks`.
   */
  reschedule(turn: Turn, id: JobId, runAtUs: number): boolean {
    const { state } = this.#options;
    const open = this.#find(blockOf(id));
    const index = indexOf(id);
    if (!open?.isDelayed(index) || state.times.of(open, state.load(open), index)?.runAtUs === null) return false;
    this.#moveTo(turn, open, index, Math.max(runAtUs, turn.nowUs));
    state.observations.job('job.rescheduled', turn.nowUs, open.plugin, open.command, id);
    return true;
  }

  /** Ends the wait of a job or run in the queue of its schedule: it becomes due now. */
  release(turn: Turn, id: JobId): Released {
    const { state } = this.#options;
    if (!state.isLoaded) return 'unread';
    const key = blockOf(id);
    const open = this.#find(key);
    if (!open?.isDelayed(indexOf(id))) return state.setAside.has('open', key) ? 'unread' : 'over';
    this.#moveTo(turn, open, indexOf(id), turn.nowUs);
    return 'released';
  }

  #moveTo(turn: Turn, open: OpenBlock, index: number, atUs: number): void {
    const { state } = this.#options;
    state.times.reschedule(turn, open, state.load(open), index, atUs);
    state.touch(open);
    if (atUs > turn.nowUs) return;
    if (open.plugin === pipelinePlugin) this.#beginRun(turn, open, index);
    else this.#enqueue(turn, open, index);
  }

  /** Cancels a delayed run. False: the run is not delayed. */
  #endRun(turn: Turn, id: JobId, cancel: Cancel): boolean {
    const { runs, pipeline } = this.#options;
    const open = runs.find(blockOf(id));
    const index = indexOf(id);
    if (!open?.isDelayed(index)) return false;
    runs.wake(turn, open, index, false);
    putNote(turn.batch, id, cancel);
    pipeline.endDelayed(id, cancelText(cancel));
    return true;
  }
}
