// The metrics of schedules and pauses, from the store.
import type { Pause } from '../../actors/job/records/pause.ts';
import { readSchedule, type ScheduleOutcome, scheduleOutcomes } from '../../actors/schedule/records/schedule.ts';
import { latenessOf } from '../../actors/schedule/views/schedules.ts';
import type { ScheduleDefinition } from '../../config/config.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { MetricFamily, Sample } from './family.ts';

const named = ['schedule'];
const alwaysShown: ReadonlySet<ScheduleOutcome> = new Set(['fired', 'missed', 'refused', 'queue_full']);

/** The figures of the configured schedules. `paused`: the number of paused ones. */
export type ScheduleFigures = {
  readonly fires: readonly Sample<number>[];
  readonly lateness: readonly Sample<number>[];
  readonly paused: number;
};

/** Reads the records in slices, because there can be many of them, and each has a history. */
export function* scheduleFigures(reader: Reader, definitions: readonly ScheduleDefinition[]): Sliced<ScheduleFigures> {
  const fires: Sample<number>[] = [];
  const lateness: Sample<number>[] = [];
  let paused = 0;
  for (const definition of definitions) {
    const { id } = definition;
    const record = readSchedule(reader, id);
    if (record?.pause) paused++;
    for (const outcome of scheduleOutcomes) {
      // The counters in `alwaysShown` are shown before they count anything: otherwise `increase()` in Prometheus would miss the first event.
      const value = record?.counts?.[outcome] ?? (alwaysShown.has(outcome) ? 0 : null);
      if (value !== null) fires.push({ labels: { schedule: id, outcome }, value });
    }
    const last = record?.history.findLast(entry => entry.kind === 'fired' && entry.dueMs !== null);
    const lateMs = last?.kind === 'fired' ? latenessOf(id, last, definition) : null;
    if (lateMs !== null) lateness.push({ labels: { schedule: id }, value: lateMs / 1000 });
    yield;
  }
  return { fires, lateness, paused };
}

export function scheduleFamilies(
  { fires, lateness, paused }: ScheduleFigures,
  pauses: readonly Pause[],
): readonly MetricFamily[] {
  return [
    {
      name: 'headgate_schedule_fires',
      type: 'counter',
      help: 'Occurrences that fired, runs by hand, and occurrences that did not fire, by reason. Continues after a restart.',
      named,
      samples: fires,
    },
    {
      name: 'headgate_schedule_lateness_seconds',
      type: 'gauge',
      joined: 'max',
      help: 'How late the newest occurrence fired, without its jitter.',
      named,
      samples: lateness,
    },
    {
      name: 'headgate_pauses',
      type: 'gauge',
      help: 'Pauses in force, by the kind of their target.',
      samples: [
        ...(['plugin', 'pipeline', 'system'] as const).map(kind => ({
          labels: { kind },
          value: pauses.filter(pause => pause.kind === kind).length,
        })),
        { labels: { kind: 'schedule' }, value: paused },
      ],
    },
  ];
}
