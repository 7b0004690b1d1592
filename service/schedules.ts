// Schedules for the HTTP servers: the ledger runs, pauses and resumes them; lists are read from the store and the configuration.
import type { RefusedWork, SubmitReply } from '../actors/job/protocol.ts';
import type { BackfillTimes } from '../actors/job/records/action.ts';
import type { RunSchedule, ScheduleReply } from '../actors/schedule/protocol.ts';
import { firedRanges, hasFired } from '../actors/schedule/records/fired.ts';
import { pastUntilMs, readSchedule } from '../actors/schedule/records/schedule.ts';
import { removedIds, type ScheduleView, viewRemoved, viewSchedule } from '../actors/schedule/views/schedules.ts';
import type { Config, ScheduleDefinition } from '../config/config.ts';
import { nextDue } from '../runtime/calendar/recurrence.ts';
import type { Link, PendingAsk } from '../runtime/link.ts';
import { type Sliced, Slices } from '../runtime/slices.ts';
import type { Reader } from '../runtime/store/store.ts';
import { takenBack } from './submissions.ts';

/** The maximum length of the id of a schedule. A longer text is no id, and is not looked up, because the store refuses very long keys. */
const idCharactersMax = 128;
/** The maximum number of occurrences of a backfill. */
export const backfillMax = 10_000;

export type ScheduleOptions = { readonly link: Link; readonly reader: Reader; readonly config: () => Config };
/**
 * `matched`: the number of occurrences in the range of a backfill; `fired`: how many of them have fired, so that the backfill would skip them
 * (`hasFired`); `times`: the times of the schedule at the count. Null: the range has more than `backfillMax` occurrences.
 */
export type BackfillCount = { readonly matched: number; readonly fired: number; readonly times: BackfillTimes } | null;

/** Writes a schedule as text. Lists keep the texts, not the views, because a view has a whole history. */
type ShowSchedule = (view: ScheduleView) => string;

/** A page of schedules, each as text. `isLast`: whether none follow. */
export type SchedulePage = { readonly shown: readonly string[]; readonly isLast: boolean };

export function openSchedules({ link, reader, config }: ScheduleOptions) {
  const slices = new Slices(() => reader.refresh());

  function* count(
    { id, recurrence }: ScheduleDefinition,
    fromMs: number,
    toMs: number,
    nowMs: number,
  ): Sliced<BackfillCount> {
    const record = readSchedule(reader, id);
    const times = { recurrence, originMs: record?.originMs ?? nowMs };
    if (!record) return { matched: 0, fired: 0, times };
    const untilMs = Math.min(toMs, pastUntilMs(record, nowMs));
    const ranges = [...firedRanges(reader, id, untilMs + 1)];
    let matched = 0;
    let fired = 0;
    let due = nextDue(recurrence, fromMs - 1, times.originMs);
    for (; due !== null && due <= untilMs; due = nextDue(recurrence, due, times.originMs)) {
      if (++matched > backfillMax) return null;
      if (hasFired(record, ranges, due)) fired++;
      yield;
    }
    return { matched, fired, times };
  }

  function* shown(
    definitions: readonly ScheduleDefinition[],
    nowMs: number,
    show: ShowSchedule,
  ): Sliced<readonly string[]> {
    const texts: string[] = [];
    for (const definition of definitions) {
      texts.push(show(viewSchedule(reader, definition, nowMs)));
      yield;
    }
    return texts;
  }

  /** The configured schedules in their order, then those that were removed and whose history is still kept. */
  function* page(from: number, limit: number, nowMs: number, show: ShowSchedule): Sliced<SchedulePage> {
    const { schedules } = config();
    const configured = schedules.slice(from, from + limit);
    const texts = [...(yield* shown(configured, nowMs, show))];
    if (from + limit < schedules.length) return { shown: texts, isLast: false };
    const removed = removedIds(reader, new Set(schedules.map(({ id }) => id)));
    const at = Math.max(0, from - schedules.length);
    const end = at + limit - configured.length;
    for (const id of removed.slice(at, end)) {
      const view = viewRemoved(reader, id);
      if (view) texts.push(show(view));
      yield;
    }
    return { shown: texts, isLast: end >= removed.length };
  }

  return {
    /** Resolves when the job is on disk, or refused. If the caller disconnects before the message is sent, no job is created. */
    run(id: string, asker: PendingAsk, idempotency?: RunSchedule['idempotency']): Promise<SubmitReply> {
      const message = { kind: 'run_schedule', id, ...(idempotency && { idempotency }) };
      return link.ask('schedule', message, { asker, answer: takenBack });
    },
    pause: (id: string, by: string, reason: string | null): Promise<ScheduleReply | RefusedWork> =>
      link.ask('schedule', { kind: 'pause_schedule', id, by, reason }),
    resume: (id: string): Promise<ScheduleReply | RefusedWork> => link.ask('schedule', { kind: 'resume_schedule', id }),
    /** The schedules of these definitions, each as text. A commit may come between the reading of two of them. */
    shown: (...wanted: Parameters<typeof shown>) => slices.share().run(shown(...wanted)),
    page: (...wanted: Parameters<typeof page>) => slices.share().run(page(...wanted)),
    /** A schedule that the configuration does not have, if its history is still kept. */
    removedOne(id: string): ScheduleView | undefined {
      if (id.length > idCharactersMax) return undefined;
      reader.refresh();
      return viewRemoved(reader, id);
    },
    count: (...wanted: Parameters<typeof count>) => slices.share().run(count(...wanted)),
  };
}
