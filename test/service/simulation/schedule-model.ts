// What schedules do, as their commits tell: each occurrence fires once, its job and its note share a commit, none is forgotten, and none
// fires beside the job before where it must not.
import { decodeBlock, groupEnd } from '../../../actors/job/records/block.ts';
import { decodeCancel, readCancelKey } from '../../../actors/job/records/cancel.ts';
import { keyText, OpenBlock } from '../../../actors/job/records/open.ts';
import { type Tags, tagsOf } from '../../../actors/job/records/tags.ts';
import { missedMax, runAllMax } from '../../../actors/schedule/plan.ts';
import { originPrefix } from '../../../actors/schedule/protocol.ts';
import {
  decodeSchedule,
  historyMax,
  type ScheduleRecord,
  scheduleIdOf,
} from '../../../actors/schedule/records/schedule.ts';
import type { ScheduleDefinition } from '../../../config/config.ts';
import { nextDue, recurrenceText } from '../../../runtime/calendar/recurrence.ts';
import { blockOf, formatId, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Dice } from './dice.ts';

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
  readonly #definitions: ReadonlyMap<string, ScheduleDefinition>;
  /** The job of the last occurrence that has fired, by schedule. */
  readonly #last = new Map<string, JobId>();
  /** Jobs that gave way to a newer occurrence. */
  readonly replaced = new Set<string>();

  constructor(reader: Reader, definitions: readonly ScheduleDefinition[]) {
    this.#reader = reader;
    this.#definitions = new Map(definitions.map(definition => [definition.id, definition]));
  }

  get fired(): number {
    return this.#fired.size;
  }

  committing(batch: Batch): void {
    const { tables, keys, values } = batch as WriteBatch;
    const records = new Map<string, ScheduleRecord>();
    for (const [at, table] of tables.entries())
      if (table === 'schedules' && values[at]) records.set(scheduleIdOf(keys[at]!), decodeSchedule(values[at]!));
    for (const [at, table] of tables.entries()) {
      if (table !== 'cancels' || !values[at] || !decodeCancel(values[at]!).by.startsWith(originPrefix)) continue;
      this.replaced.add(formatId(readCancelKey(keys[at]!).id));
    }
    const firing = tables.flatMap((table, at) =>
      table === 'blocks' && values[at] ? firedIn(keys[at]!, values[at]!) : [],
    );
    for (const [place, { id, dueMs }] of firing.entries()) {
      const name = nameOf(id, dueMs);
      const isTwice =
        this.#fired.has(name) || firing.findIndex(other => nameOf(other.id, other.dueMs) === name) < place;
      holds(!isTwice, () => `the occurrence ${name} fires twice`);
      const { lastDueMs = 0 } = records.get(id) ?? {};
      holds(lastDueMs >= dueMs, () => `the occurrence ${name} fires, and its commit does not note it`);
    }
    for (const [place, fired] of firing.entries()) this.#fits(batch, fired, firing.slice(0, place));
    for (const [id, record] of records) this.#accounts(id, record, new Set(firing.map(f => nameOf(f.id, f.dueMs))));
    this.#firing = firing;
  }

  committed(): void {
    for (const { id, dueMs, job } of this.#firing) {
      this.#fired.add(nameOf(id, dueMs));
      this.#last.set(id, job);
    }
  }

  /** Its job has the tags of the schedule, and begins after the end of the job before if `if_running` wants that. */
  #fits(batch: Batch, { id, dueMs, job, tags }: Fired, before: readonly Fired[]): void {
    const definition = this.#definitions.get(id)!;
    const wanted = definition.tags && tagsOf(definition.tags);
    holds(tags === wanted, () => `the job of ${nameOf(id, dueMs)} has the tags ${tags}, and the schedule ${wanted}`);
    if (definition.ifRunning !== 'skip' && definition.ifRunning !== 'queue') return;
    const last = before.findLast(fired => fired.id === id)?.job ?? this.#last.get(id);
    const isOver = last === undefined || this.#hasEnded(batch as WriteBatch, last);
    holds(isOver, () => `${formatId(job)} of ${nameOf(id, dueMs)} begins before ${formatId(last!)} has ended`);
  }

  /** Whether the job has ended once the batch is in the store. */
  #hasEnded({ tables, keys, values }: WriteBatch, job: JobId): boolean {
    const block = blockOf(job);
    const at = tables.findLastIndex((table, at) => table === 'open' && Buffer.compare(keys[at]!, block) === 0);
    const open = at < 0 ? this.#reader.get('open', block) : values[at];
    return open === undefined || OpenBlock.decode(keyText(block), open).isSettled(indexOf(job));
  }

  /** What becomes past has fired, waits, or is noted as passed over. */
  #accounts(id: string, after: ScheduleRecord, firing: ReadonlySet<string>): void {
    const value = this.#reader.get('schedules', Buffer.from(id));
    if (!value) return;
    const before = decodeSchedule(value);
    const isSame = recurrenceText(before.recurrence) === recurrenceText(after.recurrence);
    if (!isSame || after.offMs !== null || before.offMs !== null) return;
    for (const dueMs of before.queue) {
      const isThere = after.queue.includes(dueMs) || firing.has(nameOf(id, dueMs));
      holds(isThere, () => `the occurrence ${nameOf(id, dueMs)} has waited, and is forgotten`);
    }
    if (after.history.length === historyMax) return;
    const noted = passedIn(after) - passedIn(before);
    const { recurrence, originMs } = after;
    let [kept, passed] = [0, 0];
    let due = nextDue(recurrence, before.lastDueMs, originMs);
    for (; due !== null && due <= after.lastDueMs; due = nextDue(recurrence, due, originMs)) {
      if (firing.has(nameOf(id, due)) || after.queue.includes(due)) kept++;
      else passed++;
    }
    // They are counted up to `missedMax`, together with those that fire or wait to be tried again; those that were refused before come on top.
    const [all, wanted] = [kept + passed, Math.min(kept + passed, missedMax)];
    const off = noted + kept - wanted;
    const tolerated = all > missedMax - runAllMax ? runAllMax : 0;
    holds(
      Math.abs(off) <= tolerated,
      () => `${Math.abs(off)} occurrences of ${id} are ${off < 0 ? 'forgotten' : 'made up'}`,
    );
  }
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
  const block = decodeBlock(value);
  return block.starts.flatMap((start, place) => {
    const { parent, rerun, submittedBy, context, options } = block.group(place);
    if (parent !== null || rerun !== null || !submittedBy.startsWith(originPrefix)) return [];
    const { schedule } = unpack<{ readonly schedule: { readonly id: string; readonly due_at: string } }>(context);
    const due = { id: schedule.id, dueMs: Date.parse(schedule.due_at), tags: options?.tags };
    const jobs = groupEnd(block, place) - start;
    return Array.from({ length: jobs }, (_, k) => ({ ...due, job: jobId(key, start + k) }));
  });
}
