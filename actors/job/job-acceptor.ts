// Accepts new jobs: those of calls, deliveries, schedules and reruns, and those of steps. Jobs of one plugin and command that are created in
// the same turn share blocks, as far as their times allow (`#builders`).
import { encodeBody } from '../../runtime/host/wire/outcome.ts';
import { type JobId, jobIdBytes, writeJobId } from '../../runtime/ids.ts';
import { packedEmpty } from '../../runtime/packing.ts';
import type { Turn } from '../../runtime/turn.ts';
import { enqueue } from './dispatch/enqueue.ts';
import { cachedBytesMax, type JobState } from './job-state.ts';
import { firstAttempt } from './open-attempt.ts';
import {
  type IdempotencyStore,
  type NewCalls,
  type NewJobs,
  payloadGone,
  type Refusal,
  type RefusedWork,
  type RerunSource,
  type SubmitJobs,
  type SubmitJobsReply,
} from './protocol.ts';
import { BlockBuilder } from './records/block.ts';
import { type JobGroup, rootGroup } from './records/job.ts';
import { keyText, OpenBlock } from './records/open.ts';
import { acceptedOptions, areSameOptions, areTimed, isLater, type JobOptions } from './records/options.ts';
import type { Pause } from './records/pause.ts';
import { isWhole } from './records/reruns.ts';
import { putTagged } from './records/tags.ts';
import { writeTree } from './records/tree.ts';

type FailedAtCreation = { readonly index: number; readonly status: 'failed' | 'dead'; readonly error: string };
/**
 * A block that this turn fills. `timing`: whether its jobs are delayed or have other times; null: they have no times. A block of delayed
 * jobs contains no other jobs.
 */
type FillingBlock = {
  readonly builder: BlockBuilder;
  readonly failed: FailedAtCreation[];
  readonly timing: 'delayed' | 'timed' | null;
};

export class JobAcceptor {
  readonly #state: JobState;
  readonly #idempotency: IdempotencyStore;
  /**
   * The blocks that this turn fills, by plugin and command. Jobs never share a block if they differ in `timing`, or in the time limit that
   * their step sets for attempts.
   */
  readonly #builders = new Map<string, FillingBlock>();
  /** Why no new work at all is accepted at the moment. Null: there is no such reason. */
  closed: 'stopping' | 'disk_full' | null = null;

  constructor(state: JobState, idempotency: IdempotencyStore) {
    this.#idempotency = idempotency;
    this.#state = state;
  }

  submit(turn: Turn, message: SubmitJobs): void {
    turn.reply(message.replyTo, this.#remembered(turn, message) ?? this.take(turn, message));
  }

  #remembered(turn: Turn, { idempotency, watch }: SubmitJobs): SubmitJobsReply | null {
    const reply = idempotency ? this.#idempotency.answerAll(idempotency, turn) : null;
    // A message with a key and with `watch` comes from a call that creates one job: `ids` is one id.
    if (reply?.kind === 'accepted' && watch) this.#state.awaited.addKnown(reply.ids, turn);
    return reply;
  }

  /** Accepts as many of the jobs as there is room for. */
  take(turn: Turn, message: NewCalls): SubmitJobsReply {
    const options = acceptedOptions(message.options, turn.nowUs);
    const isDelayed = isLater(options, turn.nowUs);
    const unknown = this.#unknown(message);
    if (unknown) return { kind: 'refused', refusal: unknown };
    const lane = this.#state.lane(message.plugin);
    const isHeld = !isDelayed && lane.holdOf(message.command) !== null;
    const refusal = this.refusal(message.plugin, 0, isDelayed || isHeld);
    if (refusal) return { kind: 'refused', refusal };
    const pause = this.#state.pauses.rejecting(lane, message.command, message.submittedBy);
    if (pause && !message.waitsUnderPause) return refusedBy(pause);
    if (message.source && !message.payloads.every(payload => isWhole(this.#state.reader, payload))) return payloadGone;
    const ids: JobId[] = [];
    let rest: Refusal | null = null;
    for (const payload of message.payloads) {
      rest = this.refusal(message.plugin, 0, isDelayed || isHeld);
      if (rest) break;
      ids.push(this.#add(turn, message, options, isDelayed, payload));
      if (isHeld) this.#state.waiting++;
    }
    const all = Buffer.concat(ids);
    if (message.idempotency) this.#idempotency.remember(message.idempotency, all, turn);
    return { kind: 'accepted', ids: all, ...(rest && { rest }) };
  }

  /** Why no new work is accepted at the moment (`JobCalls` in protocol.ts). Null: new work is accepted. */
  refusal(plugin?: string, waitingRuns = 0, mustWait = false): Refusal | null {
    const { unsettled, waiting, scheduled, config } = this.#state;
    if (this.closed) return this.closed;
    const { queueDepthMax, waitingMax } = config.service;
    const allWaiting = waiting + scheduled;
    if (mustWait) return allWaiting + waitingRuns >= waitingMax ? 'too_many_waiting' : null;
    if (unsettled - waiting + waitingRuns >= queueDepthMax) return 'queue_full';
    return allWaiting >= waitingMax && (plugin === undefined || this.#mayWait(plugin)) ? 'too_many_waiting' : null;
  }

  /** Whether the plugin is held, or some of its commands have held jobs. Then a new job may have to wait, too. */
  #mayWait(plugin: string): boolean {
    const { hold, heldByCommand, ofPaused } = this.#state.lane(plugin);
    return hold !== null || ofPaused > 0 || [...heldByCommand.values()].some(({ waiting }) => waiting > 0);
  }

  #unknown({ plugin, command }: NewCalls): Refusal | null {
    const lane = this.#state.lanes.get(plugin);
    if (!lane?.instance) return 'unknown_plugin';
    return lane.command(command) ? null : 'unknown_command';
  }

  #add(turn: Turn, message: NewCalls, options: JobOptions | null, isDelayed: boolean, payload: Uint8Array): JobId {
    const { plugin, command, submittedBy, event, watch, source, context } = message;
    const timing = isDelayed ? 'delayed' : areTimed(options) ? 'timed' : null;
    const { builder } = this.#builderFor(turn, plugin, command, timing);
    const last = builder.groups.at(-1);
    const alike =
      last !== undefined &&
      last.parent === null &&
      last.submittedBy === submittedBy &&
      last.event?.type === event?.type &&
      last.event?.source === event?.source &&
      // Jobs with headers never share a group: each delivery has its own headers.
      last.event?.headers === undefined &&
      event?.headers === undefined &&
      last.rerun === null &&
      source === undefined &&
      context === undefined &&
      areSameOptions(last.options, options);
    const group: JobGroup = alike ? last : directGroup(submittedBy, event, source, options, context);
    if (isDelayed) this.#state.scheduled++;
    else this.#state.unsettled++;
    const id = builder.add(payload, group, alike);
    if (source) this.#state.newReruns.begin(turn.batch, source.rerun, id, payload);
    if (watch) this.#state.awaited.add(id);
    return id;
  }

  create(turn: Turn, { plugin, command, group, payloads, failedAtCreation }: NewJobs): void {
    let piece = group;
    let inPiece = 0;
    let current: BlockBuilder | null = null;
    for (let k = 0; k < payloads.length; k++) {
      const target = this.#builderFor(turn, plugin, command, null, group.limits?.timeoutMs);
      const alike: boolean = target.builder === current;
      if (!alike) {
        // A group that does not fit into the block continues in the next block, and its ordinals continue there.
        if (k > 0 && group.run && group.run.first !== null)
          piece = { ...group, run: { ...group.run, first: group.run.first + k } };
        current = target.builder;
        inPiece = 0;
      }
      target.builder.add(payloads[k]!, piece, alike && inPiece > 0);
      inPiece++;
      if (failedAtCreation) target.failed.push({ index: target.builder.count - 1, ...failedAtCreation });
    }
    this.#state.unsettled += payloads.length;
  }

  /** Writes the remaining blocks of this turn, and queues their jobs, except jobs that are delayed or failed at their creation. */
  seal(turn: Turn): void {
    for (const filling of this.#builders.values()) this.#close(turn, filling);
    this.#builders.clear();
  }

  /** `timeoutMs`: the time limit that a step sets for each attempt; undefined: none. All jobs of a block have the same `timeoutMs`. */
  #builderFor(
    turn: Turn,
    plugin: string,
    command: string,
    timing: FillingBlock['timing'],
    timeoutMs?: number,
  ): FillingBlock {
    const apart = timing ?? timeoutMs;
    const name = apart === undefined ? `${plugin}\0${command}` : `${plugin}\0${command}\0${apart}`;
    let filling = this.#builders.get(name);
    if (filling && !filling.builder.full) return filling;
    if (filling) this.#close(turn, filling);
    const key = this.#state.blockKeys.next(Math.floor(turn.nowUs / 1000));
    filling = { builder: new BlockBuilder(key, plugin, command, turn.nowUs), failed: [], timing };
    this.#builders.set(name, filling);
    return filling;
  }

  #close(turn: Turn, { builder, failed, timing }: FillingBlock): void {
    const state = this.#state;
    const { plugin, command, key, count } = builder;
    const open = writeBlock(state, turn, builder);
    open.block = builder;
    open.cachedBytes = builder.bytes + 64 * count;
    state.cachedBytes += open.cachedBytes;
    state.open.set(open.key, open);
    state.touch(open);
    state.observations.jobs('job.enqueued', turn.nowUs, plugin, command, idsOf(key, count));
    if (timing !== null) {
      open.isTimed = true;
      state.times.begin(turn, key, builder);
    }
    if (timing === 'delayed') {
      open.delayAll();
      state.completions.delayed(plugin, command, count);
    } else if (failed.length > 0 || hasExempt(state, builder)) this.#endFailed(turn, open, failed);
    else state.lane(plugin).enqueue(open);
    if (state.cachedBytes > cachedBytesMax) {
      turn.after(() => {
        if (open.inFlight === 0) state.release(open);
      });
    }
  }

  /** Ends the jobs of the block that failed at their creation, if any, and queues the others one by one. */
  #endFailed(turn: Turn, open: OpenBlock, failed: readonly FailedAtCreation[]): void {
    const state = this.#state;
    const ends = new Map(failed.map(job => [job.index, job]));
    open.next = open.count;
    for (let index = 0; index < open.count; index++) {
      const job = ends.get(index);
      const attempt = firstAttempt(open, index);
      if (job) state.end(turn, attempt, job.status, null, encodeBody({ error: Buffer.from(job.error) }), 'queued');
      else enqueue(state, state.move(turn, attempt, 'waiting', 0));
    }
  }
}

/** Writes a new block and its entries in other tables. Returns its open record, which is not written yet. */
export function writeBlock({ completions }: JobState, { batch }: Turn, builder: BlockBuilder): OpenBlock {
  const { key, plugin, command, count, tagged } = builder;
  batch.put('blocks', key, builder.encode());
  writeTree(batch, key, builder);
  if (tagged > 0) putTagged(batch, key, tagged);
  completions.accepted(batch, builder);
  return new OpenBlock(keyText(key), plugin, command, count);
}

/** Whether the service is paused, but at least one job of the block is exempt from the pause (exempt.ts). */
function hasExempt({ pauses, openRuns }: JobState, { groups }: BlockBuilder): boolean {
  return pauses.haveExemptions && groups.some(({ run }) => run !== null && openRuns.exemptSince(run.run) !== null);
}

export function refusedBy({ untilUs }: Pause): RefusedWork {
  return { kind: 'refused', refusal: 'paused', ...(untilUs !== null && { untilUs }) };
}

function directGroup(
  submittedBy: string,
  event: SubmitJobs['event'],
  source: RerunSource | undefined,
  options: JobOptions | null,
  context = source?.context ?? packedEmpty,
): JobGroup {
  return {
    ...rootGroup,
    depth: 1,
    submittedBy,
    event: event && { ...event, dedupeKey: source?.dedupeKey ?? null },
    context,
    rerun: source?.rerun ?? null,
    options,
  };
}

function idsOf(key: Uint8Array, count: number): Uint8Array {
  const ids = Buffer.allocUnsafe(count * jobIdBytes);
  for (let index = 0; index < count; index++) writeJobId(ids, index * jobIdBytes, key, index);
  return ids;
}
