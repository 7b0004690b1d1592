// The state of the job actor and its basic changes: touch, move, end, retry.
import { type Config, instanceNamed, type RetryPolicy } from '../../config/config.ts';
import type { Body } from '../../runtime/host/wire/outcome.ts';
import { type BlockKeys, type JobId, jobId } from '../../runtime/ids.ts';
import { type PartReader, partsIn } from '../../runtime/parted.ts';
import { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blame } from '../failed-record.ts';
import { NewReruns } from './actions/new-reruns.ts';
import { Awaited } from './awaited.ts';
import { Cancels, type RunLookups } from './cancel/cancels.ts';
import { CompletionWriter, originOf } from './completion-writer.ts';
import { type CommandLane, Lane } from './dispatch/lane.ts';
import { FollowedEnds } from './followed.ts';
import type { Gauges } from './gauges.ts';
import { type HoldSources, Holds } from './holds/holds.ts';
import { Pauses } from './holds/pauses.ts';
import { firstAttempt, hasRecord, isUnstarted, type OpenAttempt, type StopReason, takeFrom } from './open-attempt.ts';
import type { SettledJob } from './protocol.ts';
import { errorOf } from './records/attempt.ts';
import { type Block, decodeWhole, groupOf } from './records/block.ts';
import { isHosted, type TerminalStatus } from './records/job.ts';
import { MinuteCounters } from './records/minute-counters.ts';
import { type KeyText, keyText, OpenBlock } from './records/open.ts';
import { type Custody, encodeRetry } from './records/retry.ts';
import { ObservationBuffer } from './reports/observation-buffer.ts';
import { SettledJobs } from './settled-jobs.ts';
import { JobTimesTable } from './times/job-times.ts';
import { Retries } from './times/retries.ts';
import { assertMove } from './transitions.ts';

/** If the accepted blocks in memory exceed this many bytes, new ones are dropped from memory after the commit, and read again when needed. */
export const cachedBytesMax = 8 * 2 ** 20;

export type JobStateOptions = {
  readonly reader: Reader;
  readonly config: Config;
  readonly blockKeys: BlockKeys;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly gauges: Gauges;
  /** The list of unusable records. Default: a new one. */
  readonly setAside?: SetAside;
  /** The sources of holds, in addition to the configuration and to pauses. */
  readonly holdSources: HoldSources;
  readonly openRuns: RunLookups;
};

export class JobState {
  readonly reader: Reader;
  /** Reads the stored values to which values in parts refer. */
  readonly parts: PartReader;
  readonly blockKeys: BlockKeys;
  readonly random: () => number;
  readonly gauges: Gauges;
  readonly setAside: SetAside;
  readonly completions: CompletionWriter;
  readonly minutes: MinuteCounters;
  readonly observations = new ObservationBuffer();
  readonly retries = new Retries();
  readonly lanes = new Map<string, Lane>();
  readonly holds: Holds;
  readonly pauses: Pauses;
  readonly cancels: Cancels;
  readonly openRuns: RunLookups;
  readonly awaited: Awaited;
  readonly followed = new FollowedEnds();
  readonly newReruns = new NewReruns();
  readonly times: JobTimesTable;
  readonly settled = new SettledJobs();
  /** By key: open blocks, except those of runs and actions. Unread blocks, and blocks whose unsettled jobs are all delayed, may be missing. */
  readonly open = new Map<KeyText, OpenBlock>();
  /** Suspects and exempt jobs (exempt.ts) that wait for a slot of the quarantine. */
  readonly suspects: OpenAttempt[] = [];
  /** Blocks whose open records are written or removed at the end of the turn. */
  readonly #touched = new Set<OpenBlock>();
  /** The number of unsettled jobs, excluding delayed jobs, runs and actions. */
  unsettled = 0;
  running = 0;
  /** The number of delayed jobs and runs, whose time to run has not come. */
  scheduled = 0;
  /** Whether all open blocks have been read since the start. */
  isLoaded = false;
  /** How many unsettled jobs are held, by a pause or otherwise: as of the end of the previous turn, and those of new calls of this turn. */
  waiting = 0;
  cachedBytes = 0;
  config!: Config;
  #journaledUs = -1;

  constructor(options: JobStateOptions) {
    this.reader = options.reader;
    this.parts = partsIn(options.reader);
    this.blockKeys = options.blockKeys;
    this.random = options.random;
    this.gauges = options.gauges;
    this.setAside = options.setAside ?? new SetAside();
    this.completions = new CompletionWriter(options.reader, this.setAside);
    this.gauges.set({ journaled: this.completions.journalUs });
    for (const { delayed } of this.completions.counts) this.scheduled += delayed;
    this.minutes = new MinuteCounters(options.reader, this.setAside);
    this.holds = new Holds(options.reader, options.holdSources, this.setAside);
    this.pauses = new Pauses(options.reader, this.setAside);
    this.awaited = new Awaited(options.reader);
    this.times = new JobTimesTable(options.reader, this.setAside);
    this.openRuns = options.openRuns;
    this.cancels = new Cancels(options.reader, this.setAside, this.openRuns);
    this.configure(options.config);
  }

  configure(config: Config): void {
    this.config = config;
    this.pauses.endProbes();
    this.settled.configure(config.pipelines);
    for (const name of Object.keys(config.plugins)) this.lane(name);
    for (const lane of this.lanes.values()) lane.configure(instanceNamed(config, lane.name) ?? null);
    this.reviewHolds();
  }

  /** Determines again which lanes and commands are held. */
  reviewHolds(): void {
    for (const lane of this.lanes.values()) this.#reviewHold(lane);
  }

  #reviewHold(lane: Lane): void {
    const isDisabled = Object.hasOwn(this.config.disabledPlugins, lane.name);
    lane.hold = this.holds.ofLane(lane, isDisabled) ?? this.pauses.ofLane(lane);
    lane.probe = this.pauses.probeOf(lane);
    lane.pauseCommands(this.pauses.commandsOf(lane));
  }

  lane(name: string): Lane {
    let lane = this.lanes.get(name);
    if (!lane) {
      lane = new Lane(name, (plugin, command) => this.holds.ofCommand(plugin, command));
      lane.configure(instanceNamed(this.config, name) ?? null);
      this.#reviewHold(lane);
      this.lanes.set(name, lane);
    }
    return lane;
  }

  /**
   * The open block with this key. Undefined: all its jobs have settled, its jobs stand for runs or actions, or its open record is unusable
   * or not read yet.
   */
  find(key: Uint8Array): OpenBlock | undefined {
    const name = keyText(key);
    const known = this.open.get(name);
    if (known || !this.isLoaded) return known;
    const bytes = this.reader.get('open', key);
    const open = bytes && this.setAside.read('open', key, () => OpenBlock.decode(name, bytes));
    if (!open || !isHosted(open.plugin)) return undefined;
    this.open.set(name, open);
    return open;
  }

  /** The decoded block, from memory or from the store. */
  load(open: OpenBlock): Block {
    if (open.block) return open.block;
    const bytes = this.reader.get('blocks', open.keyBytes);
    try {
      if (!bytes) throw new Error('an open block has no record');
      open.block = decodeWhole(bytes, open.count);
    } catch (error) {
      throw blame({ kind: 'block', key: open.keyBytes }, error);
    }
    return open.block;
  }

  /** Makes `close` write or remove the block's open record at the end of the turn. */
  touch(open: OpenBlock): void {
    this.#touched.add(open);
  }

  /**
   * Ends a job. One commit contains the attempt (the job's log), the entry in the journal, the counters, and the consequences for a run.
   * `isSilent`: no observation reports the end, and no hook starts.
   */
  end(
    turn: Turn,
    job: OpenAttempt,
    status: TerminalStatus,
    startedUs: number | null,
    body: Body,
    from: 'queued' | 'running' = 'running',
    isSilent = false,
  ): void {
    assertMove(from, status);
    const { open, index } = job;
    const id = jobId(open.keyBytes, index);
    if (hasRecord(job)) {
      turn.batch.remove('retries', id);
      open.retrying--;
    }
    // A job that ends before its first attempt has a log of attempt 0.
    const number = from === 'queued' && isUnstarted(job) ? 0 : job.attempt;
    const { group, offset } = this.#writeAttempt(turn, open, id, index, number, status, true, startedUs, body);
    this.minutes.settled(status, turn.nowUs);
    open.settle(index);
    if (open.isTimed && open.unsettled === 0) this.times.end(turn.batch, open, this.load(open));
    this.unsettled--;
    this.touch(open);
    if (!this.cancels.isEmpty) this.cancels.ended(turn, id);
    if (!this.awaited.isEmpty) this.awaited.ended(id, turn);
    if (!this.followed.isEmpty) this.followed.ended(id, status);
    const settled: SettledJob =
      number > 0 ? { id, offset, status, body } : { id, offset, status, body, isSilent, neverStarted: true };
    const { plugin, command } = open;
    this.settled.add(plugin, command, group, settled);
    if (isSilent) return;
    if (status === 'succeeded') this.observations.job('job.completed', turn.nowUs, plugin, command, id);
    else this.observations.job(`job.${status}`, turn.nowUs, plugin, command, id, errorOf(body));
  }

  /** Ends the attempt. The job's next attempt is due after `delayMs`. */
  retry(
    turn: Turn,
    job: OpenAttempt,
    status: 'failed' | 'timed_out',
    startedUs: number | null,
    body: Body,
    delayMs: number,
    custody: 'waiting' | 'suspect',
  ): void {
    const { open, index, attempt } = job;
    const id = jobId(open.keyBytes, index);
    this.#writeAttempt(turn, open, id, index, attempt, status, false, startedUs, body);
    this.observations.job('job.retry_scheduled', turn.nowUs, open.plugin, open.command, id, errorOf(body));
    this.awaitRetry(this.move(turn, job, custody, turn.nowUs + delayMs * 1000, attempt + 1));
  }

  /** Writes an ended attempt. `startedUs` null: its start was not observed. */
  #writeAttempt(
    turn: Turn,
    open: OpenBlock,
    id: JobId,
    index: number,
    number: number,
    status: TerminalStatus,
    final: boolean,
    startedUs: number | null,
    body: Body,
  ) {
    const block = this.load(open);
    const completedUs = this.completions.commitUs(turn.nowUs);
    const started = startedUs === null ? completedUs : Math.min(Math.max(startedUs, block.createdUs), completedUs);
    const member = groupOf(block, index);
    const record = { status, final, startedUs: started, completedUs, body };
    this.completions.attempt(turn.batch, originOf(block, member.group), id, number, record);
    return member;
  }

  /** Stores the new custody of the job's attempt with the number `attempt`: the current attempt or the next one. Returns this attempt. */
  move(turn: Turn, job: OpenAttempt, custody: Custody, dueUs: number, attempt = job.attempt): OpenAttempt {
    const { open, index } = job;
    const moved = { open, index, attempt, custody, dueUs };
    if (!hasRecord(moved)) open.noteFirst(index, custody);
    else {
      turn.batch.put('retries', jobId(open.keyBytes, index), encodeRetry(moved));
      if (!hasRecord(job)) {
        open.noteFirst(index, null);
        open.retrying++;
      }
    }
    this.touch(open);
    return moved;
  }

  awaitRetry(job: OpenAttempt): void {
    this.retries.push(job);
  }

  popDue(nowUs: number): OpenAttempt | undefined {
    return this.retries.popDue(nowUs);
  }

  runOf({ open, index }: Pick<OpenAttempt, 'open' | 'index'>): JobId | null {
    return groupOf(this.load(open), index).group.run?.run ?? null;
  }

  /** The nearest cancelled run that contains the job, or a run whose detached cancel covers the job. Null: there is none. */
  cancelledRun(open: OpenBlock, index: number): JobId | null {
    if (!this.cancels.haveRuns) return null;
    const run = this.runOf({ open, index });
    return run && this.cancels.around(run);
  }

  /** Whether the job itself was cancelled, or the cancel of a run applies to it. If so, the job is neither started nor retried. */
  isCancelled({ open, index }: Pick<OpenAttempt, 'open' | 'index'>): boolean {
    if (this.cancels.isEmpty) return false;
    return this.cancelledRun(open, index) !== null || this.cancels.of(jobId(open.keyBytes, index)) !== undefined;
  }

  /** Null: the job may start and be retried. */
  stopOf(job: Pick<OpenAttempt, 'open' | 'index'>, nowUs: number): StopReason | null {
    if (this.isCancelled(job)) return 'cancelled';
    if (!job.open.isTimed) return null;
    const deadlineUs = this.times.of(job.open, this.load(job.open), job.index)?.deadlineUs ?? null;
    return deadlineUs !== null && deadlineUs <= nowUs ? 'timed_out' : null;
  }

  /** Ends the delay of the job. False: the job was not delayed. */
  wake(open: OpenBlock, index: number): boolean {
    if (!open.wake(index)) return false;
    if (isHosted(open.plugin)) this.unsettled++;
    this.scheduled--;
    this.completions.delayed(open.plugin, open.command, -1);
    this.touch(open);
    return true;
  }

  /**
   * Removes the attempt of a waiting job from its queue or, if the job is delayed, ends the delay. Returns the attempt. Undefined: the job
   * does not wait, or it waits in `blocks` of a backlog.
   */
  withdraw(open: OpenBlock, index: number): OpenAttempt | undefined {
    if (this.wake(open, index)) return firstAttempt(open, index);
    const lane = this.lane(open.plugin);
    return (
      this.retries.remove(open, index) ??
      lane.withdraw(open, index) ??
      lane.heldByCommand.get(open.command)?.withdraw(open, index) ??
      takeFrom(this.suspects, open, index) ??
      takeFrom(lane.lost, open, index)
    );
  }

  /** The retry policy of the job: its plugin's policy, overridden by the settings of its step. */
  policyOf({ open, index }: Pick<OpenAttempt, 'open' | 'index'>): RetryPolicy {
    const { retry } = this.lane(open.plugin);
    const own = groupOf(this.load(open), index).group.limits?.retry;
    return own ? { ...retry, ...own } : retry;
  }

  commandOf(open: OpenBlock): CommandLane | undefined {
    return this.lane(open.plugin).command(open.command);
  }

  close(turn: Turn): void {
    for (const open of this.#touched) {
      const key = open.keyBytes;
      if (open.unsettled > 0) turn.batch.put('open', key, open.encode());
      else turn.batch.remove('open', key);
      this.completions.settledInOpen.note(open);
      if (open.unsettled > open.delayed) continue;
      this.open.delete(open.key);
      this.release(open);
    }
    this.#touched.clear();
    this.times.close();
    this.newReruns.clear();
    this.cancels.close(turn);
    const { journalUs, changes } = this.completions.close(turn.batch);
    // Set after the commit, because journal consumers may process only committed entries.
    if (journalUs !== this.#journaledUs) turn.after(() => this.gauges.set({ journaled: journalUs }));
    this.#journaledUs = journalUs;
    this.minutes.close(turn.batch);
    this.observations.flush(turn);
    this.waiting = this.held;
    this.gauges.set({
      queued: this.unsettled - this.running - this.retries.size,
      running: this.running,
      retrying: this.retries.size,
      held: this.waiting,
      paused: this.waiting === 0 ? 0 : this.paused,
      scheduled: this.scheduled,
      changes,
    });
  }

  get held(): number {
    let held = 0;
    for (const lane of this.lanes.values()) held += lane.held;
    return held;
  }

  /** The number of jobs that a pause holds. */
  get paused(): number {
    let paused = 0;
    for (const lane of this.lanes.values()) paused += lane.paused;
    return paused;
  }

  /** Drops the decoded block from memory, unless it is kept for the dispatch of its jobs. */
  releaseLoaded(open: OpenBlock): void {
    if (open.inFlight === 0 && open.cachedBytes === 0) this.release(open);
  }

  release(open: OpenBlock): void {
    if (open.cachedBytes > 0) this.cachedBytes -= open.cachedBytes;
    open.cachedBytes = 0;
    open.block = null;
  }
}
