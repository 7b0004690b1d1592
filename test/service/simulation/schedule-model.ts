// What schedules must do, as their commits show: each occurrence fires once, its job and its note share a commit, none is forgotten, and
// `if_running` is obeyed. A backfill fires the occurrences of its period that have not fired, and nothing else.
import { decodeAction } from '../../../actors/job/records/action.ts';
import { groupEnd } from '../../../actors/job/records/block.ts';
import { decodeCancel, readCancelKey } from '../../../actors/job/records/cancel.ts';
import type { OpenBlock } from '../../../actors/job/records/open.ts';
import { type Tags, tagsOf } from '../../../actors/job/records/tags.ts';
import { missedMax, runAllMax } from '../../../actors/schedule/plan.ts';
import { originPrefix } from '../../../actors/schedule/protocol.ts';
import {
  decodeSchedule,
  historyMax,
  readSchedule,
  type ScheduleRecord,
  scheduleIdOf,
} from '../../../actors/schedule/records/schedule.ts';
import type { ScheduleDefinition } from '../../../config/config.ts';
import { hexOf as hex } from '../../../runtime/bytes.ts';
import { nextDue, recurrenceText } from '../../../runtime/calendar/recurrence.ts';
import { blockOf, formatId, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Dice } from './dice.ts';
import { blockIn, openIn } from './remembered.ts';

const minuteMs = 60_000;

/** The schedules of a world. Most worlds have none. */
export function schedulesOf(dice: Dice): readonly ScheduleDefinition[] {
  if (!dice.chance(0.4)) return [];
  const common = {
    payload: { k: 1, s: 'x0', list: [1, 2] },
    jitterMs: 0,
    pauseAfterFailures: 0,
    skipsWhenPaused: false,
  };
  const targets: ScheduleDefinition['target'][] = [
    { plugin: 'a', command: 'handle' },
    { plugin: 'keeper', command: 'poll' },
    { pipeline: 'r' },
  ];
  return Array.from({ length: 1 + dice.below(3) }, (_, place) => ({
    ...common,
    id: `schedule-${place}`,
    target: dice.pick(targets),
    recurrence: { kind: 'every', everyMs: dice.pick([1, 10, 60]) * minuteMs },
    ifRunning: dice.pick(['skip', 'queue', 'replace', 'allow']),
    catchUp: dice.pick(['skip', 'run_once', 'run_all', 'run_all']),
    catchUpWithinMs: dice.pick([30, 24 * 60]) * minuteMs,
    skipsWhenPaused: dice.chance(0.3),
    ...(place === 0 && { tags: { of: 'schedule' } }),
    enabled: true,
  }));
}

export class ScheduleModel {
  readonly #reader: Reader;
  /** Occurrences that have fired: id and due time. */
  readonly #fired = new Set<string>();
  #firing: readonly Fired[] = [];
  /** Runs that ended in the commit in which they began. Their schedules note the end in a later turn. */
  readonly #endedAtOnce = new Set<string>();
  readonly #definitions: ReadonlyMap<string, ScheduleDefinition>;
  /** The job that began last, by schedule. */
  readonly #last = new Map<string, JobId>();
  /** Occurrences whose jobs wait for the end of the job before. */
  #waiting: readonly Fired[] = [];
  /** How many occurrences backfills have fired. */
  backfilled = 0;
  /** Jobs that gave way to a newer occurrence. */
  readonly replaced = new Set<string>();

  constructor(reader: Reader, definitions: readonly ScheduleDefinition[]) {
    this.#reader = reader;
    this.#definitions = new Map(definitions.map(definition => [definition.id, definition]));
  }

  get areAny(): boolean {
    return this.#definitions.size > 0;
  }

  committing(batch: Batch): void {
    const { tables, keys, values } = batch as WriteBatch;
    const firing = tables.flatMap((table, at) =>
      table === 'blocks' && values[at] ? firedIn(keys[at]!, values[at]!) : [],
    );
    if (!this.areAny) {
      holds(firing.length === 0, () => 'an occurrence fires, and there are no schedules');
      return;
    }
    const records = new Map<string, ScheduleRecord>();
    for (const [at, table] of tables.entries())
      if (table === 'schedules' && values[at]) records.set(scheduleIdOf(keys[at]!), decodeSchedule(values[at]!));
    for (const [at, table] of tables.entries()) {
      if (table !== 'cancels' || !values[at] || !decodeCancel(values[at]!).by.startsWith(originPrefix)) continue;
      this.replaced.add(formatId(readCancelKey(keys[at]!).id));
    }
    const stored = new Map([...this.#definitions.keys()].map(id => [id, readSchedule(this.#reader, id)]));
    for (const [place, { id, dueMs }] of firing.entries()) {
      const name = nameOf(id, dueMs);
      const isTwice =
        this.#fired.has(name) || firing.findIndex(other => nameOf(other.id, other.dueMs) === name) < place;
      holds(!isTwice, () => `the occurrence ${name} fires twice`);
      const { lastDueMs = 0, offMs = null } = records.get(id) ?? stored.get(id) ?? {};
      holds(
        offMs !== null || lastDueMs >= dueMs,
        () => `the occurrence ${name} fires, and its commit does not note it`,
      );
    }
    for (const { id, dueMs, tags } of firing) {
      const wanted = this.#definitions.get(id)!.tags;
      const isSame = tags === (wanted && tagsOf(wanted));
      holds(isSame, () => `the job of ${nameOf(id, dueMs)} has the tags ${tags}, and not those of the schedule`);
    }
    // A schedule itself fires what comes after its last occurrence; only backfills fire earlier occurrences, or those of a schedule that
    // is off.
    const isBackfill = ({ id, dueMs }: Fired) => {
      const { lastDueMs = 0, offMs = null } = stored.get(id) ?? {};
      return offMs !== null || dueMs <= lastDueMs;
    };
    const own = firing.filter(fired => !isBackfill(fired));
    this.backfilled += firing.length - own.length;
    this.#fill(
      batch as WriteBatch,
      firing.filter(isBackfill),
      new Set(firing.map(f => nameOf(f.id, f.dueMs))),
      records,
    );
    this.#begin(batch as WriteBatch, own);
    for (const [id, record] of records) {
      const before = stored.get(id);
      if (before) this.#accounts(id, before, record, new Set(own.map(f => nameOf(f.id, f.dueMs))));
    }
    this.#firing = firing;
  }

  committed(): void {
    for (const { id, dueMs } of this.#firing) this.#fired.add(nameOf(id, dueMs));
  }

  /** Backfills fire only occurrences of their period; when one has ended, all of these have fired. */
  #fill(
    { tables, keys, values }: WriteBatch,
    filled: readonly Fired[],
    firing: ReadonlySet<string>,
    records: ReadonlyMap<string, ScheduleRecord>,
  ): void {
    if (this.#reader.count('actions') === 0 && filled.length === 0) return;
    const open = Array.from(this.#reader.scan('actions', {}), ({ key, value }) => {
      return { key: Buffer.from(key), backfill: decodeAction(Buffer.from(value)).plan.backfill };
    });
    for (const { id, dueMs } of filled) {
      const isAsked = open.some(
        ({ backfill }) => backfill?.schedule === id && backfill.fromMs <= dueMs && dueMs <= backfill.toMs,
      );
      holds(isAsked, () => `the past occurrence ${nameOf(id, dueMs)} fires, and no backfill asks for it`);
    }
    const places = [...tables.keys()];
    const ended = places.filter(at => tables[at] === 'actions' && !values[at]).map(at => hex(keys[at]!));
    const cancelled = places.filter(at => tables[at] === 'cancels').map(at => hex(readCancelKey(keys[at]!).id));
    for (const { key, backfill } of open) {
      if (!backfill || !ended.includes(hex(key)) || cancelled.includes(hex(key))) continue;
      // Occurrences after the last one of the schedule (before this commit) are left to the schedule.
      const record = readSchedule(this.#reader, backfill.schedule);
      const now = records.get(backfill.schedule) ?? record;
      // If the schedule is gone, the backfill ends at once.
      if (!record || !now || now.removedMs !== null) continue;
      // The record of a schedule that is off may have other times than its definition.
      if (record.offMs !== null) continue;
      const untilMs = Math.min(backfill.toMs, record.lastDueMs);
      const { recurrence, originMs } = record;
      let due = nextDue(recurrence, backfill.fromMs - 1, originMs);
      for (; due !== null && due <= untilMs; due = nextDue(recurrence, due, originMs)) {
        const name = nameOf(backfill.schedule, due);
        holds(
          this.#fired.has(name) || firing.has(name) || due <= now.knownMs,
          () => `a backfill of ${backfill.schedule} is over, and ${name} has not fired`,
        );
      }
    }
  }

  /** Jobs begin, or wait, as `if_running` wants it: with `skip` and `queue` none begins before the end of the job before. */
  #begin(batch: WriteBatch, own: readonly Fired[]): void {
    const waiting: Fired[] = [];
    for (const fired of [...this.#waiting, ...own]) {
      const { id, dueMs, job } = fired;
      const { ifRunning } = this.#definitions.get(id)!;
      const open = this.#openOf(batch, job);
      const name = `${formatId(job)} of ${nameOf(id, dueMs)}`;
      if (open?.isDelayed(indexOf(job))) {
        holds(ifRunning === 'queue', () => `${name} waits, though if_running is ${ifRunning}`);
        waiting.push(fired);
        continue;
      }
      // The job was cancelled while it waited.
      if (this.#waiting.includes(fired) && hasEnded(open, job)) continue;
      const last = this.#last.get(id);
      const isFree = (ifRunning !== 'skip' && ifRunning !== 'queue') || last === undefined;
      holds(
        isFree || hasEnded(this.#openOf(batch, last!), last!),
        () => `${name} begins before ${formatId(last!)} has ended`,
      );
      this.#last.set(id, job);
      if (own.includes(fired) && hasEnded(open, job)) this.#endedAtOnce.add(formatId(job));
    }
    this.#waiting = waiting;
  }

  /** The record of the job's block, once the batch is in the store. */
  #openOf({ tables, keys, values }: WriteBatch, job: JobId): OpenBlock | undefined {
    const block = blockOf(job);
    const at = tables.findLastIndex((table, at) => table === 'open' && Buffer.compare(keys[at]!, block) === 0);
    const open = at < 0 ? this.#reader.get('open', block) : values[at];
    return open && openIn(block, open);
  }

  /** Whether the record says that the last job runs, although it had ended before this commit. */
  #isOver({ last, isRunning }: ScheduleRecord): boolean {
    if (!isRunning || last === null || !this.#reader.get('blocks', blockOf(last))) return false;
    if (this.#endedAtOnce.has(formatId(last))) return false;
    const open = this.#reader.get('open', blockOf(last));
    return hasEnded(open && openIn(blockOf(last), open), last);
  }

  /** Occurrences that become past must have fired, or be noted as skipped; waiting jobs must be in the queue of the schedule. */
  #accounts(id: string, before: ScheduleRecord, after: ScheduleRecord, firing: ReadonlySet<string>): void {
    const isSame = recurrenceText(before.recurrence) === recurrenceText(after.recurrence);
    if (!isSame || after.offMs !== null || before.offMs !== null) return;
    holds(!this.#isOver(after), () => `${id} takes its last job to run, which has ended`);
    const queue = after.queue.map(({ job }) => formatId(job!)).join();
    const waiting = this.#waiting.filter(fired => fired.id === id).map(({ job }) => formatId(job));
    holds(queue === waiting.join(), () => `the queue of ${id} has ${queue}, and these wait: ${waiting.join()}`);
    if (after.history.length === historyMax) return;
    const noted = passedIn(after) - passedIn(before);
    const { recurrence, originMs } = after;
    let [kept, passed] = [0, 0];
    let due = nextDue(recurrence, before.lastDueMs, originMs);
    for (; due !== null && due <= after.lastDueMs; due = nextDue(recurrence, due, originMs)) {
      if (firing.has(nameOf(id, due))) kept++;
      else passed++;
    }
    // Skipped occurrences are counted up to `missedMax`, together with those that fire or wait to be tried again; refused ones come on top.
    const [all, wanted] = [kept + passed, Math.min(kept + passed, missedMax)];
    const off = noted + kept - wanted;
    const tolerated = all > missedMax - runAllMax ? runAllMax : 0;
    holds(
      Math.abs(off) <= tolerated,
      () => `${Math.abs(off)} occurrences of ${id} are ${off < 0 ? 'forgotten' : 'made up'}`,
    );
  }
}

function hasEnded(open: OpenBlock | undefined, job: JobId): boolean {
  return open === undefined || open.isSettled(indexOf(job));
}

function passedIn({ history }: ScheduleRecord): number {
  return history.reduce((sum, entry) => sum + (entry.kind === 'passed' ? entry.count : 0), 0);
}

function nameOf(id: string, dueMs: number): string {
  return `${id} ${new Date(dueMs).toISOString()}`;
}

/** An occurrence, and its job. */
type Fired = { readonly id: string; readonly dueMs: number; readonly job: JobId; readonly tags: Tags | undefined };

/** The occurrences for which the block has jobs. */
function firedIn(key: Uint8Array, value: Uint8Array): Fired[] {
  const block = blockIn(value);
  return block.starts.flatMap((start, place) => {
    const { parent, rerun, submittedBy, context, options } = block.group(place);
    if (parent !== null || rerun !== null || !submittedBy.startsWith(originPrefix)) return [];
    const { schedule } = unpack<{ readonly schedule: { readonly id: string; readonly due_at: string } }>(context);
    const due = { id: schedule.id, dueMs: Date.parse(schedule.due_at), tags: options?.tags };
    const jobs = groupEnd(block, place) - start;
    return Array.from({ length: jobs }, (_, k) => ({ ...due, job: jobId(key, start + k) }));
  });
}
