// Fires an occurrence: starts its job, queues the occurrence or skips it, as `if_running` says. With `skip_when_paused`, the occurrence is
// skipped while its target is paused. The decision is recorded in the same turn.
import type { ScheduleDefinition } from '../../config/config.ts';
import { nextDue } from '../../runtime/calendar/recurrence.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { pack } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { IdempotencyKey, JobCalls, PipelineCalls, RefusedWork, SubmitReply } from '../job/protocol.ts';
import { tagsOf } from '../job/records/tags.ts';
import type { OpenSchedule } from './open-schedule.ts';
import { fireTime } from './plan.ts';
import { type ScheduledJobs, scheduleOrigin } from './protocol.ts';
import { dropOldest, type FiredRange, putFired, readFired } from './records/fired.ts';
import { type PassReason, queueMax, textOf } from './records/schedule.ts';

export type FiringPorts = {
  readonly reader: Reader;
  readonly jobs: ScheduledJobs & Pick<JobCalls, 'pauseOf'>;
  readonly pipeline: Pick<PipelineCalls, 'startRun' | 'isOpen'>;
  /** Called when the schedule has created a job, so that the schedule actor follows the job to its end. */
  readonly follow: (schedule: OpenSchedule, job: JobId, turn: Turn) => void;
  readonly observe: (
    type: 'schedule.fired' | 'schedule.skipped',
    turn: Turn,
    fields: { readonly [name: string]: string | number | null },
  ) => void;
};

export class Firer {
  readonly #ports: FiringPorts;
  /** By schedule: the range of fired occurrences that this turn has written. Reads of the store show it only after the commit. */
  readonly #ranges = new Map<OpenSchedule, FiredRange>();

  constructor(ports: FiringPorts) {
    this.#ports = ports;
  }

  /** Starts the job of an occurrence, queues the occurrence or skips it. Not null: the job was refused, and the schedule is unchanged. */
  fire(turn: Turn, schedule: OpenSchedule, dueMs: number, missed: number): RefusedWork | null {
    const { record } = schedule;
    const definition = schedule.definition!;
    const waits = this.#whyNot(definition, schedule);
    if (waits === 'queue') {
      schedule.change({ queue: [...record.queue, dueMs], lastDueMs: dueMs });
      return null;
    }
    if (waits) {
      this.#skip(turn, schedule, dueMs, waits);
      return null;
    }
    const { last, isRunning } = record;
    const refused = this.start(turn, schedule, dueMs, missed);
    if (!refused && isRunning && last && definition.ifRunning === 'replace') this.#replace(turn, schedule.id, last);
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

  /** Starts the job of an occurrence. Not null: the job was refused. */
  start(turn: Turn, schedule: OpenSchedule, dueMs: number, missed: number): RefusedWork | null {
    const reply = this.submit(turn, schedule, dueMs, missed, true);
    if (reply.kind === 'refused') return reply;
    const job = Buffer.from(reply.id);
    const firedMs = Math.floor(turn.nowUs / 1_000);
    schedule.change({ lastDueMs: Math.max(schedule.record.lastDueMs, dueMs), last: job, isRunning: true });
    schedule.add({ kind: 'fired', dueMs, firedMs, job, status: null, missed });
    this.#note(turn, schedule, dueMs);
    this.#ports.follow(schedule, job, turn);
    this.#observeFired(turn, schedule, dueMs, firedMs, missed, job);
    return null;
  }

  /** Starts a job that a caller has asked for. The job does not count as an occurrence. */
  startByHand(turn: Turn, schedule: OpenSchedule, idempotency: IdempotencyKey | undefined): SubmitReply {
    const reply = this.submit(turn, schedule, null, 0, false, idempotency);
    if (reply.kind === 'refused') return reply;
    const job = Buffer.from(reply.id);
    const firedMs = Math.floor(turn.nowUs / 1_000);
    schedule.add({ kind: 'fired', dueMs: null, firedMs, job, status: null, missed: 0 });
    this.#ports.follow(schedule, job, turn);
    this.#observeFired(turn, schedule, null, firedMs, 0, job);
    return reply;
  }

  submit(
    turn: Turn,
    { id, definition, payload }: OpenSchedule,
    dueMs: number | null,
    missed: number,
    waitsUnderPause: boolean,
    idempotency?: IdempotencyKey,
  ): SubmitReply {
    const { target, tags } = definition!;
    const { jobs, pipeline } = this.#ports;
    const submittedBy = scheduleOrigin(id);
    const fired_at = textOf(Math.floor(turn.nowUs / 1_000));
    const context = pack({ schedule: { id, due_at: dueMs === null ? null : textOf(dueMs), fired_at, missed } });
    const event = { type: `schedule.${id}`, source: submittedBy };
    const common = {
      submittedBy,
      context,
      ...(tags && { options: { tags: tagsOf(tags) } }),
      ...(waitsUnderPause && { waitsUnderPause }),
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

  #skip(turn: Turn, schedule: OpenSchedule, dueMs: number, reason: PassReason): void {
    schedule.pass({ firstMs: dueMs, lastMs: dueMs, count: 1 }, reason, Math.floor(turn.nowUs / 1_000));
    this.#ports.observe('schedule.skipped', turn, { schedule: schedule.id, due_at: textOf(dueMs), reason });
  }

  #replace(turn: Turn, id: string, last: JobId): void {
    const reason = 'replaced by a newer occurrence';
    const cancel = { by: scheduleOrigin(id), reason, atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 } };
    this.#ports.jobs.cancel(last, cancel, turn);
  }

  /**
   * Records that the occurrence has fired: extends the schedule's current range if the occurrence is the next one after it, otherwise
   * begins a new range.
   */
  #note(turn: Turn, schedule: OpenSchedule, dueMs: number): void {
    const { reader } = this.#ports;
    const { id, record } = schedule;
    const { rangeMs, recurrence, originMs } = record;
    const known = rangeMs === null ? undefined : (this.#ranges.get(schedule) ?? readFired(reader, id, rangeMs));
    const isNext = known !== undefined && nextDue(recurrence, known.lastMs, originMs) === dueMs;
    const range = isNext
      ? { ...known, lastMs: dueMs, count: known.count + 1 }
      : { firstMs: dueMs, lastMs: dueMs, count: 1, recurrence, originMs };
    if (isNext) putFired(turn.batch, id, range);
    else this.addRange(turn, schedule, range);
    this.#ranges.set(schedule, range);
    schedule.change({ rangeMs: range.firstMs });
  }

  /** Writes a new range, and drops the oldest one if the schedule has more than `rangesMax`. */
  addRange(turn: Turn, schedule: OpenSchedule, range: FiredRange): void {
    const { id } = schedule;
    schedule.ranges++;
    putFired(turn.batch, id, range);
    const droppedMs = dropOldest(this.#ports.reader, turn.batch, id, schedule.ranges);
    if (droppedMs === null) return;
    schedule.ranges--;
    schedule.change({ knownMs: Math.max(schedule.record.knownMs, droppedMs) });
  }

  #observeFired(
    turn: Turn,
    { id, definition }: OpenSchedule,
    dueMs: number | null,
    firedMs: number,
    missed: number,
    job: JobId,
  ): void {
    const fields = {
      schedule: id,
      job_id: formatId(job),
      due_at: null,
      fired_at: textOf(firedMs),
      late_ms: null,
      missed,
    };
    const due =
      dueMs === null
        ? {}
        : { due_at: textOf(dueMs), late_ms: Math.max(0, firedMs - fireTime({ definition: definition! }, dueMs)) };
    this.#ports.observe('schedule.fired', turn, { ...fields, ...due });
  }

  close(): void {
    this.#ranges.clear();
  }
}
