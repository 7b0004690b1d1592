// The jobs that stand for runs of pipelines. They are never dispatched. A delayed run is queued until its time comes; any other run is
// running until it ends.

import { blockOf, indexOf, type JobId, jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blame } from '../failed-record.ts';
import { writeBlock } from './job-acceptor.ts';
import type { JobState } from './job-state.ts';
import type { EndedRun } from './protocol.ts';
import { errorOf } from './records/attempt.ts';
import { BlockBuilder, blockBytesMax } from './records/block.ts';
import { type JobGroup, pipelinePlugin } from './records/job.ts';
import { findOpen, type KeyText, keyText, OpenBlock } from './records/open.ts';
import { areSameOptions, areTimed, isLater } from './records/options.ts';

/** The maximum number of runs in a block. It is low, because a single open run keeps the other runs of its block from being pruned. */
export const runsPerBlockMax = 64;

/** A block of runs that this turn has created. `ended`: the indexes of the runs that have already ended. */
type NewBlock = { readonly builder: BlockBuilder; readonly ended: number[]; readonly isDelayed: boolean };

export class RunJobs {
  readonly #state: JobState;
  readonly #new = new Map<KeyText, NewBlock>();
  /** By pipeline: the blocks that take further root runs. Delayed runs, other runs with times, and runs without times never share a block. */
  readonly #filling = new Map<string, BlockBuilder>();
  /**
   * By key: blocks with open runs. A new block is added at the end of its turn, unless its runs are delayed. A block of delayed runs, or
   * from before the start of the actors, is added when it is first read, and removed at the end of the turn if all its runs are delayed.
   */
  readonly #open = new Map<KeyText, OpenBlock>();
  /** Blocks whose last open run has ended in this turn. Until the commit, the store still has their open records. */
  readonly #closed = new Set<KeyText>();
  /** Blocks whose runs have times (records/options.ts) and that this turn has created, read or decoded. `close` releases the decoded blocks. */
  readonly #timed: OpenBlock[] = [];

  constructor(state: JobState) {
    this.#state = state;
  }

  create(turn: Turn, pipeline: string, group: JobGroup, payload: Uint8Array): JobId {
    const { newReruns, observations } = this.#state;
    const isDelayed = isLater(group.options, turn.nowUs);
    const builder = this.#builderFor(turn, pipeline, group, isDelayed);
    const id = builder.add(payload, group, isAlike(builder.groups.at(-1), group));
    if (group.rerun) newReruns.begin(turn.batch, group.rerun, id, payload);
    observations.job('job.enqueued', turn.nowUs, pipelinePlugin, pipeline, id);
    if (isDelayed) this.#state.scheduled++;
    else observations.job('pipeline.started', turn.nowUs, pipelinePlugin, pipeline, id);
    return id;
  }

  /** Creates runs that begin in a later turn. They share no block with runs that begin in this turn. */
  createAll(turn: Turn, pipeline: string, group: JobGroup, payloads: readonly Uint8Array[]): JobId[] {
    this.#filling.clear();
    const ids = payloads.map(payload => this.create(turn, pipeline, group, payload));
    this.#filling.clear();
    return ids;
  }

  /**
   * The block for the next run. Root runs share blocks (`#filling`). Any other run has a block of its own, which is newer than its parent's
   * block, because a tree is listed in the order of its blocks.
   */
  #builderFor(turn: Turn, pipeline: string, { root, options }: JobGroup, isDelayed: boolean): BlockBuilder {
    const name = areTimed(options) ? `${pipeline}\0${isDelayed}` : pipeline;
    const filling = root === null ? this.#filling.get(name) : undefined;
    if (filling && filling.count < runsPerBlockMax && filling.payloadBytes < blockBytesMax) return filling;
    const key = this.#state.blockKeys.next(Math.floor(turn.nowUs / 1000));
    const builder = new BlockBuilder(key, pipelinePlugin, pipeline, turn.nowUs);
    this.#new.set(keyText(key), { builder, ended: [], isDelayed });
    if (root === null) this.#filling.set(name, builder);
    return builder;
  }

  settle(turn: Turn, { id, pipeline, submittedBy, status, body, createdUs, attempt: number }: EndedRun): void {
    const { completions, minutes, observations, awaited, followed } = this.#state;
    const completedUs = completions.commitUs(turn.nowUs);
    const startedUs = Math.min(Math.max(this.#end(turn, id) ?? 0, createdUs), completedUs);
    const attempt = { status, final: true, startedUs, completedUs, body };
    const owner = { plugin: pipelinePlugin, command: pipeline, submittedBy, createdUs, inStep: false };
    completions.attempt(turn.batch, owner, id, number, attempt);
    minutes.settled(status, turn.nowUs);
    if (!this.#state.cancels.isEmpty) this.#state.cancels.ended(turn, id);
    if (!awaited.isEmpty) awaited.ended(id, turn);
    if (!followed.isEmpty) followed.ended(id, status);
    const succeeded = status === 'succeeded';
    const error = succeeded ? undefined : errorOf(body);
    const how = succeeded ? 'completed' : status;
    observations.job(`job.${how}`, turn.nowUs, pipelinePlugin, pipeline, id, error);
    observations.job(`pipeline.${how === 'dead' ? 'failed' : how}`, turn.nowUs, pipelinePlugin, pipeline, id, error);
  }

  /** Writes the blocks of the runs that this turn has created. */
  seal(turn: Turn): void {
    for (const block of this.#new.values()) this.#close(turn, block);
    this.#new.clear();
    this.#filling.clear();
  }

  #close(turn: Turn, { builder, ended, isDelayed }: NewBlock): void {
    const { key, plugin, command, count } = builder;
    const open = writeBlock(this.#state, turn, builder);
    open.sentUs = turn.nowUs;
    if (isDelayed) {
      open.delayAll();
      this.#state.completions.delayed(plugin, command, count);
    } else open.next = count;
    for (const index of ended) open.settle(index);
    if (open.unsettled === 0) return;
    open.isTimed = builder.starts.some((_, place) => areTimed(builder.group(place).options));
    if (open.isTimed) {
      this.#state.times.begin(turn, key, builder);
      // Reads of the store show the block only from the next turn on.
      open.block = builder;
      this.#timed.push(open);
    }
    if (!isDelayed) this.#open.set(open.key, open);
    this.#state.touch(open);
  }

  /** The open record of the block with this key. Undefined: the block has no open run, or the record is unusable or not stored yet. */
  find(key: Uint8Array): OpenBlock | undefined {
    const known = this.#open.get(keyText(key));
    if (known || this.#closed.has(keyText(key))) return known;
    const { reader, setAside } = this.#state;
    const bytes = reader.get('open', key);
    const open = bytes && setAside.read('open', key, () => OpenBlock.decode(keyText(key), bytes));
    if (open?.plugin !== pipelinePlugin) return undefined;
    this.#open.set(open.key, open);
    this.#timed.push(open);
    return open;
  }

  /** Must be called at the end of a turn. */
  close(): void {
    for (const open of this.#timed.splice(0)) {
      this.#state.release(open);
      if (open.delayed === open.unsettled) this.#open.delete(open.key);
    }
    this.#closed.clear();
  }

  /** Ends the delay of a run. `isBegun`: the run begins now; otherwise it ends without having begun. */
  wake(turn: Turn, open: OpenBlock, index: number, isBegun = true): void {
    open.next = open.count;
    this.#state.wake(open, index);
    this.#timed.push(open);
    const { keyBytes, command } = open;
    if (isBegun)
      this.#state.observations.job('pipeline.started', turn.nowUs, pipelinePlugin, command, jobId(keyBytes, index));
  }

  /** Records that the run has ended. Returns the run's time to run, in µs; null: it had none, or this turn has created the run. */
  #end(turn: Turn, id: JobId): number | null {
    const name = keyText(blockOf(id));
    const fresh = this.#new.get(name);
    if (fresh) {
      fresh.ended.push(indexOf(id));
      return null;
    }
    const state = this.#state;
    const open = this.#open.get(name) ?? this.#tryRead(name, id);
    const block = open.isTimed ? state.load(open) : null;
    const times = block && state.times.of(open, block, indexOf(id));
    open.settle(indexOf(id));
    state.touch(open);
    if (open.unsettled === 0) {
      if (block) state.times.end(turn.batch, open, block);
      this.#open.delete(name);
      this.#closed.add(name);
    } else if (block) this.#timed.push(open);
    return times?.runAtUs ?? null;
  }

  #tryRead(name: KeyText, id: JobId): OpenBlock {
    try {
      return this.#read(name, id);
    } catch (error) {
      throw blame({ kind: 'run', id }, error);
    }
  }

  /** Reads the open record of a run that was created before the last start of the actors. */
  #read(name: KeyText, id: JobId): OpenBlock {
    const open = findOpen(this.#state.reader, blockOf(id));
    if (!open) throw new Error(`no open record for a run that ends: ${Buffer.from(id).toString('hex')}`);
    this.#open.set(name, open);
    return open;
  }
}

/**
 * Whether the run can share the `JobGroup` of the run before it: both are roots, neither is a rerun or has headers in its event, and they
 * differ only in their payloads. Runs from calls of one caller usually do.
 */
function isAlike(before: JobGroup | undefined, group: JobGroup): boolean {
  return (
    before !== undefined &&
    group.parent === null &&
    before.parent === null &&
    before.submittedBy === group.submittedBy &&
    before.event?.type === group.event?.type &&
    before.event?.source === group.event?.source &&
    before.event?.dedupeKey === group.event?.dedupeKey &&
    before.event?.headers === undefined &&
    group.event?.headers === undefined &&
    before.context === group.context &&
    before.hooked === group.hooked &&
    before.rerun === null &&
    group.rerun === null &&
    areSameOptions(before.options, group.options)
  );
}
