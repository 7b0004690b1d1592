// A schedule, as in `GET /schedules`.
import { exact, ms } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { cronWords } from './cron-words.ts';

export type FiringView = {
  readonly outcome: string;
  readonly reason?: string;
  readonly job_id?: string;
  readonly due_at: string | null;
  readonly last_due_at?: string;
  readonly count?: number;
  readonly at?: string;
  readonly fired_at?: string;
  readonly late_ms?: number | null;
  readonly missed?: number;
};

export type ScheduleView = {
  readonly id: string;
  readonly state: 'active' | 'paused' | 'disabled' | 'finished' | 'removed';
  readonly plugin?: string;
  readonly command?: string;
  readonly pipeline?: string;
  readonly cron?: string;
  readonly every_ms?: number;
  readonly at?: string;
  readonly timezone?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly jitter_ms?: number;
  readonly if_running?: string;
  readonly catch_up?: string;
  readonly catch_up_within_ms?: number;
  readonly pause_after_failures?: number;
  readonly skip_when_paused?: boolean;
  readonly next: readonly string[];
  readonly next_run_at: string | null;
  readonly last_due_at?: string;
  readonly running?: boolean;
  readonly queued?: number;
  readonly failures?: number;
  readonly paused?: { readonly by: string; readonly since: string; readonly reason?: string };
  readonly removed_at?: string;
  readonly history?: readonly FiringView[];
};

/** The number of characters of a time (`exact`) up to its minutes. */
const minuteEnd = 16;

/** When the schedule fires, in words if its cron expression is simple. */
export function timesText({ cron, every_ms: every, at, timezone }: ScheduleView): string {
  if (cron !== undefined) {
    const zone = timezone === undefined || timezone === 'UTC' ? ' UTC' : ` ${timezone}`;
    return (cronWords(cron) ?? cron) + zone;
  }
  if (every !== undefined) return `every ${ms(every)}`;
  return at === undefined ? '' : `once, at ${exact(new Date(at)).slice(0, minuteEnd)}`;
}

export function targetText({ plugin, command, pipeline }: ScheduleView): string {
  if (pipeline !== undefined) return `pipeline ${pipeline}`;
  return plugin === undefined ? '' : `${plugin} ${command}`;
}

export function targetHref({ plugin, command, pipeline }: ScheduleView): string {
  return pipeline !== undefined ? href('pipeline', pipeline) : href('plugin', plugin, { command });
}

/** The events after which schedules may have changed. */
export const scheduleEvents = [
  'schedule.*',
  'config.reloaded',
  'job.completed',
  'job.failed',
  'job.dead',
  'pipeline.*',
];

/** The properties of the dialogs about a schedule. */
export type QuestionProps = {
  readonly id: string;
  readonly path: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
};
