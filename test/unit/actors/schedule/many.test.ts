// Reads of many schedules leave room for other work of their thread.
import { expect, test } from 'vitest';
import { pausedSchedules } from '../../../../actors/schedule/views/schedules.ts';
import type { Config, ScheduleDefinition } from '../../../../config/config.ts';
import type { Link } from '../../../../runtime/link.ts';
import { sliceMsMax } from '../../../../runtime/slices.ts';
import { openSchedules } from '../../../../service/schedules.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

const recurrence = { kind: 'every', everyMs: 60_000 } as const;
const schedules = Array.from(
  { length: 20 },
  (_, n) => ({ id: `s${n}`, enabled: true, jitterMs: 0, recurrence }) as ScheduleDefinition,
);

test('other work can continue after each schedule that the doctor reads', () => {
  const reading = pausedSchedules(openMemoryStore(), schedules);
  for (const _ of schedules) expect(reading.next().done).toBe(false);
  expect(reading.next()).toEqual({ done: true, value: [] });
});

test('a list writes its schedules in slices', async () => {
  const reader = openMemoryStore();
  const { shown, page } = openSchedules({
    link: {} as Link,
    reader,
    config: () => ({ schedules }) as unknown as Config,
  });
  // Counts the iterations of the event loop. Writing one schedule takes as long as an iteration may.
  let iteration = 0;
  let next = setImmediate(count);
  function count(): void {
    iteration++;
    next = setImmediate(count);
  }
  const writtenIn = new Set<number>();
  const show = ({ id }: { readonly id: string }): string => {
    writtenIn.add(iteration);
    for (const endMs = performance.now() + sliceMsMax; performance.now() < endMs; );
    return id;
  };
  const ids = schedules.map(({ id }) => id);
  try {
    expect(await shown(schedules, 1, show)).toEqual(ids);
    expect(writtenIn.size).toBe(ids.length);
    writtenIn.clear();
    expect(await page(5, 10, 1, show)).toEqual({ shown: ids.slice(5, 15), isLast: false });
    expect(writtenIn.size).toBe(10);
  } finally {
    clearImmediate(next);
  }
});
