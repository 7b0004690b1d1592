// Writes schedules as JSON.

import type { Firing, SchedulePause, ScheduleRecord } from '../../actors/schedule/records/schedule.ts';
import { isMissed, textOf } from '../../actors/schedule/records/schedule.ts';
import { latenessOf, type ScheduleState, type ScheduleView } from '../../actors/schedule/views/schedules.ts';
import type { ScheduleDefinition } from '../../config/config.ts';
import { formatId } from '../../runtime/ids.ts';

/** One schedule, as GET /schedules and GET /schedule/{id} show it. */
export function scheduleDocument({ id, state, definition, record, next, nextFireMs }: ScheduleView) {
  return {
    id,
    state,
    ...(definition && definitionFields(definition)),
    next: next.map(textOf),
    next_run_at: nextFireMs === null ? null : textOf(nextFireMs),
    ...(record && {
      last_due_at: textOf(record.lastDueMs),
      running: record.isRunning,
      queued: record.queue.length,
      failures: record.failures,
      ...(record.pause && { paused: pauseFields(record.pause) }),
      ...(record.removedMs !== null && { removed_at: textOf(record.removedMs) }),
      history: record.history.toReversed().map(firing => firingFields(id, definition, firing, record)),
    }),
  };
}

function definitionFields(definition: ScheduleDefinition) {
  const { target, recurrence, tags, jitterMs, ifRunning, catchUp, catchUpWithinMs } = definition;
  return {
    ...('plugin' in target && { plugin: target.plugin, command: target.command }),
    ...('pipeline' in target && { pipeline: target.pipeline }),
    ...(recurrence.kind === 'cron' && { cron: recurrence.cron }),
    ...(recurrence.kind === 'every' && { every_ms: recurrence.everyMs }),
    ...(recurrence.kind === 'at' && { at: textOf(recurrence.atMs) }),
    timezone: recurrence.kind === 'cron' ? recurrence.timezone : 'UTC',
    ...(tags && { tags }),
    jitter_ms: jitterMs,
    if_running: ifRunning,
    catch_up: catchUp,
    catch_up_within_ms: catchUpWithinMs,
    pause_after_failures: definition.pauseAfterFailures,
    skip_when_paused: definition.skipsWhenPaused,
    enabled: definition.enabled,
  };
}

function pauseFields({ by, reason, sinceMs }: SchedulePause) {
  return { by, since: textOf(sinceMs), ...(reason !== null && { reason }) };
}

function firingFields(id: string, definition: ScheduleDefinition | null, firing: Firing, { queue }: ScheduleRecord) {
  if (firing.kind === 'passed') {
    const { reason, firstMs, lastMs, count, atMs } = firing;
    return {
      outcome: isMissed(reason) ? 'missed' : 'skipped',
      reason,
      due_at: textOf(firstMs),
      last_due_at: textOf(lastMs),
      count,
      at: textOf(atMs),
    };
  }
  const { dueMs, firedMs, job, status, missed } = firing;
  const waits = queue.some(waiting => waiting.job !== null && Buffer.compare(waiting.job, job) === 0);
  return {
    outcome: status ?? (waits ? 'queued' : 'running'),
    job_id: formatId(job),
    due_at: dueMs === null ? null : textOf(dueMs),
    fired_at: textOf(firedMs),
    late_ms: latenessOf(id, firing, definition),
    missed,
  };
}

const ductileStatus: { readonly [S in ScheduleState]: string } = {
  active: 'active',
  paused: 'paused_manual',
  disabled: 'disabled',
  finished: 'exhausted',
  removed: 'removed',
};

/** An entry of GET /scheduler/jobs, in the form of ductile, another gateway (docs/schedules.md). */
export function schedulerJob(view: ScheduleView, definition: ScheduleDefinition) {
  const { id, state, record, nextFireMs } = view;
  const { target, recurrence, entryId } = definition;
  return {
    plugin: 'pipeline' in target ? 'pipeline' : target.plugin,
    schedule_id: entryId ?? id,
    command: 'pipeline' in target ? target.pipeline : target.command,
    mode: recurrence.kind,
    status: ductileStatus[state],
    reason: record?.pause ? (record.pause.reason ?? `paused by ${record.pause.by}`) : null,
    timezone: recurrence.kind === 'cron' ? recurrence.timezone : 'UTC',
    next_run_at: nextFireMs === null ? null : textOf(nextFireMs),
  };
}
