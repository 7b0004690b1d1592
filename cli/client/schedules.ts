// The JSON documents of schedules in the API, and their lines on the terminal.
import type { scheduleDocument } from '../../service/json/schedule.ts';
import { dim, statusPiece, type TerminalLine } from '../terminal/text.ts';
import { formatAt, formatMs } from '../terminal/time.ts';

export type ScheduleDocument = ReturnType<typeof scheduleDocument>;
type FiringDocument = NonNullable<ScheduleDocument['history']>[number];

export function targetOf({ plugin, command, pipeline }: ScheduleDocument): string {
  if (pipeline !== undefined) return `pipeline ${pipeline}`;
  return plugin === undefined ? '' : `${plugin}.${command}`;
}

/** The times of the schedule as text: `30 2 * * * (Europe/Berlin)`, `every 15m 00s` or `at 2026-12-01 00:00:00.000`. */
export function whenOf({ cron, every_ms: everyMs, at, timezone }: ScheduleDocument): string {
  if (cron !== undefined) return `${cron} (${timezone})`;
  if (everyMs !== undefined) return `every ${formatMs(everyMs)}`;
  return at === undefined ? '' : `at ${formatAt(at)}`;
}

export function scheduleLines(schedule: ScheduleDocument): TerminalLine[] {
  const { id, state, next, paused, tags = {}, queued = 0, failures = 0, history = [] } = schedule;
  // A schedule that was removed from the configuration has only a history.
  const what = state === 'removed' ? '' : `: ${targetOf(schedule)}, ${whenOf(schedule)}`;
  const lines: TerminalLine[] = [[{ text: id, style: 'bold' }, ` ${state}${what}`]];
  for (const [key, text] of Object.entries(tags)) lines.push(`tag      ${key}=${text}`);
  if (paused) {
    const why = paused.reason === undefined ? '' : `: ${paused.reason}`;
    lines.push([{ text: 'paused   ', style: 'yellow' }, `by ${paused.by} since ${formatAt(paused.since)}${why}`]);
  }
  for (const at of next) lines.push(`next     ${formatAt(at)}`);
  if (queued > 0) lines.push(`queued   ${queued}`);
  if (failures > 0) lines.push(`failures ${failures} in a row`);
  return [...lines, ...history.map(firingLine)];
}

function firingLine(firing: FiringDocument): TerminalLine {
  const { outcome, reason, job_id: id, due_at: due, last_due_at: last, count = 1, late_ms: late, missed = 0 } = firing;
  if (id === undefined) {
    const until = count > 1 ? ` to ${formatAt(last ?? due)} (${count})` : '';
    return [`fired    `, { text: outcome, style: 'yellow' }, ` ${formatAt(due)}${until}: ${reason}`];
  }
  const when = due === null ? `by hand at ${formatAt(firing.fired_at ?? null)}` : formatAt(due);
  const how = late === null || late === undefined ? '' : `, ${formatMs(late)} late`;
  const passed = missed > 0 ? `, ${missed} missed before` : '';
  return ['fired    ', statusPiece(outcome), ` ${when}${how}${passed}`, dim(`  ${id}`)];
}
