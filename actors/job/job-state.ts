// The job actor's state, and the few moves that everything else is made of: touch, end, retry, enqueue again.

import type { Config, RetryPolicy } from '../../config/config.ts';
import { isJobHook } from '../../config/pipeline/definition.ts';
import { type Body, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { BlockKeys } from '../../runtime/ids.ts';
import { type JobId, jobId } from '../../runtime/ids.ts';
import { type Parts, partsIn } from '../../runtime/parted.ts';
import { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blame } from '../failed-record.ts';
import type { Again } from './backlog.ts';
import { type AttemptOrigin, CompletionWriter } from './completion-writer.ts';
import type { Gauges } from './gauges.ts';
import { type HoldSources, Holds } from './holds.ts';
import { type CommandLane, Lane } from './lane.ts';
import { ObservationBuffer } from './observation-buffer.ts';
import type { JobsSettled, SettledJob } from './protocol.ts';
import { errorOf } from './records/attempt.ts';
import { type Block, decodeBlock, groupOf } from './records/block.ts';
import type { Hold } from './records/hold.ts';
import type { JobGroup, TerminalStatus } from './records/job.ts';
import { MinuteCounters } from './records/minute-counters.ts';
import type { OpenBlock } from './records/open.ts';
import { encodeRetry, type RetryRecord } from './records/retry.ts';
import { Retries, type Waiting } from './retries.ts';
import { decide } from './retry-policy.ts';
import { assertMove } from './transitions.ts';

/** Payload bytes of waiting blocks that are kept decoded; what is over is read again when its turn comes. */
export const cachedBytesMax = 8 * 2 ** 20;

export type JobStateOptions = {
  readonly reader: Reader;
  readonly config: Config;
  readonly blockKeys: BlockKeys;
  /** In [0, 1). */
  readonly random: () => number;
  readonly gauges: Gauges;
  /** Records that cannot be used; absent: a list of its own. */
  readonly setAside?: SetAside;
  /** What may hold a plugin besides its absence. */
  readonly holdSources?: HoldSources;
};

/** How a job ends. `attempt` 0: it never ran. */
export type JobEnd = {
  readonly from: 'queued' | 'running';
  readonly attempt: number;
  readonly status: TerminalStatus;
  readonly startedUs: number | null;
  readonly body: Body;
};

export class JobState {
  readonly reader: Reader;
  /** Of payloads. */
  readonly parts: Parts;
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
  /** Jobs that may have ended their host, and wait for a place in the quarantine. */
  readonly suspects: Again[] = [];
  /** Their open records are written at the end of the turn. */
  readonly #touched = new Set<OpenBlock>();
  /** Unsettled jobs, those that stand for runs not counted. */
  unsettled = 0;
  running = 0;
  /** Of the unsettled jobs those that are held or wait for their next attempt, as of the end of the last turn. */
  waiting = 0;
  cachedBytes = 0;
  config!: Config;
  #journaledUs = -1;
  #hooked = false;
  /** Jobs that settled and matter to runs, those of one group together. */
  #settled: (JobsSettled & { readonly jobs: SettledJob[] })[] = [];

  constructor(options: JobStateOptions) {
    this.reader = options.reader;
    this.parts = partsIn(options.reader);
    this.blockKeys = options.blockKeys;
    this.random = options.random;
    this.gauges = options.gauges;
    this.setAside = options.setAside ?? new SetAside();
    this.completions = new CompletionWriter(options.reader, this.setAside);
    this.gauges.set({ journaled: this.completions.journalUs });
    this.minutes = new MinuteCounters(options.reader, this.setAside);
    this.holds = new Holds(options.reader, options.holdSources ?? [], this.setAside);
    this.configure(options.config);
  }

  configure(config: Config): void {
    this.config = config;
    this.#hooked = config.pipelines.some(({ onHook }) => onHook !== null && isJobHook(onHook));
    for (const name of Object.keys(config.plugins)) this.lane(name);
    for (const lane of this.lanes.values()) lane.configure(config.plugins[lane.name] ?? null);
    this.reviewHolds();
  }

  /** Asks again which lanes are held. */
  reviewHolds(): void {
    for (const lane of this.lanes.values()) lane.hold = this.#holdOf(lane);
  }

  #holdOf(lane: Lane): Hold | null {
    return this.holds.ofLane(lane, Object.hasOwn(this.config.disabledPlugins, lane.name));
  }

  lane(name: string): Lane {
    let lane = this.lanes.get(name);
    if (!lane) {
      lane = new Lane(name, (plugin, command) => this.holds.ofCommand(plugin, command));
      lane.configure(this.config.plugins[name] ?? null);
      lane.hold = this.#holdOf(lane);
      this.lanes.set(name, lane);
    }
    return lane;
  }

  /** The block's jobs, from memory or from the store. */
  load(open: OpenBlock): Block {
    if (open.block) return open.block;
    const bytes = this.reader.get('blocks', open.keyBytes);
    try {
      if (!bytes) throw new Error('an open block has no record');
      open.block = readWhole(bytes, open);
    } catch (error) {
      throw blame({ kind: 'block', key: open.keyBytes }, error);
    }
    return open.block;
  }

  /** The open record of this block is written at the end of the turn. */
  touch(open: OpenBlock): void {
    this.#touched.add(open);
  }

  /** A job ends for good: record, log, journal, counters, and what its run makes of it are one commit. */
  end(turn: Turn, open: OpenBlock, index: number, ending: JobEnd): void {
    const { from, attempt, status, startedUs, body } = ending;
    assertMove(from, status);
    const block = this.load(open);
    const id = jobId(open.keyBytes, index);
    const completedUs = this.completions.commitUs(turn.nowUs);
    const started = startedUs === null ? completedUs : Math.min(Math.max(startedUs, block.createdUs), completedUs);
    const record = { status, final: true, startedUs: started, completedUs, body };
    const { group, offset } = groupOf(block, index);
    this.completions.attempt(turn.batch, ownerOf(block, group), id, attempt, record);
    this.minutes.settled(status, turn.nowUs);
    open.settle(index);
    this.unsettled--;
    this.touch(open);
    if (status === 'succeeded') this.observations.job('job.completed', turn.nowUs, open.plugin, open.command, id);
    else this.observations.job(`job.${status}`, turn.nowUs, open.plugin, open.command, id, errorOf(body));
    this.#route(open, group, offset, id, status, body);
  }

  /** The job waits for its next attempt. */
  retry(turn: Turn, open: OpenBlock, index: number, record: RetryRecord, kept: boolean): void {
    this.keepRetry(turn, open, index, record);
    if (!kept) open.retrying++;
    this.touch(open);
    const { dueUs, attempt, culprit } = record;
    this.delay({ dueUs, open, index, attempt, culprit });
  }

  /** The job's record is in the store; from now on it waits for the time of its attempt. */
  delay(job: Waiting): void {
    this.retries.push(job);
    this.lane(job.open.plugin).delayed++;
  }

  /** The next job whose attempt is due. */
  popDue(nowUs: number): Waiting | undefined {
    const due = this.retries.popDue(nowUs);
    if (due) this.lane(due.open.plugin).delayed--;
    return due;
  }

  keepRetry(turn: Turn, open: OpenBlock, index: number, record: RetryRecord): void {
    turn.batch.put('retries', jobId(open.keyBytes, index), encodeRetry(record));
  }

  dropRetry(turn: Turn, open: OpenBlock, index: number): void {
    turn.batch.remove('retries', jobId(open.keyBytes, index));
    open.retrying--;
    this.touch(open);
  }

  /**
   * A running attempt was lost with its host or the service, and is charged: it failed, and the job is retried at once
   * while attempts are left. `attempt` is the number of the lost one.
   */
  lost(turn: Turn, open: OpenBlock, index: number, attempt: number, kept: boolean, culprit: boolean, body: Body): void {
    const command = this.lane(open.plugin).lastKnown(open.command);
    const decision = decide(
      {
        verdict: 'error',
        permanent: false,
        attempt,
        policy: this.policyOf(open.plugin),
        retrySafe: command?.retrySafe ?? true,
      },
      this.random,
    );
    if (decision.kind === 'end') {
      if (kept) this.dropRetry(turn, open, index);
      this.end(turn, open, index, { from: 'running', attempt, status: decision.status, startedUs: null, body });
      return;
    }
    this.logRetried(turn, open, index, attempt, 'failed', turn.nowUs, body);
    this.retry(turn, open, index, { attempt: attempt + 1, dueUs: turn.nowUs, stage: 'waiting', culprit }, kept);
  }

  /** The log record of an attempt that is followed by another. */
  logRetried(
    turn: Turn,
    open: OpenBlock,
    index: number,
    attempt: number,
    status: 'failed' | 'timed_out',
    startedUs: number,
    body: Body,
  ): void {
    const block = this.load(open);
    const { createdUs } = block;
    const id = jobId(open.keyBytes, index);
    const completedUs = this.completions.commitUs(turn.nowUs);
    this.completions.attempt(turn.batch, ownerOf(block, groupOf(block, index).group), id, attempt, {
      status,
      final: false,
      startedUs: Math.min(Math.max(startedUs, createdUs), completedUs),
      completedUs,
      body,
    });
    this.observations.job('job.retry_scheduled', turn.nowUs, open.plugin, open.command, id, errorOf(body));
  }

  policyOf(plugin: string): RetryPolicy {
    return this.lane(plugin).retry;
  }

  commandOf(open: OpenBlock): CommandLane | undefined {
    return this.lane(open.plugin).command(open.command);
  }

  /** The jobs that settled since the last call, for the pipeline actor. */
  takeSettled(): readonly JobsSettled[] {
    const settled = this.#settled;
    if (settled.length > 0) this.#settled = [];
    return settled;
  }

  /** Writes what the turn changed. */
  close(turn: Turn): void {
    for (const open of this.#touched) {
      const key = open.keyBytes;
      if (open.unsettled > 0) turn.batch.put('open', key, open.encode());
      else {
        turn.batch.remove('open', key);
        this.release(open);
      }
    }
    this.#touched.clear();
    this.completions.close(turn.batch);
    const { journalUs } = this.completions;
    // Not before the commit: what follows the journal may take an entry only when nothing can undo it.
    if (journalUs !== this.#journaledUs) turn.after(() => this.gauges.set({ journaled: journalUs }));
    this.#journaledUs = journalUs;
    this.minutes.close(turn.batch);
    this.observations.flush(turn);
    this.waiting = this.retries.size + this.held;
    this.gauges.set({
      queued: this.unsettled - this.running - this.retries.size,
      running: this.running,
      delayed: this.retries.size,
    });
  }

  /** Queued jobs that are held. */
  get held(): number {
    let held = 0;
    for (const lane of this.lanes.values()) held += lane.held;
    return held;
  }

  /** Lets go of the decoded block. */
  release(open: OpenBlock): void {
    if (open.cachedBytes > 0) this.cachedBytes -= open.cachedBytes;
    open.cachedBytes = 0;
    open.block = null;
  }

  #route(open: OpenBlock, group: JobGroup, offset: number, id: JobId, status: TerminalStatus, body: Body): void {
    if (!this.#isRouted(group, status, body)) return;
    const job: SettledJob = { id, offset, status, body };
    const { plugin, command } = open;
    const last = this.#settled.at(-1);
    if (last && last.group === group && last.command === command && last.plugin === plugin) last.jobs.push(job);
    else this.#settled.push({ plugin, command, group, jobs: [job] });
  }

  #isRouted(group: JobGroup, status: TerminalStatus, body: Body): boolean {
    if (group.run !== null) return true;
    if (status === 'succeeded' && hasPart(body, 'events')) return true;
    return this.#hooked && !group.hooked;
  }
}

/** Throws where the block cannot be used: all of it is decoded, since its jobs are about to be handed out. */
function readWhole(bytes: Uint8Array, { count }: OpenBlock): Block {
  const block = decodeBlock(bytes);
  if (block.count !== count) throw new Error(`the block has ${block.count} jobs, its open record ${count}`);
  for (let place = 0; place < block.starts.length; place++) block.group(place);
  return block;
}

function ownerOf({ plugin, command, createdUs }: Block, { submittedBy, stepId }: JobGroup): AttemptOrigin {
  return { plugin, command, submittedBy, createdUs, inStep: stepId !== null };
}
