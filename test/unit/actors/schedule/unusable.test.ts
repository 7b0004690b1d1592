// A schedule whose record cannot be decoded is read as one without a record.
import { expect, test } from 'vitest';
import { putSchedule, type ScheduleRecord, scheduleKey } from '../../../../actors/schedule/records/schedule.ts';
import { queueText } from '../../../../actors/schedule/views/queue.ts';
import { pausedSchedules, removedSchedules, viewSchedule } from '../../../../actors/schedule/views/schedules.ts';
import type { ScheduleDefinition } from '../../../../config/config.ts';
import { pack } from '../../../../runtime/packing.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { inSlices } from '../../../support/slices.ts';

const recurrence = { kind: 'every', everyMs: 60_000 } as const;
const record: ScheduleRecord = {
  recurrence,
  ...{ createdMs: 0, originMs: 0, lastDueMs: 0, last: null, isRunning: false, failures: 0, queue: [] },
  ...{ offMs: null, removedMs: null, rangeMs: null, knownMs: 0, history: [] },
  pause: { by: 'api', reason: null, sinceMs: 1 },
};
const definitions = ['broken', 'sound'].map(
  id => ({ id, enabled: true, jitterMs: 0, recurrence }) as ScheduleDefinition,
);

test('the other schedules are shown, and no reason names the lost state', async () => {
  const store = openMemoryStore();
  const batch = store.batch();
  batch.put('schedules', scheduleKey('broken'), Buffer.of(0x91));
  putSchedule(batch, 'sound', record);
  store.commit(batch);
  expect(await inSlices(pausedSchedules(store, definitions), () => {})).toEqual([{ id: 'sound', pause: record.pause }]);
  expect(removedSchedules(store, new Set()).map(({ id }) => id)).toEqual(['sound']);
  const views = definitions.map(definition => viewSchedule(store, definition, 1));
  expect(views.map(view => view.record && view.state)).toEqual([null, 'paused']);
  const text = (id: string) => queueText(store, pack({ schedule: { id } }), new Uint8Array(16));
  expect(text('broken')).toBe('its turn in the schedule broken has not come');
  expect(text('sound')).toBe('the schedule sound is paused');
});
