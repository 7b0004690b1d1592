// The schedule actor is the only writer of schedules. At the end of each turn, it fires due occurrences. The commit
// that creates the job of an occurrence also records that the occurrence has fired.
import type { Config } from '../../config/config.ts';
import { nextDue } from '../../runtime/calendar/recurrence.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import type { Observed, PlainObservation } from '../hub/protocol.ts';
import type { IdempotencyStore, SubmitReply } from '../job/protocol.ts';
import type { TerminalStatus } from '../job/records/job.ts';
import { backfill } from './backfill.ts';
import { DueHeap } from './due-heap.ts';
import { Firer, type FiringPorts, msOf } from './firer.ts';
import type { OpenSchedule } from './open-schedule.ts';
import { fireTime, nextFireTime, type Passed, planOf } from './plan.ts';
import type { EndedJob, PauseSchedule, RunSchedule, ScheduleMessage, ScheduleReply } from './protocol.ts';
import { removeFired } from './records/fired.ts';
import { type PassReason, putSchedule, scheduleKey, textOf } from './records/schedule.ts';
import { loadSchedules, reconcile, removedFor } from './reload.ts';

/** A refused occurrence is tried again at this interval, until the next occurrence is due. */
export const retryMs = 1_000;
/** A turn whose time is up still fires due schedules until it has fired this many. */
const firedPerTurnMin = 16;
/** A schedule with more due occurrences than this takes long to plan, so it counts as `firedPerTurnMin` schedules. */
const examinedMany = 64;
/** The minimum time for which the records of a schedule are kept after the configuration has dropped the schedule. */
export const removedKeptMs = 30 * 86_400_000;

export type ScheduleActorOptions = Omit<FiringPorts, 'follow' | 'observe'> & {
  readonly config: Config;
  readonly jobs: FiringPorts['jobs'] & { readonly idempotency: IdempotencyStore };
  /** When the service started, in ms. Occurrences whose time to fire was before this time count as missed if they have not fired. */
  readonly startedMs: number;
  /** Requests the message `alarm` at this time, or earlier; null: no message. A new request replaces the previous one. */
  readonly alarm: (atMs: number | null) => void;
  /** Sends a message to the actor itself, for a later turn. */
  readonly self: (message: ScheduleMessage) => void;
};

export type ScheduleActor = Actor & {
  /** Must be called at the beginning of each turn, before any job of the turn can end. */
  begin(): void;
  reconfigure(config: Config, turn: Turn): void;
  /** Fires the schedules that are due. Must be called before the jobs of the turn are dispatched. */
  fire(turn: Turn): void;
  /** Handles the ends of followed jobs, and writes the changes of the turn. Must be called after the last job of the turn has ended. */
  close(turn: Turn): void;
};

export function startScheduleActor(options: ScheduleActorOptions): ScheduleActor {
  const { reader, jobs, pipeline, startedMs, self, setAside } = options;
  const schedules: Map<string, OpenSchedule> = loadSchedules(reader, setAside);
  const due = new DueHeap<OpenSchedule>();
  const touched = new Set<OpenSchedule>();
  /** By the id of a followed job: the schedule that started the job. `isOccurrence` false: a caller started the job by hand. */
  const jobsOf = new Map<string, { readonly schedule: OpenSchedule; readonly isOccurrence: boolean }>();
  let observations: PlainObservation[] = [];
  let endedAtOnce: JobId[] = [];
  let alarmMs: number | null = null;
  let isFirstTurn = true;
  let hasBegun = false;
  /** The jobs that had ended before the first turn, or are no longer stored, and whose schedules have not recorded the end. */
  const endedBefore: EndedJob[] = [];
  /** Whether a restored state waited to be resumed when `isHeld` was last called. */
  let wasRestored = false;
  let { config } = options;

  const observe = (type: PlainObservation['type'], turn: Turn, fields: PlainObservation['fields']): void => {
    observations.push({ kind: 'plain', type, atUs: turn.nowUs, fields });
  };
  const firer = new Firer({ reader, setAside, jobs, pipeline, follow, observe });

  function follow(schedule: OpenSchedule, job: JobId, begins: boolean, isOccurrence: boolean): void {
    jobsOf.set(formatId(job), { schedule, isOccurrence });
    jobs.followed.add(job);
    // A run may end in the turn in which it begins, for example because its condition is false. The actor handles such an end in a
    // later turn (`ended_at_once`).
    const isRun = schedule.definition !== null && 'pipeline' in schedule.definition.target;
    if (begins && isRun && !pipeline.isOpen(job)) endedAtOnce.push(job);
  }

  /**
   * Called at the beginning of the first turn, because jobs may end in that turn. Looks up the jobs that the records of schedules show as
   * not ended. Follows those that are unsettled, and adds the others to `endedBefore`.
   */
  function followAll(): void {
    for (const schedule of schedules.values()) {
      const { history, last, isRunning, queue } = schedule.record;
      const noted = history.flatMap(entry => (entry.kind === 'fired' && entry.status === null ? [entry.job] : []));
      const open = [...noted, ...(isRunning && last ? [last] : []), ...queue.flatMap(({ job }) => job ?? [])];
      for (const [name, job] of new Map(open.map(job => [formatId(job), job]))) {
        const status = jobs.endOf(job);
        const entry = history.find(entry => entry.kind === 'fired' && formatId(entry.job) === name);
        const isByHand = entry?.kind === 'fired' && entry.dueMs === null;
        jobsOf.set(name, { schedule, isOccurrence: !isByHand });
        if (status === null) jobs.followed.add(job);
        else endedBefore.push({ id: name, status: status ?? 'cancelled' });
      }
    }
  }

  /** In the first turn: applies the configuration, then the ends in `endedBefore`. Must be called before a schedule is changed. */
  function startUp(turn: Turn): void {
    if (!isFirstTurn) return;
    configure(turn);
    for (const { id, status } of endedBefore.splice(0)) ended(turn, id, status);
    isFirstTurn = false;
  }

  function configure(turn: Turn): void {
    const nowMs = msOf(turn);
    const changed = reconcile(schedules, config, nowMs, isFirstTurn ? startedMs : nowMs);
    for (const { schedule, dropped } of changed) {
      for (const dueMs of dropped) pass(turn, schedule, { firstMs: dueMs, lastMs: dueMs, count: 1 }, 'disabled');
      touched.add(schedule);
    }
    for (const schedule of isFirstTurn ? schedules.values() : changed.map(({ schedule }) => schedule))
      lookAt(schedule, nowMs);
  }

  /** Makes `fire` handle the schedule and find its next time, in this turn or, if the time of the turn is up, in a later one. */
  function lookAt(schedule: OpenSchedule, nowMs: number): void {
    const { mayFire, refused, record } = schedule;
    const hasQueueToEnd = record.offMs !== null && record.queue.length > 0;
    if (hasQueueToEnd || (mayFire && !refused)) due.set(schedule, nowMs);
    else if (!mayFire) due.set(schedule, Number.POSITIVE_INFINITY);
  }

  function setNext(schedule: OpenSchedule): void {
    const { definition, record, mayFire, refused } = schedule;
    if (!mayFire || !definition) due.set(schedule, Number.POSITIVE_INFINITY);
    else if (!refused) due.set(schedule, nextFireTime({ definition, record }) ?? Number.POSITIVE_INFINITY);
  }

  function pass(turn: Turn, schedule: OpenSchedule, passed: Passed, reason: PassReason): void {
    schedule.pass(passed, reason, msOf(turn));
    const { firstMs, lastMs, count } = passed;
    const fields = { schedule: schedule.id, count, from: textOf(firstMs), to: textOf(lastMs), reason };
    observe('schedule.missed', turn, fields);
  }

  /**
   * Fires the due occurrences of one schedule: first the next one in its queue, then refused ones, then new ones. If
   * the schedule is off, cancels the jobs in its queue instead. Returns how many new occurrences were due.
   */
  function advance(turn: Turn, schedule: OpenSchedule): number {
    const nowMs = msOf(turn);
    const before = schedule.record;
    let examined = 0;
    if (before.offMs !== null && !firer.endQueue(turn, schedule)) due.set(schedule, nowMs + retryMs);
    if (schedule.mayFire) {
      const isQueueRefused = !fireQueued(turn, schedule);
      if (fireRefused(turn, schedule)) examined = firePlanned(turn, schedule);
      if (isQueueRefused) due.set(schedule, Math.min(schedule.nextMs, nowMs + retryMs));
    }
    if (schedule.record !== before) touched.add(schedule);
    return examined;
  }

  /** Fires the new occurrences that are due, and returns how many were due. */
  function firePlanned(turn: Turn, schedule: OpenSchedule): number {
    const nowMs = msOf(turn);
    const definition = schedule.definition!;
    const plan = planOf({ definition, record: schedule.record, liveMs: schedule.liveMs, nowMs });
    if (plan?.passed) pass(turn, schedule, plan.passed, 'missed');
    if (!plan || fireAll(turn, schedule, plan.runs)) setNext(schedule);
    return plan?.examined ?? 0;
  }

  /**
   * Fires these occurrences; with `if_running: replace`, only the first one. False: some occurrences are left, and the schedule is due again
   * soon. After a refusal, `schedule.refused` has the refused occurrence and all later ones.
   */
  function fireAll(turn: Turn, schedule: OpenSchedule, runs: readonly number[]): boolean {
    for (const [place, dueMs] of runs.entries()) {
      // With `replace`, an occurrence cancels the job of the occurrence before it. That job can be cancelled only after its commit.
      if (place > 0 && schedule.definition!.ifRunning === 'replace') {
        due.set(schedule, msOf(turn) + 1);
        return false;
      }
      const refused = firer.fire(turn, schedule, dueMs);
      if (!refused) continue;
      const { recurrence, originMs } = schedule.record;
      const next = nextDue(recurrence, runs.at(-1)!, originMs);
      const untilMs = next === null ? Number.POSITIVE_INFINITY : fireTime({ definition: schedule.definition! }, next);
      schedule.refused = { runs: runs.slice(place), untilMs, refusal: refused.refusal };
      due.set(schedule, Math.min(msOf(turn) + retryMs, untilMs));
      return false;
    }
    return true;
  }

  /**
   * Fires the occurrences that were refused before. If the next occurrence is due by now, they count as missed instead.
   * False: some of them are left (`fireAll`).
   */
  function fireRefused(turn: Turn, schedule: OpenSchedule): boolean {
    const { refused } = schedule;
    schedule.refused = null;
    if (!refused) return true;
    const { runs, untilMs } = refused;
    if (msOf(turn) < untilMs) return fireAll(turn, schedule, runs);
    pass(turn, schedule, { firstMs: runs[0]!, lastMs: runs.at(-1)!, count: runs.length }, 'refused');
    return true;
  }

  /** If the schedule's last job has ended, lets the next job of the queue begin. False: a job was refused, or cannot be read now. */
  function fireQueued(turn: Turn, schedule: OpenSchedule): boolean {
    const { queue, isRunning } = schedule.record;
    const [first, ...others] = queue;
    if (first === undefined || isRunning) return true;
    const { dueMs, job } = first;
    if (job === null) {
      if (firer.start(turn, schedule, dueMs)) return false;
      schedule.change({ queue: others });
      return true;
    }
    const released = jobs.release(job, turn);
    if (released === 'unread') return false;
    schedule.change({ queue: others, ...(released === 'released' && { last: job, isRunning: true }) });
    return released === 'released' || fireQueued(turn, schedule);
  }

  function ended(turn: Turn, job: string, status: TerminalStatus): void {
    const known = jobsOf.get(job);
    jobsOf.delete(job);
    if (!known) return;
    const { schedule, isOccurrence } = known;
    touched.add(schedule);
    const { record, definition } = schedule;
    const isLast = record.last !== null && formatId(record.last) === job;
    const place = record.history.findIndex(entry => entry.kind === 'fired' && formatId(entry.job) === job);
    const entry = record.history[place];
    schedule.change({
      history: entry?.kind === 'fired' ? record.history.with(place, { ...entry, status }) : record.history,
      isRunning: record.isRunning && !isLast,
      queue: record.queue.filter(waiting => waiting.job === null || formatId(waiting.job) !== job),
      // The end of a job that was started by hand does not change the number of failures.
      failures: isOccurrence ? failuresAfter(record.failures, status) : record.failures,
    });
    const { pauseAfterFailures: max = 0 } = definition ?? {};
    if (max > 0 && schedule.record.failures >= max && !record.pause) {
      const reason = `${schedule.record.failures} failures in a row`;
      pauseNow(turn, schedule, 'schedule', reason);
    } else if (schedule.record.queue.length > 0 && schedule.mayFire) due.set(schedule, msOf(turn));
  }

  function pauseNow(turn: Turn, schedule: OpenSchedule, by: string, reason: string | null): void {
    schedule.change({ pause: { by, reason, sinceMs: msOf(turn) } });
    schedule.refused = null;
    touched.add(schedule);
    observe('schedule.paused', turn, { schedule: schedule.id, by, reason });
    setNext(schedule);
  }

  /** The schedule with this id. Undefined: the configuration has no such schedule. */
  function known(turn: Turn, id: string): OpenSchedule | undefined {
    startUp(turn);
    const schedule = schedules.get(id);
    return schedule?.definition ? schedule : undefined;
  }

  function run(turn: Turn, { id, idempotency }: RunSchedule): SubmitReply {
    const earlier = idempotency && jobs.idempotency.answer(idempotency, turn);
    if (earlier) return earlier;
    const schedule = known(turn, id);
    if (!schedule) return { kind: 'refused', refusal: 'unavailable' };
    const reply = firer.startByHand(turn, schedule, idempotency);
    touched.add(schedule);
    return reply;
  }

  function pause(turn: Turn, { id, by, reason, replyTo }: PauseSchedule): void {
    const schedule = known(turn, id);
    if (schedule) pauseNow(turn, schedule, by, reason);
    turn.reply(replyTo, { kind: 'schedule', pause: schedule?.record.pause ?? null } satisfies ScheduleReply);
  }

  function resume(turn: Turn, id: string): ScheduleReply {
    const schedule = known(turn, id);
    const paused = schedule?.record.pause ?? null;
    if (!schedule || !paused) return { kind: 'schedule', pause: null };
    schedule.change({ pause: null, failures: 0 });
    schedule.liveMs = msOf(turn);
    touched.add(schedule);
    // At the end of this turn, `fire` handles the occurrences that were missed during the pause.
    due.set(schedule, msOf(turn));
    return { kind: 'schedule', pause: paused };
  }

  function prune(turn: Turn): void {
    const beforeMs = msOf(turn) - removedKeptMs;
    for (const schedule of removedFor(schedules, beforeMs)) {
      schedules.delete(schedule.id);
      turn.batch.remove('schedules', scheduleKey(schedule.id));
      removeFired(reader, turn.batch, schedule.id);
    }
  }

  /** Whether a restored state waits to be resumed. Until then, occurrences that come due do not fire, and count as missed. */
  function isHeld(turn: Turn): boolean {
    const isRestored = jobs.isRestored();
    if (wasRestored && !isRestored) for (const schedule of schedules.values()) schedule.liveMs = msOf(turn);
    wasRestored = isRestored;
    return isRestored;
  }

  function setAlarm(turn: Turn): void {
    const mayFire = !wasRestored && jobs.mayBegin();
    const nextMs = mayFire && Number.isFinite(due.nextMs) ? due.nextMs : null;
    if (nextMs === alarmMs) return;
    alarmMs = nextMs;
    turn.after(() => options.alarm(nextMs));
  }

  function handle(message: ScheduleMessage, turn: Turn): void {
    switch (message.kind) {
      case 'run_schedule':
        turn.reply(message.replyTo, run(turn, message));
        break;
      case 'pause_schedule':
        pause(turn, message);
        break;
      case 'resume_schedule':
        turn.reply(message.replyTo, resume(turn, message.id));
        break;
      case 'alarm':
        alarmMs = null;
        break;
      case 'prune':
        prune(turn);
        break;
      case 'ended_at_once':
        for (const job of message.ids) {
          const status = jobs.endOf(job);
          if (!status) continue;
          jobs.followed.remove(job);
          ended(turn, formatId(job), status);
        }
        break;
      default:
        message satisfies never;
    }
  }

  jobs.onBackfill((place, turn) => {
    const schedule = known(turn, place.plan.schedule);
    if (schedule) touched.add(schedule);
    return backfill({ ...place, reader, firer, turn, schedule });
  });

  return {
    receive: (message, turn) => handle(message as ScheduleMessage, turn),
    begin() {
      if (!hasBegun) followAll();
      hasBegun = true;
    },
    reconfigure(next, turn) {
      config = next;
      if (!isFirstTurn) configure(turn);
    },
    fire(turn) {
      startUp(turn);
      // An occurrence that comes due while the service stops counts as missed at the next start, and `catch_up` applies to it.
      if (!jobs.mayBegin() || isHeld(turn)) return;
      const nowMs = turn.nowUs / 1_000;
      let fired = 0;
      for (let next = due.pop(nowMs); next; next = due.pop(nowMs)) {
        fired += advance(turn, next) > examinedMany ? firedPerTurnMin : 1;
        if (fired >= firedPerTurnMin && turn.isSpent) break;
      }
    },
    close(turn) {
      for (const { id, status } of jobs.followed.takeEnded()) ended(turn, id, status);
      // The record of a removed schedule may have been pruned, and another schedule may have its id since.
      for (const schedule of touched)
        if (schedules.get(schedule.id) === schedule) putSchedule(turn.batch, schedule.id, schedule.record);
      touched.clear();
      firer.close();
      if (observations.length > 0) turn.tell('hub', { kind: 'observed', groups: observations } satisfies Observed);
      observations = [];
      const ids = endedAtOnce;
      endedAtOnce = [];
      if (ids.length > 0) turn.after(() => self({ kind: 'ended_at_once', ids }));
      setAlarm(turn);
    },
  };
}

/** The number of failures in a row after a job has ended with this status. A cancelled job leaves the number unchanged. */
function failuresAfter(failures: number, status: TerminalStatus): number {
  if (status === 'succeeded') return 0;
  return status === 'cancelled' ? failures : failures + 1;
}
