// The jobs of a block in the form that the API shows. Some fields are read or decoded only on demand.
import type { Body } from '../../../runtime/host/wire/outcome.ts';
import { type BlockKey, formatId, idPrefix, indexText, type JobId, jobId, parseId } from '../../../runtime/ids.ts';
import { lengthOf, shownOf } from '../../../runtime/parted.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { readOpenTally } from '../../pipeline/records/run.ts';
import type { StoredAttempt } from '../records/attempt.ts';
import type { NumberedAttempt } from '../records/attempts.ts';
import { type Block, groupOf } from '../records/block.ts';
import { type Cancel, cancelAround, cancelOfJob } from '../records/cancel.ts';
import {
  type JobGroup,
  noneUnsuccessful,
  type PhaseName,
  pipelinePlugin,
  type Rerun,
  readPhaseError,
  readTally,
  type Status,
  type Tally,
  tallyOf,
} from '../records/job.ts';
import { isNeverStarted } from '../records/journal.ts';
import { attemptOf, findOpen, type OpenBlock } from '../records/open.ts';
import type { JobOptions, JobTimes } from '../records/options.ts';
import { noReruns, type Reruns, readReruns } from '../records/reruns.ts';
import { storedTimes } from '../records/rescheduled.ts';
import { isInFlight } from '../records/retry.ts';
import { timesOfRun } from './run-times.ts';

/** A job, with the fields that the API shows. Times are in µs since the epoch. */
export type JobView = Omit<StoredJob, never>;

export type JobInput = {
  /** The payload as it is stored, possibly in parts. */
  readonly stored: Uint8Array;
  /** The packed payload. A value in parts is assembled on demand; if some of its parts were pruned, this is a packed null. */
  readonly payload: Uint8Array;
  readonly payloadBytes: number;
  /** The baggage, a packed map. */
  readonly context: Uint8Array;
  /** The event that the job received (command `handle`), or that started the run; otherwise null. */
  readonly event: JobGroup['event'];
  /** The pipeline whose step the job belongs to. Null: the job belongs to no step. */
  readonly pipeline: string | null;
  readonly runId: string | null;
  /** The ordinal of the job in the last fork before it in its segment. Null: there is no such fork, or the job belongs to no run. */
  readonly index: number | null;
};

/** Makes views of the jobs of a block. The open record of the block is read only when an unsettled job is viewed. */
export class BlockJobs {
  readonly reader: Reader;
  readonly block: Block;
  readonly #key: BlockKey;
  readonly #prefix: string;
  #open: OpenBlock | null | undefined = null;
  /** By group: the cancel around the jobs of the group (`cancelAround`). Null: no such cancel. */
  readonly #around = new Map<JobGroup, Cancel | null>();

  constructor(reader: Reader, key: BlockKey, block: Block) {
    this.reader = reader;
    this.block = block;
    this.#key = key;
    this.#prefix = idPrefix(key);
  }

  /** A view of the job at this index. `ending`: its latest ended attempt. `takenOver`: set if the job is shown as reused. */
  view(index: number, ending: NumberedAttempt | undefined, takenOver: ReusedJobPlace | null = null): JobView {
    return new StoredJob(this, this.#prefix + indexText(index), index, ending, takenOver);
  }

  /**
   * The cancel of an unsettled job itself, otherwise a cancel around the job (`cancelAround`). Null: neither exists. If the job is a run, its
   * own timeout does not count. Cancels around jobs are cached by group, because all jobs of a group are inside the same runs.
   */
  openCancel(index: number): Cancel | null {
    const own = cancelOfJob(this.reader, jobId(this.#key, index));
    if (own && !own.timeout) return own;
    if (this.reader.count('cancels') === 0) return null;
    const { group } = groupOf(this.block, index);
    let around = this.#around.get(group);
    if (around === undefined) {
      around = cancelAround(this.reader, this.block, index, true);
      this.#around.set(group, around);
    }
    return around;
  }

  /** The cancel of an ended job, or of a run with which the job was cancelled. Null: neither exists. A run's own timeout does not count. */
  endedCancel(index: number, status: Status): Cancel | null {
    const own = cancelOfJob(this.reader, jobId(this.#key, index));
    if (own && !own.timeout) return own;
    return status === 'cancelled' ? cancelAround(this.reader, this.block, index, false) : null;
  }

  /** How the jobs inside an open run have ended so far. Null: the run is delayed, or its record is missing. */
  openCounts(index: number): Tally | null {
    const bytes = this.reader.get('runs', jobId(this.#key, index));
    if (bytes) return readOpenTally(bytes);
    const isWaiting = this.reader.get('accepted_runs', this.#key) !== undefined;
    return isWaiting ? { ...tallyOf(0, noneUnsuccessful()), unsettled: 0 } : null;
  }

  /** The times that follow from the options of a job and from its last reschedule. Null: the job has no times. */
  times(index: number): JobTimes | null {
    return storedTimes(this.reader, this.#key, this.block, index);
  }

  /**
   * When a host got the job, in µs; for a first attempt, when jobs of its block were last sent to hosts. For a run or an action: when it was
   * accepted or, if it was delayed, when its time came. Null: the job is not running, or its record is unusable.
   */
  runningSince(index: number): number | null {
    if (this.#open === null) this.#open = readable(() => findOpen(this.reader, this.#key));
    const open = this.#open;
    if (open === undefined || open.isSettled(index)) return null;
    const attempt = readable(() => attemptOf(this.reader, open, index));
    if (!attempt || !isInFlight(attempt)) return null;
    // The open record has one time for all runs of the block, but delayed runs have times of their own.
    return open.isTimed && open.plugin === pipelinePlugin ? this.#begunUs(index) : attempt.dueUs;
  }

  #begunUs(index: number): number {
    const { createdUs } = this.block;
    return Math.max(this.times(index)?.runAtUs ?? 0, createdUs);
  }
}

/** How a reused job appears in the tree of a rerun. `parent`: its parent in this tree. */
export type ReusedJobPlace = { readonly parent: JobId };

class StoredJob {
  readonly jobId: string;
  readonly status: Status;
  readonly #jobs: BlockJobs;
  readonly #index: number;
  readonly #last: NumberedAttempt | undefined;
  readonly #runningUs: number | null;
  readonly #openCancel: Cancel | null;
  readonly #takenOver: ReusedJobPlace | null;

  constructor(
    jobs: BlockJobs,
    id: string,
    index: number,
    last: NumberedAttempt | undefined,
    takenOver: ReusedJobPlace | null,
  ) {
    this.#takenOver = takenOver;
    const isOver = last?.attempt.final === true;
    const runningUs = isOver ? null : jobs.runningSince(index);
    this.#openCancel = isOver ? null : jobs.openCancel(index);
    this.jobId = id;
    // A waiting job that was cancelled is shown as cancelled before the ledger has written its end.
    const open = runningUs !== null ? 'running' : this.#openCancel ? 'cancelled' : 'queued';
    this.status = isOver ? last.attempt.status : open;
    this.#jobs = jobs;
    this.#index = index;
    this.#last = last;
    this.#runningUs = runningUs;
  }

  /** Whether the job still runs although a cancel applies to it (`openCancel`). */
  get cancelling(): boolean {
    return this.#openCancel !== null && this.status === 'running';
  }

  /** The cancel of the job, or of a run with which the job was cancelled. Null: no such cancel. Read on demand. */
  get cancel(): Cancel | null {
    if (!this.#final) return this.#openCancel;
    return this.#jobs.endedCancel(this.#index, this.status);
  }

  /** How the jobs inside a run ended. Null: this job is not a run, or no counts are stored for it. Read on demand. */
  get counts(): Tally | null {
    if (this.plugin !== pipelinePlugin) return null;
    return this.#final ? readTally(this.#final.stored) : this.#jobs.openCounts(this.#index);
  }

  /** The error of the phases of a succeeded run. Null: there is none, or the body has been pruned. Read on demand. */
  get phaseError(): string | null {
    return this.plugin === pipelinePlugin && this.#final ? readPhaseError(this.#final.stored) : null;
  }

  get parentJobId(): string | null {
    const parent = this.#takenOver?.parent ?? groupOf(this.#jobs.block, this.#index).group.parent;
    return parent && formatId(parent);
  }

  /** The phase that the job belongs to. Null: the job belongs to the main part of its run, or to no run. */
  get phase(): PhaseName | null {
    return groupOf(this.#jobs.block, this.#index).group.phase ?? null;
  }

  /** The id of the step that the job belongs to. Null: the job belongs to no step. */
  get stepId(): string | null {
    return groupOf(this.#jobs.block, this.#index).group.stepId;
  }

  /** Whether the job is shown in the tree of a rerun that reused it. */
  get isReused(): boolean {
    return this.#takenOver !== null;
  }

  get submittedBy(): string {
    return groupOf(this.#jobs.block, this.#index).group.submittedBy;
  }

  get plugin(): string {
    return this.#jobs.block.plugin;
  }

  get command(): string {
    return this.#jobs.block.command;
  }

  /** Read on demand. */
  get input(): JobInput {
    const { group, offset } = groupOf(this.#jobs.block, this.#index);
    const { event, context, pipeline, run } = group;
    const { reader } = this.#jobs;
    const stored = this.#jobs.block.payload(this.#index);
    return {
      stored,
      get payload() {
        return shownOf(reader, stored);
      },
      payloadBytes: lengthOf(stored),
      context,
      event,
      pipeline,
      runId: run && formatId(run.run),
      index: run && (run.first === null ? (run.path.at(-1) ?? null) : run.first + offset),
    };
  }

  /** The options of the call or schedule; a descendant has only the tags of its root. Null: no options. */
  get options(): JobOptions | null {
    return groupOf(this.#jobs.block, this.#index).group.options;
  }

  /** Read on demand; null: the job has no times. */
  get times(): JobTimes | null {
    const times = this.#jobs.times(this.#index);
    if (this.plugin !== pipelinePlugin) return times;
    return timesOfRun(this.#jobs.reader, parseId(this.jobId)!, this.createdUs, times, this.#final);
  }

  /** The job that this job reruns, the point from which it does so, and the reason. Null: this job is not a rerun. */
  get rerun(): Rerun | null {
    return groupOf(this.#jobs.block, this.#index).group.rerun;
  }

  /** Read on demand. */
  get reruns(): Reruns {
    return this.completedUs === null ? noReruns : readReruns(this.#jobs.reader, parseId(this.jobId)!);
  }

  get attempt(): number {
    return (this.#last?.number ?? 0) + (this.#runningUs === null ? 0 : 1);
  }

  get createdUs(): number {
    return this.#jobs.block.createdUs;
  }

  get startedUs(): number | null {
    return this.#runningUs ?? (this.#last ? startOf(this.#last) : null);
  }

  /** The attempt with which the job ended. */
  get #final(): StoredAttempt | undefined {
    return this.#last?.attempt.final ? this.#last.attempt : undefined;
  }

  /** The body of the final attempt. Null: the job has not ended. */
  get body(): Body | null {
    return this.#final?.body ?? null;
  }

  /** Whether the body takes longer to read: it is stored apart or partly deflated, or its result is a value in parts. */
  get isLarge(): boolean {
    return this.#final?.isLarge ?? false;
  }

  get completedUs(): number | null {
    return this.#final?.completedUs ?? null;
  }

  get lastError(): string | null {
    return this.#last?.attempt.text('error') ?? null;
  }
}

/**
 * When the attempt started; if no start was observed, when it ended. Null: the job was cancelled, or its deadline passed, before its
 * first attempt.
 */
function startOf({ number, attempt }: NumberedAttempt): number | null {
  const isLate = number === 0 && attempt.status === 'timed_out';
  return isLate || isNeverStarted(attempt.status, number) ? null : attempt.startedUs;
}
