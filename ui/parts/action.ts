// An action on many jobs, as `GET /actions` returns it, and functions that describe it in words.
import { clock, count, day } from '../core/format.ts';

export type Action = {
  readonly action_id: string;
  readonly state: string;
  readonly do: 'cancel' | 'rerun' | 'run_now' | 'backfill';
  /** Absent for a backfill. */
  readonly where?: Readonly<Record<string, unknown>>;
  /** For a backfill: the schedule, and the period whose times it fires. */
  readonly schedule?: string;
  readonly from_time?: string;
  readonly to_time?: string;
  /** For a rerun. */
  readonly from?: 'start' | 'failed';
  readonly limit?: number;
  readonly per_second?: number;
  readonly reason?: string;
  readonly by: string;
  readonly created_at: string;
  readonly completed_at: string | null;
  /** How many jobs matched when the action was requested, whatever the `limit`; of a backfill, how many occurrences. */
  readonly matched: number;
  readonly done: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly failed: number;
};

const deeds: Readonly<Record<Action['do'], string>> = {
  cancel: 'Cancel',
  rerun: 'Rerun',
  run_now: 'Run now',
  backfill: 'Backfill',
};

/** What the action does: `Rerun from failed`. */
export function deedText({ do: deed, from }: Pick<Action, 'do' | 'from'>): string {
  return deeds[deed] + (from === 'failed' ? ' from failed' : '');
}

/** How many jobs the action takes at most, and how fast: `at most 10, 5 a second`. Empty if there is no limit. */
export function paceText({ limit, per_second: perSecond }: Pick<Action, 'limit' | 'per_second'>): string {
  return [
    limit === undefined ? '' : `at most ${count(limit)}`,
    perSecond === undefined ? '' : `${count(perSecond)} a second`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Which jobs the action takes: `plugin mailer, status failed, also inside runs`. */
export function filterText({ where = {}, schedule, from_time: from, to_time: to }: Action): string {
  if (schedule !== undefined) return `schedule ${schedule}, from ${timeText(from)} to ${timeText(to)}`;
  const { all, children, ...filters } = where;
  const parts = Object.entries(filters).map(
    ([name, value]) => `${names[name] ?? spaced(name)} ${valueText(name, value)}`,
  );
  if (parts.length === 0) parts.push('all jobs');
  if (children === true && where['run'] === undefined) parts.push('also inside runs');
  return parts.join(', ');
}

const names: Readonly<Record<string, string>> = {
  created_from: 'accepted from',
  created_to: 'accepted up to',
  from: 'ended from',
  to: 'ended up to',
  query: 'words of the log',
  error: 'words of the error',
  fingerprint: 'group of failures',
};
const timeNames = new Set(['created_from', 'created_to', 'from', 'to']);

function valueText(name: string, value: unknown): string {
  if (timeNames.has(name)) return timeText(value);
  return Array.isArray(value) ? value.join(' and ') : spaced(String(value));
}

/** A time in the time zone of the browser; the value itself if it is not a time. */
function timeText(value: unknown): string {
  const date = new Date(String(value));
  return Number.isNaN(date.getTime()) ? String(value) : `${day(date)} ${clock(date)}`;
}

/** How many jobs the action takes. */
export function takenOf({ matched, limit }: Pick<Action, 'matched' | 'limit'>): number {
  return limit === undefined ? matched : Math.min(matched, limit);
}

/** How many jobs the limit leaves out: `The limit of 2 leaves out 1 of the 3 jobs that matched.` Empty if it leaves out none. */
export function leftText({ matched, limit }: Pick<Action, 'matched' | 'limit'>): string {
  if (limit === undefined || limit >= matched) return '';
  return `The limit of ${count(limit)} leaves out ${count(matched - limit)} of the ${count(matched)} jobs that matched.`;
}

export function skippedOf({ skipped }: Pick<Action, 'skipped'>): number {
  return Object.values(skipped).reduce((sum, jobs) => sum + jobs, 0);
}

/** `3 done, 2 skipped (not settled), 1 failed` */
export function progressText({ done, skipped, failed }: Pick<Action, 'done' | 'skipped' | 'failed'>): string {
  return [
    `${count(done)} done`,
    ...Object.entries(skipped).map(([reason, jobs]) => `${count(jobs)} skipped (${spaced(reason)})`),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ].join(', ');
}

function spaced(name: string): string {
  return name.replaceAll('_', ' ');
}
