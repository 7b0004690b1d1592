// Fires occurrences. Depending on `if_running`, the job of an occurrence begins or waits in the queue, or the occurrence is skipped. With
// `skip_when_paused`, the occurrence is skipped while its target is paused. The decision is recorded in the same turn. This file also
// starts jobs that callers ask for.
import type { ScheduleDefinition } from '../../config/config.ts';
import { nextDue, recurrenceText } from '../../runtime/calendar/recurrence.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack } from '../../runtime/packing.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { IdempotencyKey, JobCalls, PipelineCalls, RefusedWork, SubmitReply } from '../job/protocol.ts';
import type { Cancel } from '../job/records/cancel.ts';
import { whenReleasedUs } from '../job/records/options.ts';
import { tagsOf } from '../job/records/tags.ts';
import type { OpenSchedule } from './open-schedule.ts';
import { fireTime } from './plan.ts';
import { type ScheduledJobs, scheduleOrigin } from './protocol.ts';
import { dropOldest, type FiredRange, firedKey, putFired, readFired } from './records/fired.ts';
import { type Firing, type PassReason, queueMax, type ScheduleRecord, textOf } from './records/schedule.ts';

export type FiringPorts = {
  readonly reader: Reader;
  readonly setAside: SetAside;
  readonly jobs: ScheduledJobs & Pick<JobCalls, 'pauseOf'>;
  readonly pipeline: Pick<PipelineCalls, 'startRun' | 'isOpen'>;
  /**
   * Makes the schedule actor follow a new job of the schedule to its end. `begins` false: the job waits in the queue of the schedule.
   * `isOccurrence` false: a caller started the job by hand.
   */
  readonly follow: (schedule: OpenSchedule, job: JobId, begins: boolean, isOccurrence: boolean) => void;
  readonly observe: (
    type: 'schedule.fired' | 'schedule.skipped',
    turn: Turn,
    fields: { readonly [name: string]: string | number | null },
  ) => void;
};

export class Firer {
  readonly #ports: FiringPorts;
  /** By schedule: its current range, if this turn has written it. Reads of the store show the range only after the commit. */
  readonly #ranges = new Map<OpenSchedule, FiredRange>();
  /** By schedule: the ranges that this turn has added. */
  readonly #added = new Map<OpenSchedule, readonly FiredRange[]>();
  /** By schedule: how many of its oldest ranges this turn has removed. Reads of the store still show them. */
  readonly #removed = new Map<OpenSchedule, number>();

  constructor(ports: FiringPorts) {
    this.#ports = ports;
  }

  /** Starts or queues the job of an occurrence, or skips the occurrence. Not null: the job was refused, and the schedule is unchanged. */
  fire(turn: Turn, schedule: OpenSchedule, dueMs: number): RefusedWork | null {
    const { record } = schedule;
    const definition = schedule.definition!;
    const waits = this.#whyNot(definition, schedule);
    if (waits === 'queue') return this.start(turn, schedule, dueMs, false);
    if (waits) {
      schedule.pass({ firstMs: dueMs, lastMs: dueMs, count: 1 }, waits, msOf(turn));
      const fields = { schedule: schedule.id, due_at: textOf(dueMs), reason: waits };
      this.#ports.observe('schedule.skipped', turn, fields);
      return null;
    }
    const { last, isRunning } = record;
    const refused = this.start(turn, schedule, dueMs);
    if (!refused && isRunning && last && definition.ifRunning === 'replace')
      this.#ports.jobs.cancel([last], cancelOf(turn, schedule.id, 'replaced by a newer occurrence'), turn);
    return refused;
  }

  #whyNot(definition: ScheduleDefinition, { record }: OpenSchedule): PassReason | 'queue' | null {
    if (definition.skipsWhenPaused && this.#isPaused(definition)) return 'paused';
    if (!record.isRunning && record.queue.length === 0) return null;
    switch (definition.ifRunning) {
      case 'skip':
        return 'running';
      case 'queue':
        return record.queue.length < queueMax ? 'queue' : 'queue_full';
      case 'replace':
      case 'allow':
        return null;
    }
  }

  /** Starts the job of an occurrence. `begins` false: the job waits in the queue of the schedule. Not null: the job was refused. */
  start(turn: Turn, schedule: OpenSchedule, dueMs: number, begins = true): RefusedWork | null {
    const missed = schedule.missedBefore(dueMs);
    const reply = this.submit(turn, schedule, dueMs, missed, begins ? 'begins' : 'queued');
    if (reply.kind === 'refused') return reply;
    const job = Buffer.from(reply.id);
    const firedMs = msOf(turn);
    const { lastDueMs, queue } = schedule.record;
    const next = begins ? { last: job, isRunning: true } : { queue: [...queue, { dueMs, job }] };
    schedule.change({ lastDueMs: Math.max(lastDueMs, dueMs), ...next });
    const lateMs = Math.max(0, firedMs - fireTime({ definition: schedule.definition! }, dueMs));
    this.#fired(turn, schedule, { kind: 'fired', dueMs, firedMs, job, status: null, missed, lateMs }, begins);
    return null;
  }

  /** Starts a job that a caller has asked for. The job does not count as an occurrence. */
  startByHand(turn: Turn, schedule: OpenSchedule, idempotency: IdempotencyKey | undefined): SubmitReply {
    const reply = this.submit(turn, schedule, null, 0, 'by_hand', idempotency);
    if (reply.kind === 'refused') return reply;
    const job = Buffer.from(reply.id);
    this.#fired(
      turn,
      schedule,
      { kind: 'fired', dueMs: null, firedMs: msOf(turn), job, status: null, missed: 0 },
      true,
    );
    return reply;
  }

  /** Records and reports a firing, and makes the schedule actor follow its job. */
  #fired(turn: Turn, schedule: OpenSchedule, firing: Extract<Firing, { kind: 'fired' }>, begins: boolean): void {
    const { dueMs, firedMs, job, missed, lateMs = null } = firing;
    schedule.add(firing);
    if (dueMs !== null) this.#note(turn, schedule, dueMs);
    this.#ports.follow(schedule, job, begins, dueMs !== null);
    const due_at = dueMs === null ? null : textOf(dueMs);
    const fired_at = textOf(firedMs);
    const fields = { schedule: schedule.id, job_id: formatId(job), due_at, fired_at, late_ms: lateMs, missed };
    this.#ports.observe('schedule.fired', turn, fields);
  }

  /** Submits a job. If a pause of the target refuses calls, a job started by hand is refused; any other job is accepted, and waits. */
  submit(
    turn: Turn,
    { id, definition, payload }: OpenSchedule,
    dueMs: number | null,
    missed: number,
    how: 'begins' | 'queued' | 'by_hand',
    idempotency?: IdempotencyKey,
  ): SubmitReply {
    const { target, tags } = definition!;
    const { jobs, pipeline } = this.#ports;
    const submittedBy = scheduleOrigin(id);
    const fired_at = textOf(msOf(turn));
    const context = pack({ schedule: { id, due_at: dueMs === null ? null : textOf(dueMs), fired_at, missed } });
    const event = { type: `schedule.${id}`, source: submittedBy };
    const options = { ...(tags && { tags: tagsOf(tags) }), ...(how === 'queued' && { runAtUs: whenReleasedUs }) };
    const common = {
      submittedBy,
      context,
      ...(Object.keys(options).length > 0 && { options }),
      ...(how !== 'by_hand' && { waitsUnderPause: true as const }),
      ...(idempotency && { idempotency }),
    };
    if ('pipeline' in target) return pipeline.startRun({ pipeline: target.pipeline, payload, event, ...common }, turn);
    const { plugin, command } = target;
    const isEvent = command === 'handle';
    const reply = jobs.submit({ plugin, command, payloads: [payload], event: isEvent ? event : null, ...common }, turn);
    return reply.kind === 'refused' ? reply : { kind: 'accepted', id: reply.ids };
  }

  #isPaused({ target }: ScheduleDefinition): boolean {
    const { jobs } = this.#ports;
    if ('pipeline' in target) return jobs.pauseOf(target.pipeline) !== null;
    return jobs.isPaused(target.plugin, target.command);
  }

  /** Cancels the jobs that wait in the queue of a schedule that is off. False: some jobs remain for a later turn. */
  endQueue(turn: Turn, schedule: OpenSchedule): boolean {
    const { id, record } = schedule;
    const reason = record.removedMs === null ? 'the schedule is disabled' : 'the schedule was removed';
    const cancel = cancelOf(turn, id, reason);
    const jobs = record.queue.flatMap(({ job }) => job ?? []);
    const handled = new Set(jobs.slice(0, this.#ports.jobs.cancel(jobs, cancel, turn)));
    schedule.change({ queue: record.queue.filter(({ job }) => job === null || !handled.has(job)) });
    return handled.size === jobs.length;
  }

  /**
   * Records that the occurrence has fired. Extends the current range of the schedule if that range has the same
   * recurrence and ends with the previous occurrence; otherwise begins a new range.
   */
  #note(turn: Turn, schedule: OpenSchedule, dueMs: number): void {
    const { id, record } = schedule;
    const { rangeMs, recurrence, originMs } = record;
    const known = rangeMs === null ? undefined : (this.#ranges.get(schedule) ?? this.#stored(id, rangeMs));
    const isNext = known !== undefined && isOf(known, record) && nextDue(recurrence, known.lastMs, originMs) === dueMs;
    const range = isNext
      ? { ...known, lastMs: dueMs, count: known.count + 1 }
      : { firstMs: dueMs, lastMs: dueMs, count: 1, recurrence, originMs };
    if (isNext) putFired(turn.batch, id, range);
    else this.addRange(turn, schedule, range);
    this.#ranges.set(schedule, range);
    schedule.change({ rangeMs: range.firstMs });
  }

  /** The range that begins at this time. Undefined: its record is unusable. */
  #stored(id: string, firstMs: number): FiredRange | undefined {
    const { reader, setAside } = this.#ports;
    return setAside.read('fired', firedKey(id, firstMs), () => readFired(reader, id, firstMs));
  }

  /** The ranges that this turn has added. Reads of the store do not show them before the commit. */
  addedTo(schedule: OpenSchedule): readonly FiredRange[] {
    return this.#added.get(schedule) ?? [];
  }

  /** Writes a new range, and drops the oldest ones if the schedule has more than `rangesMax`. */
  addRange(turn: Turn, schedule: OpenSchedule, range: FiredRange): void {
    const { id, record } = schedule;
    const { createdMs } = record;
    this.#added.set(schedule, [...this.addedTo(schedule), range]);
    schedule.ranges++;
    putFired(turn.batch, id, range);
    const removed = this.#removed.get(schedule) ?? 0;
    const dropped = dropOldest(this.#ports.reader, turn.batch, id, { createdMs, count: schedule.ranges, removed });
    if (dropped === null) return;
    this.#removed.set(schedule, removed + dropped.count);
    schedule.ranges -= dropped.count;
    schedule.change({ knownMs: Math.max(record.knownMs, dropped.lastMs) });
  }

  close(): void {
    this.#ranges.clear();
    this.#added.clear();
    this.#removed.clear();
  }
}

/** The time of the turn in whole ms. */
export function msOf({ nowUs }: Turn): number {
  return Math.floor(nowUs / 1_000);
}

/** Whether the range has the recurrence of the schedule. A reload may have changed the recurrence of the schedule. */
function isOf(range: FiredRange, { recurrence, originMs }: ScheduleRecord): boolean {
  return range.originMs === originMs && recurrenceText(range.recurrence) === recurrenceText(recurrence);
}

function cancelOf({ nowUs }: Turn, id: string, reason: string): Cancel {
  return { by: scheduleOrigin(id), reason, atUs: nowUs, notStarted: { jobs: 0, elements: 0 } };
}
