// The jobs that stand for pipeline runs. They are never dispatched: from their beginning to their end they run.

import { blockOf, indexOf, type JobId, jobId } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { blame } from '../culprit.ts';
import type { JobState } from './job-state.ts';
import type { CreateRun, RunIds, SettleRun } from './protocol.ts';
import { errorOf } from './records/attempt.ts';
import { BlockBuilder, blockBytesMax } from './records/block.ts';
import type { JobGroup } from './records/job.ts';
import { pipelinePlugin } from './records/job.ts';
import { type KeyText, keyText, OpenBlock } from './records/open.ts';
import { writeTree } from './records/tree.ts';

/** Runs that share a block, at most: a run that lasts keeps its neighbours from being pruned. */
export const runsPerBlockMax = 64;

/** A block that still has room, for the ids that are given next. Only calls share one: they have no baggage, and payloads are all that may be long of them. */
type Room = { readonly key: Uint8Array; given: number; bytes: number };

/** Runs that began in this turn, and those of them that are over already. */
type Begun = { readonly builder: BlockBuilder; readonly ended: number[] };

export class RunJobs implements RunIds {
  readonly #state: JobState;
  /** By pipeline. */
  readonly #rooms = new Map<string, Room>();
  readonly #begun = new Map<KeyText, Begun>();
  /** The blocks of runs that go on, as far as they began or ended since the start. */
  readonly #open = new Map<KeyText, OpenBlock>();

  constructor(state: JobState) {
    this.#state = state;
  }

  next(turn: Turn, pipeline: string, payload: Uint8Array, isRoot: boolean): JobId {
    let room = isRoot ? this.#rooms.get(pipeline) : undefined;
    if (!room || room.given >= runsPerBlockMax || room.bytes >= blockBytesMax) {
      room = { key: this.#state.blockKeys.next(Math.floor(turn.nowUs / 1000)), given: 0, bytes: 0 };
      if (isRoot) this.#rooms.set(pipeline, room);
    }
    room.bytes += payload.length;
    return jobId(room.key, room.given++);
  }

  create(turn: Turn, { id, pipeline, group, payload }: CreateRun): void {
    const { watch } = this.#state;
    const key = Buffer.from(blockOf(id));
    let begun = this.#begun.get(keyText(key));
    if (!begun) {
      begun = { builder: new BlockBuilder(key, pipelinePlugin, pipeline, turn.nowUs), ended: [] };
      this.#begun.set(keyText(key), begun);
    }
    const { builder } = begun;
    if (builder.count !== indexOf(id)) throw new Error(`a run is created as ${indexOf(id)} of ${builder.count} runs`);
    builder.add(payload, group, isAlike(builder.groups.at(-1), group));
    watch.job('job.enqueued', turn.nowUs, pipelinePlugin, pipeline, id);
    watch.job('pipeline.started', turn.nowUs, pipelinePlugin, pipeline, id);
  }

  settle(turn: Turn, { id, pipeline, submittedBy, status, body, createdUs }: SettleRun): void {
    const { completions, minutes, watch } = this.#state;
    const completedUs = completions.commitUs(turn.nowUs);
    const attempt = { status, final: true, startedUs: Math.min(createdUs, completedUs), completedUs, body };
    const owner = { plugin: pipelinePlugin, command: pipeline, submittedBy, createdUs, inStep: false };
    completions.attempt(turn.batch, owner, id, 1, attempt);
    minutes.settled(status, turn.nowUs);
    this.#end(id);
    const succeeded = status === 'succeeded';
    const error = succeeded ? undefined : errorOf(body);
    watch.job(succeeded ? 'job.completed' : 'job.failed', turn.nowUs, pipelinePlugin, pipeline, id, error);
    watch.job(succeeded ? 'pipeline.completed' : 'pipeline.failed', turn.nowUs, pipelinePlugin, pipeline, id, error);
  }

  /** Writes the blocks of the runs that began: ids that are given from now on are of others. */
  seal(turn: Turn): void {
    for (const { builder, ended } of this.#begun.values()) this.#close(turn, builder, ended);
    this.#begun.clear();
    this.#rooms.clear();
  }

  #close(turn: Turn, builder: BlockBuilder, ended: readonly number[]): void {
    const { key, plugin, command, count } = builder;
    turn.batch.put('blocks', key, builder.encode());
    writeTree(turn.batch, key, builder);
    this.#state.completions.accepted(turn.batch, key, plugin, command, count);
    const open = new OpenBlock(keyText(key), plugin, command, count);
    open.next = count;
    open.outUs = turn.nowUs;
    for (const index of ended) open.settle(index);
    if (open.unsettled === 0) return;
    this.#open.set(open.key, open);
    this.#state.touch(open);
  }

  #end(id: JobId): void {
    const name = keyText(blockOf(id));
    const begun = this.#begun.get(name);
    if (begun) {
      begun.ended.push(indexOf(id));
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

  /** It began before the last start. */
  #read(name: KeyText, id: JobId): OpenBlock {
    const bytes = this.#state.reader.get('open', blockOf(id));
    if (!bytes) throw new Error(`a run ends that is not open: ${Buffer.from(id).toString('hex')}`);
    const open = OpenBlock.decode(name, bytes);
    this.#open.set(name, open);
    return open;
  }
}

/** Calls of one pipeline by one caller differ in nothing but their payloads. */
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
    before.hooked === group.hooked
  );
}
