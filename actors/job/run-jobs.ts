// The jobs that stand for runs of pipelines. They are never dispatched, and are running from the beginning of the run to its end.

import { blockOf, indexOf, type JobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blame } from '../failed-record.ts';
import type { JobState } from './job-state.ts';
import type { EndedRun } from './protocol.ts';
import { errorOf } from './records/attempt.ts';
import { BlockBuilder, blockBytesMax } from './records/block.ts';
import type { JobGroup } from './records/job.ts';
import { pipelinePlugin } from './records/job.ts';
import { type KeyText, keyText, OpenBlock } from './records/open.ts';
import { writeTree } from './records/tree.ts';

/** The maximum number of runs in a block: a single open run keeps the others from being pruned. */
export const runsPerBlockMax = 64;

/** A block of runs that this turn has created. `ended`: the indexes of those that have ended already. */
type NewBlock = { readonly builder: BlockBuilder; readonly ended: number[] };

export class RunJobs {
  readonly #state: JobState;
  readonly #new = new Map<KeyText, NewBlock>();
  /** By pipeline: the block that takes the next root run. */
  readonly #filling = new Map<string, BlockBuilder>();
  /** The blocks with open runs, if one of their runs has begun or ended since the start. */
  readonly #open = new Map<KeyText, OpenBlock>();

  constructor(state: JobState) {
    this.#state = state;
  }

  create(turn: Turn, pipeline: string, group: JobGroup, payload: Uint8Array): JobId {
    const { newReruns, observations } = this.#state;
    const builder = this.#builderFor(turn, pipeline, group);
    const id = builder.add(payload, group, isAlike(builder.groups.at(-1), group));
    if (group.rerun) newReruns.begin(turn.batch, group.rerun, id, payload);
    observations.job('job.enqueued', turn.nowUs, pipelinePlugin, pipeline, id);
    observations.job('pipeline.started', turn.nowUs, pipelinePlugin, pipeline, id);
    return id;
  }

  /** Creates runs that begin in a later turn. They share no block with runs that begin in this one. */
  createAll(turn: Turn, pipeline: string, group: JobGroup, payloads: readonly Uint8Array[]): JobId[] {
    this.#filling.delete(pipeline);
    const ids = payloads.map(payload => this.create(turn, pipeline, group, payload));
    this.#filling.delete(pipeline);
    return ids;
  }

  /**
   * The block for the next run. Root runs share blocks: they have no baggage, and only their payloads may be large. Any other run has a
   * block of its own, younger than its parent's, because a tree is listed in the order of its blocks.
   */
  #builderFor(turn: Turn, pipeline: string, { root }: JobGroup): BlockBuilder {
    const filling = root === null ? this.#filling.get(pipeline) : undefined;
    if (filling && filling.count < runsPerBlockMax && filling.payloadBytes < blockBytesMax) return filling;
    const key = this.#state.blockKeys.next(Math.floor(turn.nowUs / 1000));
    const builder = new BlockBuilder(key, pipelinePlugin, pipeline, turn.nowUs);
    this.#new.set(keyText(key), { builder, ended: [] });
    if (root === null) this.#filling.set(pipeline, builder);
    return builder;
  }

  settle(turn: Turn, { id, pipeline, submittedBy, status, body, createdUs }: EndedRun): void {
    const { completions, minutes, observations, awaited } = this.#state;
    const completedUs = completions.commitUs(turn.nowUs);
    const attempt = { status, final: true, startedUs: Math.min(createdUs, completedUs), completedUs, body };
    const owner = { plugin: pipelinePlugin, command: pipeline, submittedBy, createdUs, inStep: false };
    completions.attempt(turn.batch, owner, id, 1, attempt);
    minutes.settled(status, turn.nowUs);
    if (!this.#state.cancels.isEmpty) this.#state.cancels.ended(turn, id);
    if (!awaited.isEmpty) awaited.ended(id, turn);
    this.#end(id);
    const succeeded = status === 'succeeded';
    const error = succeeded ? undefined : errorOf(body);
    const how = succeeded ? 'completed' : status === 'cancelled' ? 'cancelled' : 'failed';
    observations.job(`job.${how}`, turn.nowUs, pipelinePlugin, pipeline, id, error);
    observations.job(`pipeline.${how}`, turn.nowUs, pipelinePlugin, pipeline, id, error);
  }

  /** Writes the blocks of the runs that this turn has created. */
  seal(turn: Turn): void {
    for (const { builder, ended } of this.#new.values()) this.#close(turn, builder, ended);
    this.#new.clear();
    this.#filling.clear();
  }

  #close(turn: Turn, builder: BlockBuilder, ended: readonly number[]): void {
    const { key, plugin, command, count } = builder;
    turn.batch.put('blocks', key, builder.encode());
    writeTree(turn.batch, key, builder);
    this.#state.completions.accepted(turn.batch, key, plugin, command, count);
    const open = new OpenBlock(keyText(key), plugin, command, count);
    open.next = count;
    open.sentUs = turn.nowUs;
    for (const index of ended) open.settle(index);
    if (open.unsettled === 0) return;
    this.#open.set(open.key, open);
    this.#state.touch(open);
  }

  #end(id: JobId): void {
    const name = keyText(blockOf(id));
    const block = this.#new.get(name);
    if (block) {
      block.ended.push(indexOf(id));
      return;
    }
    const open = this.#open.get(name) ?? this.#tryRead(name, id);
    open.settle(indexOf(id));
    this.#state.touch(open);
    if (open.unsettled === 0) this.#open.delete(name);
  }

  #tryRead(name: KeyText, id: JobId): OpenBlock {
    try {
      return this.#read(name, id);
    } catch (error) {
      throw blame({ kind: 'run', id }, error);
    }
  }

  /** Reads the open record of a run that began before the last start. */
  #read(name: KeyText, id: JobId): OpenBlock {
    const bytes = this.#state.reader.get('open', blockOf(id));
    if (!bytes) throw new Error(`no open record for a run that ends: ${Buffer.from(id).toString('hex')}`);
    const open = OpenBlock.decode(name, bytes);
    this.#open.set(name, open);
    return open;
  }
}

/** Whether the run can share the group of the run before it, because they differ only in their payloads, as calls of one caller do. */
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
    group.rerun === null
  );
}
