// The metrics of schedules and pauses, from the store.
import type { Pause } from '../../actors/job/records/pause.ts';
import { readSchedule, type ScheduleOutcome, scheduleOutcomes } from '../../actors/schedule/records/schedule.ts';
import { latenessOf } from '../../actors/schedule/views/schedules.ts';
import type { ScheduleDefinition } from '../../config/config.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { MetricFamily, Sample } from './family.ts';

const named = ['schedule'];
const alwaysShown: ReadonlySet<ScheduleOutcome> = new Set(['fired', 'missed', 'refused', 'queue_full']);

export function scheduleFamilies(
  reader: Reader,
  definitions: readonly ScheduleDefinition[],
  pauses: readonly Pause[],
): readonly MetricFamily[] {
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
    if (last?.kind !== 'fired') continue;
    const lateMs = latenessOf(id, last, definition);
    if (lateMs !== null) lateness.push({ labels: { schedule: id }, value: lateMs / 1000 });
  }
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
