// Actions over many jobs. An action is itself a job, which is never dispatched. The main thread sends a message for each step of an
// action, with the ids of the next jobs; for a backfill, the schedule actor finds the next occurrences. The effects of a step and the
// new cursor of the action are part of one commit, so no job is handled twice.
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { blockOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { packedEmpty } from '../../../runtime/packing.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { FireBackfill } from '../../schedule/protocol.ts';
import { writeBlock } from '../job-acceptor.ts';
import type { JobState } from '../job-state.ts';
import type {
  ActionStep,
  ActionStepReply,
  IdempotencyStore,
  Refusal,
  StartAction,
  SubmitReply,
  Waits,
} from '../protocol.ts';
import {
  type Action,
  type ActionProgress,
  actionsOpenMax,
  decodeAction,
  noProgress,
  type OperationOutcome,
  putAction,
  resultOf,
  stepJobsMax,
  takenBy,
} from '../records/action.ts';
import { BlockBuilder, findBlock } from '../records/block.ts';
import { type Cancel, cancelText, putNote } from '../records/cancel.ts';
import { headgatePlugin, rootGroup } from '../records/job.ts';
import { idsIn } from '../records/list-indexes.ts';
import { keyText } from '../records/open.ts';
import { type Pause, pauseText } from '../records/pause.ts';
import type { ApplyOperation } from './operations.ts';

type OpenAction = Action & { readonly id: JobId; readonly createdUs: number };

/** Why an action cannot act on its next job, and since when. `pause`: the pause that refuses the job; null: no pause, or an unknown one. */
type Stall = { readonly refusal: Refusal; readonly pause: Pause | null; readonly sinceUs: number };

type StepReport = Omit<ActionStepReply, 'kind'> & { readonly pause?: Pause | null };

export class Actions {
  readonly #state: JobState;
  readonly #idempotency: IdempotencyStore;
  readonly #apply: ApplyOperation;
  readonly #open = new Map<string, OpenAction>();
  /** The open actions whose last step could not act on the next job. */
  readonly #stalled = new Map<string, Stall>();
  /** Fires the occurrences of a backfill. Set by the schedule actor; null until then. */
  backfill: FireBackfill | null = null;

  constructor(state: JobState, idempotency: IdempotencyStore, apply: ApplyOperation) {
    this.#state = state;
    this.#idempotency = idempotency;
    this.#apply = apply;
    for (const { key, value } of state.reader.scan('actions', {})) {
      const id = Buffer.from(key);
      const action = state.setAside.read('actions', id, () => decodeAction(Buffer.from(value)));
      const block = state.setAside.read('blocks', blockOf(id), () => findBlock(state.reader, id));
      if (!action || block?.plugin !== headgatePlugin) continue;
      this.#open.set(keyText(id), { ...action, id, createdUs: block.createdUs });
      state.completions.wasGiven(action.plan.moment.commitUs);
    }
  }

  start(turn: Turn, message: StartAction, closed: Refusal | null): void {
    turn.reply(message.replyTo, this.#start(turn, message, closed));
  }

  #start(turn: Turn, { plan, payload, idempotency }: StartAction, closed: Refusal | null): SubmitReply {
    const known = this.#idempotency.answer(idempotency, turn);
    if (known) return known;
    if (closed) return { kind: 'refused', refusal: closed };
    if (this.#open.size >= actionsOpenMax) return { kind: 'refused', refusal: 'too_many_actions' };
    const id = this.#createJob(turn, plan.operation, plan.by, payload);
    this.#put(turn, { id, createdUs: turn.nowUs, plan, progress: noProgress });
    if (idempotency) this.#idempotency.remember(idempotency, id, turn);
    return { kind: 'accepted', id };
  }

  #createJob(turn: Turn, command: string, submittedBy: string, payload: Uint8Array): JobId {
    const { blockKeys, observations } = this.#state;
    const key = blockKeys.next(Math.floor(turn.nowUs / 1000));
    const builder = new BlockBuilder(key, headgatePlugin, command, turn.nowUs);
    const group = { ...rootGroup, depth: 1, submittedBy, event: null, context: packedEmpty, options: null };
    const id = builder.add(payload, group, false);
    const open = writeBlock(this.#state, turn, builder);
    open.next = 1;
    open.sentUs = turn.nowUs;
    turn.batch.put('open', key, open.encode());
    observations.job('job.enqueued', turn.nowUs, headgatePlugin, command, id);
    observations.job('action.started', turn.nowUs, headgatePlugin, command, id);
    return id;
  }

  /**
   * Handles a step: acts on the next jobs or, for a backfill, fires the next occurrences. `closed`: why no action can act now. Null:
   * actions can act.
   */
  step(turn: Turn, message: ActionStep, closed: Refusal | null): void {
    const { pause = null, ...reply } = this.#step(turn, message, closed);
    const name = keyText(message.id);
    if (reply.waits === null || reply.isOver) this.#stalled.delete(name);
    else {
      const before = this.#stalled.get(name);
      const sinceUs = before?.refusal === reply.waits ? before.sinceUs : turn.nowUs;
      this.#stalled.set(name, { refusal: reply.waits, pause, sinceUs });
    }
    turn.reply(message.replyTo, { kind: 'action_step', ...reply } satisfies ActionStepReply);
  }

  /** What the action waits for, as of its last step. Null: it acts on jobs, it is not open, or it has taken no step since the start. */
  waitsOf(id: JobId): Waits | null {
    const stall = this.#stalled.get(keyText(id));
    if (!stall) return null;
    const { refusal, pause, sinceUs } = stall;
    const reason = refusal === 'paused' ? 'paused' : refusal === 'disk_full' ? 'disk' : 'worker';
    const why = pause ? pauseText(pause) : `its next job is refused (${refusal})`;
    const untilUs = pause?.untilUs ?? null;
    return { reason, detail: why, sinceUs, ...(untilUs !== null && { untilUs }) };
  }

  #step(turn: Turn, { id, after, ids, isLast }: ActionStep, closed: Refusal | null): StepReport {
    const action = this.#open.get(keyText(id));
    if (!action) return { cursor: null, isOver: true, waits: null };
    const { plan, progress } = action;
    if (closed) return { cursor: progress.cursor, isOver: false, waits: closed };
    // If `after` is not the action's cursor, the step does nothing. The reply has the cursor, from which the main thread continues.
    if (!isSame(after, progress.cursor)) return { cursor: progress.cursor, isOver: false, waits: null };
    if (plan.backfill) return this.#fill(turn, action);
    const left = Math.min(stepJobsMax, (plan.limit ?? Number.POSITIVE_INFINITY) - takenBy(progress));
    const asked = idsIn(ids).slice(0, left);
    const { outcomes, waits, pause = null } = this.#apply(turn, plan, asked);
    const taken = count(progress, asked, outcomes);
    const isFull = takenBy(taken) === plan.limit;
    const isOver = isFull || (isLast && outcomes.length * jobIdBytes === ids.length);
    if (isOver) this.#finish(turn, { ...action, progress: taken });
    else if (outcomes.length > 0) this.#put(turn, { ...action, progress: taken });
    return { cursor: taken.cursor, isOver, waits, pause };
  }

  /** Handles a step of a backfill. The schedule actor decides how many occurrences the step handles. */
  #fill(turn: Turn, action: OpenAction): StepReport {
    const { plan, progress } = action;
    const place = { plan: plan.backfill!, cursor: progress.cursor, left: plan.matched - takenBy(progress) };
    const report = this.backfill?.(place, turn);
    const { cursor, done, fired, isOver, waits } = report ?? { ...progress, fired: 0, isOver: true, waits: null };
    const earlier = progress.skipped.already_fired ?? 0;
    const skipped = fired === 0 ? progress.skipped : { ...progress.skipped, already_fired: earlier + fired };
    const taken = report ? { ...progress, cursor, done: progress.done + done, skipped } : progress;
    if (isOver) this.#end(turn, { ...action, progress: taken }, null);
    else if (cursor !== progress.cursor) this.#put(turn, { ...action, progress: taken });
    return { cursor: taken.cursor, isOver, waits };
  }

  /**
   * Ends the action. Matched jobs that no step has handled, up to the action's limit, count as skipped: as `already_settled` if the
   * selection asked for queued or running jobs, otherwise as `not_found`.
   */
  #finish(turn: Turn, action: OpenAction): void {
    const { plan, progress } = action;
    const most = Math.min(plan.matched, plan.limit ?? plan.matched);
    const gone = Math.max(0, most - takenBy(progress));
    const { status } = plan.selection;
    const reason = status === 'queued' || status === 'running' ? 'already_settled' : 'not_found';
    const skipped = { ...progress.skipped, [reason]: (progress.skipped[reason] ?? 0) + gone };
    this.#end(turn, { ...action, progress: gone === 0 ? progress : { ...progress, skipped } }, null);
  }

  /** Cancels the action. The jobs on which the action has acted stay as they are. */
  cancel(turn: Turn, id: JobId, cancel: Cancel): void {
    const action = this.#open.get(keyText(id));
    if (!action) return;
    putNote(turn.batch, id, cancel);
    this.#end(turn, action, cancel);
  }

  #end(turn: Turn, { id, createdUs, plan, progress }: OpenAction, cancel: Cancel | null): void {
    const { completions, minutes, observations, awaited } = this.#state;
    const status = cancel ? 'cancelled' : 'succeeded';
    const error = cancel ? cancelText(cancel) : undefined;
    const result = resultOf(plan.matched, progress);
    const completedUs = completions.commitUs(turn.nowUs);
    const body = encodeBody({ result, ...(error !== undefined && { error: Buffer.from(error) }) });
    const attempt = { status, final: true, startedUs: Math.min(createdUs, completedUs), completedUs, body } as const;
    const owner = { plugin: headgatePlugin, command: plan.operation, submittedBy: plan.by, createdUs, inStep: false };
    completions.attempt(turn.batch, owner, id, 1, attempt);
    minutes.settled(status, turn.nowUs);
    if (!awaited.isEmpty) awaited.ended(id, turn);
    turn.batch.remove('actions', id);
    turn.batch.remove('open', blockOf(id));
    this.#open.delete(keyText(id));
    this.#stalled.delete(keyText(id));
    const how = cancel ? 'job.cancelled' : 'job.completed';
    observations.job(how, turn.nowUs, headgatePlugin, plan.operation, id, error);
    observations.job('action.ended', turn.nowUs, headgatePlugin, plan.operation, id, error);
  }

  #put(turn: Turn, action: OpenAction): void {
    putAction(turn.batch, action.id, action);
    this.#open.set(keyText(action.id), action);
  }
}

function isSame(a: JobId | null, b: JobId | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}

/** The progress after these outcomes. `outcomes[k]` is the outcome for `ids[k]`; the last ids may have no outcome. */
function count(progress: ActionProgress, ids: readonly JobId[], outcomes: readonly OperationOutcome[]): ActionProgress {
  let { done, failed } = progress;
  const skipped = { ...progress.skipped };
  for (const outcome of outcomes) {
    if (outcome === 'done') done++;
    else if (outcome === 'failed') failed++;
    else skipped[outcome] = (skipped[outcome] ?? 0) + 1;
  }
  return { cursor: outcomes.length === 0 ? progress.cursor : ids[outcomes.length - 1]!, done, failed, skipped };
}
