// What must hold for jobs and runs that callers have cancelled, whatever fails.
import type { CancelReply } from '../../../actors/job/cancel/cancel-protocol.ts';
import { readCancelKey } from '../../../actors/job/records/cancel.ts';
import { isHosted, type JobGroup, pipelinePlugin, readPhaseError } from '../../../actors/job/records/job.ts';
import { decodeRun } from '../../../actors/pipeline/records/run.ts';
import { originPrefix } from '../../../actors/schedule/protocol.ts';
import { formatId, parseId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import { type Commits, errorOf, type KnownJob } from './commits.ts';
import type { Dice } from './dice.ts';
import type { HeldFrame } from './hosts.ts';

/** Jobs to cancel are drawn from this many newest ones, because most of the older ones have ended. */
const newestMax = 40;

/** `isFirst`: the job was open, and nobody had cancelled it before. */
export type AskedCancel = { readonly id: string; readonly detached: boolean; readonly isFirst: boolean };

export class CancelModel {
  readonly #commits: Commits;
  readonly #isDamaged: (id: string) => boolean;
  readonly #isLimited: (run: KnownJob) => boolean;
  readonly #asked = new Set<string>();
  /** Jobs and runs for which somebody has requested a forced cancel. */
  readonly forced = new Set<string>();
  /** Runs for which somebody has requested a detached cancel, and those of them whose cancel was answered. */
  readonly #detached = new Set<string>();
  readonly #surelyDetached = new Set<string>();
  /** Cancelled jobs and runs, with the status in the answer. No attempt of them may start after the answer. */
  readonly #answered = new Map<string, 'cancelled' | 'queued' | 'running'>();
  /** Whether the job ended because it had expired. */
  expired: (job: KnownJob) => boolean = () => false;
  /** Jobs that have ended `cancelled`: a comparison of nothing proves nothing. */
  ended = 0;

  /** `isLimited`: whether the run, its phases or the step that called it has a time limit, so that the run may end by it. */
  constructor(commits: Commits, isDamaged: (id: string) => boolean, isLimited: (run: KnownJob) => boolean) {
    this.#commits = commits;
    this.#isDamaged = isDamaged;
    this.#isLimited = isLimited;
  }

  /** A job or run to be cancelled; null: there is none. */
  pick(dice: Dice): AskedCancel | null {
    const newest = [...this.#commits.jobs()].slice(-newestMax);
    if (newest.length === 0) return null;
    const callers = newest.flatMap(job => this.#callerOfLast(job) ?? []);
    const fired = newest.filter(job => isFired(job) && !job.attempts.at(-1)?.final);
    const rare = [callers, fired].filter(jobs => jobs.length > 0);
    const job = dice.pick(rare.length > 0 && dice.chance(0.5) ? dice.pick(rare) : newest);
    const detached = dice.chance(0.4);
    // For a job that has ended or was cancelled before, the answer may say so, and the cancel may do nothing.
    const isFirst = !this.isAsked(job) && !job.attempts.at(-1)?.final;
    this.#asked.add(job.id);
    if (detached) this.#detached.add(job.id);
    return { id: job.id, detached, isFirst };
  }

  answered(
    { id, detached, isFirst }: AskedCancel,
    reply: CancelReply | { readonly kind: 'refused' },
    reader: Reader,
  ): void {
    // A run in `finally` is not cancelled, and goes on.
    if (reply.kind !== 'cancel' || reply.isEnding) return;
    const { status } = reply;
    const known = this.#commits.find(id)!.attempts.at(-1);
    const stands = known?.final ? known.status : null;
    if (status === 'cancelled' || status === 'queued' || status === 'running') {
      holds(
        stands === null || stands === 'cancelled' || stands === 'timed_out',
        () => `the cancel of ${id} is answered ${status}: it is ${stands}`,
      );
      this.#answered.set(id, status);
      if (detached && (isFirst || status === 'running')) this.#detachedHolds(id, reader);
    } else if (status !== null)
      holds(stands === status, () => `the cancel of ${id} is answered ${status}, not ${stands}`);
  }

  /** Notes jobs that an action is to cancel. */
  asks(ids: Iterable<string>): void {
    for (const id of ids) this.#asked.add(id);
  }

  /** An action has cancelled this job, and the step of the action was answered. */
  taken(id: string, reader: Reader): void {
    if (!this.#isDamaged(id) && isInPhase(reader, id)) return;
    if (!this.#commits.find(id)!.attempts.at(-1)?.final && !this.#answered.has(id)) this.#answered.set(id, 'running');
  }

  /** Notes the open jobs and runs that events below this run have started: all of them will be cancelled. */
  #detachedHolds(run: string, reader: Reader): void {
    this.#surelyDetached.add(run);
    for (const job of this.#commits.jobs()) {
      const isOpen = !job.attempts.at(-1)?.final && !this.#answered.has(job.id) && !isInPhase(reader, job.id);
      if (isOpen && this.#above(job.id, other => other === run) !== null) this.#answered.set(job.id, 'running');
    }
  }

  /** Called when no turn is due. No cancelled job waits: it is being stopped by its host (`commits.isOut`), or has ended. */
  nothingWaits(): void {
    for (const id of this.#answered.keys()) {
      const { plugin, attempts } = this.#commits.find(id)!;
      const isOpen = isHosted(plugin) && !attempts.at(-1)?.final && !this.#isDamaged(id);
      holds(!isOpen || this.#commits.isOut(parseId(id)!), () => `${id} was cancelled, and still waits`);
    }
  }

  /** Checks a frame: none of its jobs was cancelled before. */
  frameHolds({ tasks }: HeldFrame): void {
    if (this.#answered.size === 0 && this.#surelyDetached.size === 0) return;
    for (const { id, attempt } of tasks) {
      const inside = this.#around(id, other => this.#answered.has(other), true);
      const by = inside ?? this.#above(id, other => this.#surelyDetached.has(other));
      holds(by === null, () => `attempt ${attempt} of ${id} is handed out after the cancel of ${by} was answered`);
    }
  }

  /** Whether somebody has requested a cancel of the job, or of a run around it. */
  isAsked(job: KnownJob): boolean {
    return this.#around(job.id, id => this.#isEnded(id)) !== null || this.isDetached(job);
  }

  /**
   * As `isAsked`, without the cancels of runs around the job that do not reach it, because it belongs to `finally`. Only a forced cancel of the
   * run reaches its `finally`.
   */
  #isReached(job: KnownJob): boolean {
    for (let at: string | null = job.id; at !== null; ) {
      if (this.#isEnded(at)) return true;
      const run = this.#runOf(at);
      at = run !== null && this.#isLast(at) && !this.forced.has(run) ? null : run;
    }
    return this.isDetached(job);
  }

  #isEnded(id: string): boolean {
    return this.#asked.has(id) || this.expired(this.#commits.find(id)!) || this.#commits.schedules.replaced.has(id);
  }

  /**
   * Whether the job belongs to a phase of a cancelled run, or to a run that such a phase has called. `born`: the groups of jobs that the next
   * commit creates.
   */
  isExempt(id: string, born: ReadonlyMap<string, JobGroup> = new Map()): boolean {
    const group = born.get(id) ?? this.#commits.find(id)?.group;
    const run = group?.run ? formatId(group.run.run) : null;
    if (run === null) return false;
    const job = this.#commits.find(born.has(id) ? run : id);
    // The timeout of a `call` step cancels the called run.
    const isCancelled = job !== undefined && (this.isAsked(job) || this.isOverdue(job));
    return (group!.phase !== undefined && isCancelled) || this.isExempt(run, born);
  }

  /** Whether a time limit of a run around the job, or of the job itself if it is a run, may have passed. */
  isOverdue(job: KnownJob): boolean {
    return this.#around(job.id, other => this.#isLimited(this.#commits.find(other)!)) !== null;
  }

  /** Whether the job is under a detached cancel, which also ends the runs that events of its jobs start. */
  isDetached(job: KnownJob): boolean {
    return this.#above(job.id, other => this.#detached.has(other)) !== null;
  }

  /** At the end: cancelled jobs have ended as cancelled, or had succeeded first; no other job has ended as cancelled. */
  ends(reader: Reader): void {
    for (const key of reader.keys('cancels', {})) {
      const { id, kind } = readCancelKey(key);
      const isOver = kind === 'note' || this.#isDamaged(formatId(id));
      holds(isOver, () => `everything should have settled, and ${formatId(id)} is still to be cancelled`);
    }
    for (const job of this.#commits.jobs()) {
      if (this.#isDamaged(job.id)) continue;
      const { status, body } = job.attempts.at(-1)!;
      // The error of a called run's `finally` is quoted behind a colon.
      const errors = [errorOf(body), readPhaseError(body) ?? ''];
      const isLastCut = errors.some(error => /(?:^|; )finally: cancelled by (?!timeout: )/.test(error));
      holds(!isLastCut || this.#isEnded(job.id), () => `finally of ${job.id} is cancelled, and nobody asked for it`);
      const answer = this.#answered.get(job.id);
      if (status === 'cancelled') {
        this.ended++;
        const isByCaller = /^cancelled by (?!timeout: )/.test(errorOf(body));
        const isSo = isByCaller ? this.#isReached(job) : this.isAsked(job) || this.isOverdue(job);
        holds(isSo, () => `${job.id} is cancelled, and nobody asked for it`);
      } else if (answer !== undefined) {
        if (status === 'timed_out' && this.isOverdue(job)) continue;
        const mayWin = answer !== 'cancelled' && status === 'succeeded' && job.plugin !== pipelinePlugin;
        holds(mayWin, () => `the cancel of ${job.id} was answered ${answer}, and it has ${status}`);
      }
    }
  }

  /**
   * The nearest among the job, its run and the runs that called this run for which `holdsFor` is true; null: none. `isStarting`: only those whose
   * cancel keeps the job from starting; jobs of `finally` start although their run was cancelled.
   */
  #around(id: string, holdsFor: (id: string) => boolean, isStarting = false): string | null {
    for (let at: string | null = id; at !== null; at = this.#runOf(at)) {
      if (holdsFor(at)) return at;
      if (isStarting && this.#isLast(at)) return null;
    }
    return null;
  }

  /** As `#around`, but also through the runs whose events have started these runs. */
  #above(id: string, holdsFor: (id: string) => boolean): string | null {
    for (let at: string | null = id; at !== null; at = this.#runOf(at) ?? this.#starterOf(at)) {
      if (holdsFor(at)) return at;
      // A cancel of the run does not reach what `finally` starts.
      if (this.#isLast(at)) return null;
    }
    return null;
  }

  /** Whether the job belongs to `finally`. */
  #isLast(id: string): boolean {
    return this.#commits.find(id)?.group.phase === 'finally';
  }

  /** If the job is open and belongs to `finally` of a called run: the run that called it. Its cancel must not reach the job. */
  #callerOfLast({ id, attempts }: KnownJob): KnownJob | null {
    const caller = this.#isLast(id) && !attempts.at(-1)?.final ? this.#runOf(this.#runOf(id)!) : null;
    return caller === null ? null : this.#commits.find(caller)!;
  }

  #runOf(id: string): string | null {
    const run = this.#commits.find(id)?.group.run?.run;
    return run ? formatId(run) : null;
  }

  #starterOf(id: string): string | null {
    const group = this.#commits.find(id)?.group;
    const cause = group?.parent ? formatId(group.parent) : null;
    const isHook = cause !== null && group!.hooked && !this.#commits.find(cause)!.group.hooked;
    return cause === null || isHook || this.#isLast(cause) ? null : this.#runOf(cause);
  }
}

/** Whether a schedule has fired the job. */
function isFired({ group }: KnownJob): boolean {
  return group.parent === null && group.submittedBy.startsWith(originPrefix);
}

/** Whether the job is an open run in a phase, which may go on in spite of a cancel. */
function isInPhase(reader: Reader, id: string): boolean {
  const run = reader.get('runs', parseId(id)!);
  return run !== undefined && decodeRun(run).run.phase !== null;
}
