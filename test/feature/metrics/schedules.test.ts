// The metrics of schedules, from their records.
import { expect, test } from 'vitest';
import { putSchedule, type ScheduleRecord } from '../../../actors/schedule/records/schedule.ts';
import type { ScheduleDefinition } from '../../../config/config.ts';
import { scheduleFamilies, scheduleFigures } from '../../../service/metrics/schedule-families.ts';
import { openMemoryStore } from '../../support/memory-store.ts';

const recurrence = { kind: 'every', everyMs: 60_000 } as const;
const record: ScheduleRecord = {
  recurrence,
  ...{ createdMs: 0, originMs: 0, lastDueMs: 0, last: null, isRunning: false, failures: 0, queue: [] },
  ...{ offMs: null, removedMs: null, rangeMs: null, knownMs: 0, history: [] },
  pause: { by: 'api', reason: null, sinceMs: 1 },
  counts: { fired: 7 },
};

test('other work can continue after each record that is read', () => {
  const store = openMemoryStore();
  const ids = Array.from({ length: 50 }, (_, n) => `s${n}`);
  const batch = store.batch();
  for (const id of ids) putSchedule(batch, id, record);
  store.commit(batch);
  const reading = scheduleFigures(
    store,
    ids.map(id => ({ id, enabled: true, jitterMs: 0, recurrence }) as ScheduleDefinition),
  );
  for (const _ of ids) expect(reading.next().done).toBe(false);
  const last = reading.next();
  if (!last.done) throw new Error('there are more steps than schedules');
  const [fires, , pauses] = scheduleFamilies(last.value, []);
  expect(fires!.samples.filter(({ labels }) => labels['outcome'] === 'fired')).toEqual(
    ids.map(schedule => ({ labels: { schedule, outcome: 'fired' }, value: 7 })),
  );
  expect(pauses!.samples).toContainEqual({ labels: { kind: 'schedule' }, value: ids.length });
});
