// Actions: the functions that routes call, and a loop for each open action. The loop asks the reads thread for the next jobs and sends them to
// the ledger thread. The ledger thread acts on them and moves the action's cursor. For a backfill, the ledger thread finds the occurrences
// itself. After a restart of the service the loop continues from the committed cursor.

import { setTimeout as sleep } from 'node:timers/promises';
import type {
  ActionStepReply,
  IdempotencyKey,
  MomentReply,
  RefusedWork,
  StartAction,
  SubmitReply,
} from '../actors/job/protocol.ts';
import { type Action, type Moment, readAction, type Selection, stepJobsMax } from '../actors/job/records/action.ts';
import { formatId, type JobId, jobIdBytes } from '../runtime/ids.ts';
import { type Link, type PendingAsk, ThreadGone } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import type { Reader } from '../runtime/store/store.ts';
import { type Disconnectable, ReadsDown } from './reads/reads.ts';
import type { ReadsClient } from './reads/reads-client.ts';
import type { Counted } from './reads/selecting.ts';
import { takenBack } from './submissions.ts';

/** The maximum number of counts (`ActionCalls.count`) that run at the same time. Further counts are refused. */
export const countsMax = 8;
/** The pause of an action's loop after an error or a refusal, and when the ledger cannot take the next job yet. */
const againMs = 250;
/**
 * If the rate of an action is limited (`perSecond`), the jobs of one second are sent in this many portions. But a portion has at least one job,
 * and at most `stepJobsMax`.
 */
const portionsPerSecond = 10;

export type NewAction = Pick<StartAction, 'plan' | 'payload' | 'idempotency'> & { readonly asker: PendingAsk };
export type CountedSelection = Counted & { readonly moment: Moment };

export type ActionCalls = {
  /**
   * Counts the jobs that match now. Null if too many counts are running. Rejects with `ReadsDown` while the reads thread restarts. If the
   * key `idempotency` is known, counts nothing and resolves to the reply for this key. The count ends early if the caller disconnects.
   */
  count(
    selection: Selection,
    caller: PendingAsk & Disconnectable,
    idempotency?: IdempotencyKey | null,
  ): Promise<CountedSelection | SubmitReply | null>;
  /** The reply to the call that used this key before, or a refusal if that was another call. Null: the key is new or has expired. */
  earlier(idempotency: IdempotencyKey): Promise<SubmitReply | null>;
  /** Resolves when the action is on disk, or refused. If the caller disconnects before the action is sent, no action is started. */
  start(action: NewAction): Promise<SubmitReply>;
  /** The open action with this id; undefined if the action has ended or never existed. */
  find(id: JobId): Action | undefined;
};

export type ActionDriver = ActionCalls & {
  /** Continues the actions that an earlier process left unfinished. */
  resume(): void;
};

export type ActionReads = Pick<ReadsClient, 'countMatches' | 'nextMatches'>;
export type ActionsOptions = {
  readonly link: Link;
  readonly reader: Reader;
  readonly reads: ActionReads;
  readonly stopping: () => boolean;
  readonly log: Pick<Logger, 'error'>;
};

export function openActions({ link, reader, reads, stopping, log }: ActionsOptions): ActionDriver {
  let counts = 0;

  const count: ActionCalls['count'] = async (selection, caller, idempotency) => {
    if (counts >= countsMax) return null;
    counts++;
    try {
      const reply = await askMoment(idempotency);
      if (reply.kind !== 'moment') return reply;
      const { moment } = reply;
      const counted = caller.isGone ? null : await reads.countMatches(selection, moment, caller);
      return counted === null ? takenBack : { ...counted, moment };
    } finally {
      counts--;
    }
  };

  function askMoment(idempotency?: IdempotencyKey | null): Promise<MomentReply | SubmitReply> {
    return link.ask('job', { kind: 'ask_moment', ...(idempotency && { idempotency }) });
  }

  async function earlier(idempotency: IdempotencyKey): Promise<SubmitReply | null> {
    const reply = await askMoment(idempotency);
    return reply.kind === 'moment' ? null : reply;
  }

  async function start({ asker, ...action }: NewAction): Promise<SubmitReply> {
    const recall = { asker, answer: takenBack };
    const reply = await link.ask<SubmitReply>('job', { kind: 'start_action', ...action }, recall);
    if (reply.kind === 'accepted') keepGoing(reply.id);
    return reply;
  }

  const underWay = new Set<string>();

  function keepGoing(id: JobId): void {
    const own = Buffer.from(id);
    const name = own.toString('hex');
    reader.refresh();
    const action = readAction(reader, own);
    // If a call repeats an earlier one (same Idempotency-Key), its action may have ended, or have a loop already.
    if (!action || underWay.has(name)) return;
    underWay.add(name);
    void run(own, action).finally(() => underWay.delete(name));
  }

  async function run(id: JobId, { plan, progress }: Action): Promise<void> {
    const { selection, moment, searchedUs, perSecond } = plan;
    const pace = new Pace(perSecond);
    let after = progress.cursor;
    let left: Uint8Array = new Uint8Array(0);
    let isEnd = false;
    let hasFailed = false;
    while (!stopping()) {
      try {
        // The ledger finds the occurrences of a backfill itself.
        if (left.length === 0 && !isEnd && !plan.backfill)
          ({ ids: left, isEnd } = await reads.nextMatches({ selection, moment, searchedUs, after }));
        const ids = left.subarray(0, pace.portion * jobIdBytes);
        const isLast = isEnd && ids.length === left.length;
        const step = { kind: 'action_step', id, after, ids, isLast };
        const reply = await link.ask<ActionStepReply | RefusedWork>('job', step);
        if (reply.kind === 'refused') {
          await pause(againMs);
          continue;
        }
        if (reply.isOver) return;
        const taken = takenIds(after, reply.cursor, left);
        // If the committed cursor is neither `after` nor a job of the page (`left`), a new page is read from the cursor. A backfill has no
        // pages.
        if (taken === null || plan.backfill) {
          left = new Uint8Array(0);
          isEnd = false;
        } else left = left.subarray(taken * jobIdBytes);
        after = reply.cursor;
        if (reply.waits) await pause(againMs);
        else await pace.wait(taken ?? 0);
      } catch (error) {
        if (error instanceof ThreadGone) return;
        // `ReadsDown` is no failure: the action waits until the reads thread has restarted.
        if (!hasFailed && !(error instanceof ReadsDown)) {
          hasFailed = true;
          log.error({ err: error, action: formatId(id) }, 'a step of an action failed; it is repeated');
        }
        await pause(againMs);
      }
    }
  }

  return {
    count,
    earlier,
    start,
    find(id) {
      reader.refresh();
      return readAction(reader, id);
    },
    resume() {
      reader.refresh();
      for (const key of Array.from(reader.keys('actions', {}), key => Buffer.from(key))) keepGoing(key);
    },
  };
}

/** Limits how many jobs of an action are sent per second. `perSecond` null: the ledger gets jobs as fast as it takes them. */
class Pace {
  readonly portion: number;
  readonly #perSecond: number | null;
  #dueMs = performance.now();

  constructor(perSecond: number | null) {
    this.#perSecond = perSecond;
    this.portion = perSecond === null ? stepJobsMax : Math.min(stepJobsMax, Math.ceil(perSecond / portionsPerSecond));
  }

  /**
   * Waits until the next portion is due. `taken`: the number of jobs that the ledger has just taken. After a delay, the rate is not exceeded to
   * make up for the lost time.
   */
  async wait(taken: number): Promise<void> {
    if (this.#perSecond === null) return;
    const nowMs = performance.now();
    this.#dueMs = Math.max(nowMs, this.#dueMs + (taken * 1000) / this.#perSecond);
    if (this.#dueMs > nowMs) await pause(this.#dueMs - nowMs);
  }
}

/** Waits without keeping the process alive. */
function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}

/** How many of `ids` the ledger has taken, up to and including `cursor`; 0 if `cursor` is `after`, null if it is neither `after` nor in `ids`. */
function takenIds(after: JobId | null, cursor: JobId | null, ids: Uint8Array): number | null {
  if (cursor === null) return after === null ? 0 : null;
  if (after !== null && Buffer.compare(after, cursor) === 0) return 0;
  for (let at = 0; at < ids.length; at += jobIdBytes) {
    if (Buffer.compare(cursor, ids.subarray(at, at + jobIdBytes)) === 0) return at / jobIdBytes + 1;
  }
  return null;
}
