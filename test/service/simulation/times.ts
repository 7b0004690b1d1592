// Delayed jobs, expiry and deadlines: what callers ask for, and what must hold because of it, whatever fails.
import { lateText } from '../../../actors/job/cancel/cancelled-jobs.ts';
import { decodeCancel, readCancelKey } from '../../../actors/job/records/cancel.ts';
import { isHosted } from '../../../actors/job/records/job.ts';
import { areTimed, type CallOptions, type JobTimes, timesOf } from '../../../actors/job/records/options.ts';
import { decodeRescheduled } from '../../../actors/job/records/rescheduled.ts';
import { readRunDeadlineKey } from '../../../actors/pipeline/records/run-deadline.ts';
import { blockOf, formatId, indexOf, jobId, parseId } from '../../../runtime/ids.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import { holds } from './broken.ts';
import { type Commits, errorOf, type KnownJob } from './commits.ts';
import type { Dice } from './dice.ts';
import type { HeldFrame } from './hosts.ts';
import { openIn } from './remembered.ts';
import { deadlinesMs } from './setup.ts';

const hourMs = 3_600_000;
/** The numbers of these asks begin here, so that they differ from all others. */
const firstAsk = 3_000_000_000;
/** The most time between the turn that sends a frame and the check of the frame. */
const seenUs = 1_000;

export class Times {
  readonly #reader: Reader;
  readonly #commits: Commits;
  readonly #dice: Dice;
  /** Delayed jobs that the ledger has made due. */
  readonly #woken = new Set<string>();
  /** When jobs expired, and to which time jobs were rescheduled; also for jobs that retention has removed. */
  readonly #expired = new Map<string, number>();
  readonly #rescheduled = new Map<string, number>();
  /** Deadlines of runs in the last commit. */
  readonly #deadlines: Uint8Array[] = [];
  #asked = firstAsk;
  /** How much was looked at: a comparison of nothing proves nothing. */
  readonly seen = { woken: 0, expired: 0, late: 0 };

  constructor(reader: Reader, commits: Commits, dice: Dice) {
    this.#reader = reader;
    this.#commits = commits;
    this.#dice = dice;
  }

  /** Draws the options of a call. */
  options(): { readonly options?: CallOptions } {
    const dice = this.#dice;
    if (!dice.chance(0.2)) return {};
    const options = {
      ...(dice.chance(0.7) && { delayMs: dice.pick([0, 1, 2_000, 60_000, 3 * hourMs]) }),
      ...(dice.chance(0.3) && { expiresMs: dice.pick([1, 1_000, 60_000, 5 * hourMs]) }),
      ...(dice.chance(0.2) && { deadlineMs: dice.pick([1, 5_000, hourMs]) }),
    };
    return Object.keys(options).length > 0 ? { options } : {};
  }

  /** Somebody gives a delayed job or run another time, if there is one. */
  next(): object[] {
    const delayed = Array.from(this.#reader.scan('open', {}), ({ key, value }) => {
      const open = openIn(key, value);
      return Array.from({ length: open.count }, (_, index) => index)
        .filter(index => open.isDelayed(index))
        .map(index => jobId(Buffer.from(key), index));
    }).flat();
    if (delayed.length === 0) return [];
    const id = this.#dice.pick(delayed);
    const replyTo = { ask: ++this.#asked };
    if (this.#dice.chance(0.2)) return [{ kind: 'run_now', id, replyTo }];
    return [{ kind: 'reschedule', id, delayMs: this.#dice.pick([0, 500, 30_000, hourMs]), replyTo }];
  }

  /** Whether the question was asked by this class. */
  answered({ ask }: ReplyTo): boolean {
    return ask > firstAsk;
  }

  /** Checks a batch before its commit: a delayed job becomes due only at its time, unless it ends. */
  committing(batch: Batch, nowUs: number): void {
    const { tables, keys, values } = batch as WriteBatch;
    for (let place = 0; place < tables.length; place++) {
      const [table, key, value] = [tables[place]!, keys[place]!, values[place]];
      if (table === 'rescheduled' && value) this.#rescheduled.set(formatId(key), decodeRescheduled(value));
      if (table !== 'cancels' || !value) continue;
      const { reason, atUs } = decodeCancel(value);
      if (reason === 'expired') this.#expired.set(formatId(readCancelKey(key).id), atUs);
    }
    for (let place = 0; place < tables.length; place++)
      if (tables[place] === 'open') this.#openChanges(keys[place]!, values[place], nowUs);
    for (const key of this.#deadlines.splice(0)) this.#deadlineHolds(key);
    for (let place = 0; place < tables.length; place++)
      if (tables[place] === 'run_deadlines' && values[place]) this.#deadlines.push(keys[place]!);
  }

  /** The deadline of a run must count from the time at which it may begin, and be no later than its call allows. */
  #deadlineHolds(key: Uint8Array): void {
    const { run, deadline } = readRunDeadlineKey(key)!;
    const [us, kind] = deadline;
    const job = this.#commits.find(formatId(run));
    if (kind !== 'deadline' || !job) return;
    const fromUs = Math.max(this.#timesOf(job)?.runAtUs ?? 0, job.createdUs);
    const most = job.group.options?.deadlineMs ?? Number.POSITIVE_INFINITY;
    const ms = (us - fromUs) / 1000;
    const isRight = ms <= most && [...deadlinesMs, most].includes(ms);
    holds(isRight, () => `the run ${job.id} may take ${ms} ms from its time on, and its call allows ${most}`);
  }

  #openChanges(key: Uint8Array, value: Uint8Array | undefined, nowUs: number): void {
    const bytes = this.#reader.get('open', key);
    const before = bytes && openIn(key, bytes);
    if (!before || before.delayed === 0) return;
    const after = value && openIn(key, value);
    for (let index = 0; index < before.count; index++) {
      if (!before.isDelayed(index) || after?.isDelayed(index)) continue;
      const id = formatId(jobId(Buffer.from(key), index));
      // A delayed run uses the definitions of the commit in which it begins, even if it ends in the same commit.
      this.#commits.began(id);
      if (after && !after.isSettled(index)) this.#wakes(id, nowUs);
    }
  }

  #wakes(id: string, nowUs: number): void {
    const runAtUs = this.#timesOf(this.#commits.find(id)!)!.runAtUs!;
    holds(runAtUs <= nowUs, () => `the job ${id} is due ${(runAtUs - nowUs) / 1000} ms before its time`);
    this.#woken.add(id);
    this.seen.woken++;
  }

  /** Checks a frame that is sent: none of its jobs is delayed, past its deadline, or expired before its code can have run. */
  frameHolds({ tasks }: HeldFrame, nowUs: number): void {
    for (const { id, attempt } of tasks) {
      const job = this.#commits.find(id);
      const times = job && this.#timesOf(job);
      if (!times) continue;
      const { runAtUs, expiresUs, deadlineUs } = times;
      // A job that was due stays due, although the clock was set back.
      const isDue = runAtUs === null || runAtUs <= Math.max(nowUs, job.createdUs) || this.#woken.has(id);
      holds(isDue, () => `attempt ${attempt} of ${id} is handed out before its time`);
      const isFirst = attempt === 1 && job.attempts.length === 0 && !this.#mayHaveBegun(id);
      holds(
        !isFirst || expiresUs === null || expiresUs > nowUs - seenUs,
        () => `the first attempt of ${id} is handed out, and it has expired`,
      );
      holds(
        deadlineUs === null || deadlineUs > nowUs - seenUs,
        () => `attempt ${attempt} of ${id} is handed out after its deadline`,
      );
    }
  }

  #mayHaveBegun(id: string): boolean {
    const key = Buffer.from(blockOf(parseId(id)!));
    const bytes = this.#reader.get('open', key);
    return bytes !== undefined && openIn(key, bytes).hasBegun(indexOf(parseId(id)!));
  }

  /** Whether the job rightly ended by its deadline or expiry, so that its plugin does not decide its end. */
  hasEnded(job: KnownJob): boolean {
    const times = this.#timesOf(job);
    const last = job.attempts.at(-1);
    if (!times || !last) return false;
    if (last.status === 'timed_out' && errorOf(last.body) === lateText) {
      holds(times.deadlineUs !== null, () => `${job.id} is late, and has no deadline`);
      this.seen.late++;
      return true;
    }
    return this.hasExpired(job);
  }

  /** Whether the job, or the run, ended because it had expired. */
  hasExpired(job: KnownJob): boolean {
    if (job.attempts.at(-1)?.status !== 'cancelled' || !this.#timesOf(job)) return false;
    const atUs = this.#expired.get(job.id);
    if (atUs === undefined) return false;
    const { expiresUs } = this.#timesOf(job)!;
    const isRight = expiresUs !== null && expiresUs <= atUs;
    holds(isRight, () => `the job ${job.id} has expired, which it should not have`);
    const hasStarted = isHosted(job.plugin) && job.attempts.length > 1;
    holds(!hasStarted, () => `the job ${job.id} has expired, though it had started`);
    this.seen.expired++;
    return true;
  }

  #timesOf({ id, group, createdUs }: KnownJob): JobTimes | null {
    const { options } = group;
    return areTimed(options) ? timesOf(options, createdUs, this.#rescheduled.get(id)) : null;
  }
}
