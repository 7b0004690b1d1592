// The table of schedules: the state of each schedule, and the recurrence to which its times belong. Other settings are
// not stored. The commit that fires an occurrence also writes the record. The record is kept for at least 30 days after
// the configuration has dropped the schedule.
import type { Recurrence } from '../../../runtime/calendar/recurrence.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { TerminalStatus } from '../../job/records/job.ts';

/** The maximum number of entries in the history of a schedule. */
export const historyMax = 20;
/** The maximum number of occurrences in the queue of a schedule (`if_running: queue`). */
export const queueMax = 100;

/** Why an occurrence did not fire. */
export const passReasons = ['running', 'paused', 'queue_full', 'missed', 'disabled', 'refused'] as const;
export type PassReason = (typeof passReasons)[number];

/** Whether an occurrence that did not fire for this reason counts as missed. Otherwise it counts as skipped. */
export function isMissed(reason: PassReason): boolean {
  return reason === 'missed' || reason === 'refused' || reason === 'disabled';
}

export const scheduleOutcomes = ['fired', 'by_hand', ...passReasons] as const;
export type ScheduleOutcome = (typeof scheduleOutcomes)[number];

/** An entry of the history. */
export type Firing =
  /**
   * `dueMs` null: a caller started the job by hand. `status` null: the job has not ended. `missed`: how many occurrences were missed
   * between the previous firing and this one, at most `missedMax` (plan.ts). `lateMs`: how long after its due time plus its jitter the
   * occurrence fired; absent: a caller started the job, or an earlier version fired the occurrence.
   */
  | {
      readonly kind: 'fired';
      readonly dueMs: number | null;
      readonly firedMs: number;
      readonly job: JobId;
      readonly status: TerminalStatus | null;
      readonly missed: number;
      readonly lateMs?: number;
    }
  /** Occurrences that did not fire, all for the same reason. */
  | {
      readonly kind: 'passed';
      readonly reason: PassReason;
      readonly firstMs: number;
      readonly lastMs: number;
      readonly count: number;
      readonly atMs: number;
    };

/** An occurrence that waits for the end of the last job. `job` null: an earlier version queued the occurrence, whose job does not exist yet. */
export type Waiting = { readonly dueMs: number; readonly job: JobId | null };

export type SchedulePause = { readonly by: string; readonly reason: string | null; readonly sinceMs: number };

/** Times are ms since the epoch. */
export type ScheduleRecord = {
  readonly recurrence: Recurrence;
  /** When this record was created. */
  readonly createdMs: number;
  /** The time from which `every` counts. */
  readonly originMs: number;
  /** Occurrences up to this time are past: only the queue or a backfill can still start their jobs. */
  readonly lastDueMs: number;
  /** The job of the occurrence that began last. Backfills do not change it. Null: no occurrence has begun. */
  readonly last: JobId | null;
  /** Whether `last` has not ended. */
  readonly isRunning: boolean;
  /** How many jobs of occurrences have failed in a row. Cancelled jobs, and jobs that were started by hand, do not count. */
  readonly failures: number;
  readonly pause: SchedulePause | null;
  /** Occurrences that wait for the end of the job `last`, in order. */
  readonly queue: readonly Waiting[];
  /** When the configuration dropped the schedule or switched it off. Null: the schedule is on. */
  readonly offMs: number | null;
  /** When the configuration dropped the schedule. Null: the configuration has the schedule. */
  readonly removedMs: number | null;
  /**
   * How many occurrences fired (`fired`; without backfills), how often callers ran the schedule by hand (`by_hand`), and how many
   * occurrences did not fire, by reason.
   */
  readonly counts?: { readonly [O in ScheduleOutcome]?: number };
  /** The `firstMs` of the record in `fired` that the next firing may extend. Null: the next firing begins a new record. */
  readonly rangeMs: number | null;
  /**
   * Occurrences after `createdMs` and up to this time count as fired, because their records in `fired` were dropped. 0: none were
   * dropped.
   */
  readonly knownMs: number;
  /** Oldest first. */
  readonly history: readonly Firing[];
};

/** Backfills may fire occurrences up to this time. A schedule that is on still has to decide on later ones itself. */
export function pastUntilMs({ lastDueMs, offMs }: ScheduleRecord, nowMs: number): number {
  return offMs === null ? lastDueMs : Math.max(lastDueMs, nowMs);
}

export function scheduleKey(id: string): Uint8Array {
  return Buffer.from(id);
}

export function scheduleIdOf(key: Uint8Array): string {
  return Buffer.from(key).toString();
}

type PackedFiring =
  | [dueMs: number | null, firedMs: number, job: JobId, status: TerminalStatus | null, missed: number, lateMs?: number]
  | [reason: PassReason, firstMs: number, lastMs: number, count: number, atMs: number];

export function putSchedule(batch: Batch, id: string, record: ScheduleRecord): void {
  const { recurrence, createdMs, originMs, lastDueMs, last, isRunning, failures } = record;
  const { pause, queue, offMs, removedMs, rangeMs, knownMs, history, counts } = record;
  const packed = [
    recurrence,
    createdMs,
    originMs,
    lastDueMs,
    last,
    isRunning,
    failures,
    pause && [pause.by, pause.reason, pause.sinceMs],
    queue.map(({ dueMs, job }) => (job ? [dueMs, job] : dueMs)),
    offMs,
    rangeMs,
    knownMs,
    history.map(packFiring),
    ...(counts ? [removedMs, counts] : removedMs === null ? [] : [removedMs]),
  ];
  batch.put('schedules', scheduleKey(id), pack(packed));
}

function packFiring(firing: Firing): PackedFiring {
  if (firing.kind === 'fired') {
    const { dueMs, firedMs, job, status, missed, lateMs } = firing;
    const fired = [dueMs, firedMs, job, status, missed] as const;
    return lateMs === undefined ? [...fired] : [...fired, lateMs];
  }
  return [firing.reason, firing.firstMs, firing.lastMs, firing.count, firing.atMs];
}

export function decodeSchedule(value: Uint8Array): ScheduleRecord {
  const [recurrence, createdMs, originMs, lastDueMs, last, isRunning, failures, pause, queue, offMs, ...rest] =
    unpack<
      [
        Recurrence,
        number,
        number,
        number,
        JobId | null,
        boolean,
        number,
        [string, string | null, number] | null,
        (number | [dueMs: number, job: JobId])[],
        number | null,
        number | null,
        number,
        PackedFiring[],
        (number | null)?,
        ScheduleRecord['counts']?,
      ]
    >(value);
  const [rangeMs, knownMs, history, removedMs = null, counts] = rest;
  return {
    recurrence,
    createdMs,
    originMs,
    lastDueMs,
    last,
    isRunning,
    failures,
    pause: pause && { by: pause[0], reason: pause[1], sinceMs: pause[2] },
    queue: queue.map(one => (typeof one === 'number' ? { dueMs: one, job: null } : { dueMs: one[0], job: one[1] })),
    offMs,
    removedMs,
    rangeMs,
    knownMs,
    history: history.map(unpackFiring),
    ...(counts && { counts }),
  };
}

function unpackFiring(packed: PackedFiring): Firing {
  if (typeof packed[0] === 'string') {
    const [reason, firstMs, lastMs, count, atMs] = packed as Extract<PackedFiring, [PassReason, ...unknown[]]>;
    return { kind: 'passed', reason, firstMs, lastMs, count, atMs };
  }
  const [dueMs, firedMs, job, status, missed, lateMs] = packed as Exclude<PackedFiring, [PassReason, ...unknown[]]>;
  return { kind: 'fired', dueMs, firedMs, job, status, missed, ...(lateMs !== undefined && { lateMs }) };
}

/** Undefined: the store has no record of the schedule, or the record is unusable. */
export function readSchedule(reader: Reader, id: string): ScheduleRecord | undefined {
  const value = reader.get('schedules', scheduleKey(id));
  return value && readable(() => decodeSchedule(value));
}

/** The maximum number of texts of times that are kept for reuse. Often many schedules are due at the same time. */
const textsMax = 64;
const texts = new Map<number, string>();

/** The time as RFC 3339, with milliseconds. */
export function textOf(ms: number): string {
  let text = texts.get(ms);
  if (text === undefined) {
    text = new Date(ms).toISOString();
    if (texts.size >= textsMax) texts.clear();
    texts.set(ms, text);
  }
  return text;
}
