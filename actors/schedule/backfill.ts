// One step of a backfill. A backfill is an action that fires the occurrences of a past period that have not fired. It leaves the
// schedule's last job unchanged and, unless the schedule is off, also its `lastDueMs`.
import { nextDue } from '../../runtime/calendar/recurrence.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Refusal } from '../job/protocol.ts';
import { type Firer, msOf } from './firer.ts';
import type { OpenSchedule } from './open-schedule.ts';
import type { BackfillPlace, BackfillReport } from './protocol.ts';
import { type FiredRange, firedRanges, hasFired } from './records/fired.ts';
import { pastUntilMs } from './records/schedule.ts';

/** The maximum number of occurrences that one step handles. */
export const backfilledPerTurnMax = 256;

export type BackfillStep = BackfillPlace & {
  readonly reader: Reader;
  readonly firer: Firer;
  readonly turn: Turn;
  /** Undefined: the configuration no longer has the schedule, so the backfill ends. */
  readonly schedule: OpenSchedule | undefined;
};

export function backfill({ reader, firer, turn, schedule, plan, cursor, left }: BackfillStep): BackfillReport {
  if (!schedule) return { cursor, done: 0, fired: 0, isOver: true, waits: null };
  const { id, record } = schedule;
  // The record of a schedule that is off may still have an earlier recurrence.
  const { recurrence, originMs } = plan.times ?? {
    recurrence: schedule.definition!.recurrence,
    originMs: record.originMs,
  };
  const most = Math.min(left, backfilledPerTurnMax);
  const untilMs = Math.min(plan.toMs, pastUntilMs(record, msOf(turn)));
  const ranges = [...firedRanges(reader, id, untilMs + 1), ...firer.addedTo(schedule)];
  let lastMs = cursor === null ? plan.fromMs - 1 : dueOf(cursor);
  let done = 0;
  let fired = 0;
  let range = null as FiredRange | null;
  let waits: Refusal | null = null;
  const next = (afterMs: number) => nextDue(recurrence, afterMs, originMs);
  let due = next(lastMs);
  for (; due !== null && due <= untilMs && !isEnough(done + fired, most, turn); due = next(due)) {
    if (hasFired(record, ranges, due)) {
      fired++;
      if (range) firer.addRange(turn, schedule, range);
      range = null;
    } else {
      const reply = firer.submit(turn, schedule, due, 0, 'begins');
      if (reply.kind === 'refused') {
        waits = reply.refusal;
        break;
      }
      done++;
      range = { firstMs: range?.firstMs ?? due, lastMs: due, count: (range?.count ?? 0) + 1, recurrence, originMs };
    }
    lastMs = due;
  }
  if (range) firer.addRange(turn, schedule, range);
  // A fired occurrence must not be later than `lastDueMs`. If the schedule is off, this step may have fired later ones.
  if (done > 0) schedule.change({ lastDueMs: Math.max(record.lastDueMs, lastMs) });
  const isOver = due === null || due > untilMs || done + fired >= left;
  return { cursor: done + fired > 0 ? cursorOf(lastMs) : cursor, done, fired, isOver, waits };
}

function isEnough(handled: number, most: number, turn: Turn): boolean {
  return handled >= most || (handled > 0 && turn.isSpent);
}

function cursorOf(dueMs: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(dueMs));
  return bytes;
}

function dueOf(cursor: Uint8Array): number {
  return Number(Buffer.from(cursor).readBigUInt64BE());
}
