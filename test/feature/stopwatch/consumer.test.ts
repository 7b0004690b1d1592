// The stopwatch as a consumer of the journal, without threads: minutes, limits, and which old minutes are kept.

import { expect, it } from 'vitest';
import {
  MinutePage,
  minutesKept,
  minuteUs,
  otherSpans,
  pageKey,
  spanNamesMax,
} from '../../../actors/index/records/stopwatch.ts';
import { StopwatchReading, windowOf, windowSpansMax } from '../../../actors/index/views/stopwatch.ts';
import { holdEndsMax } from '../../../actors/job/records/hold-ends.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';
import { percentileErrorMax } from '../../support/percentile-error.ts';
import { read, stage, start } from './stage.ts';

it('counts the wait once, each run, and the total of a job that ended', () => {
  const { index, end } = stage();
  end(start, 10, 20, 1, false);
  end(start + 1, 5000, 30, 2);
  const steps = read(index, start, start);
  expect([...steps].map(([step, { all }]) => [step, all.count, all.maxUs])).toEqual([
    ['handle.run', 2, 30],
    ['handle.queue', 1, 10],
    ['handle.total', 1, 5030],
  ]);
});

it('counts the wait from the last end of a pause or hold of the command, of its plugin, or of the whole service', () => {
  const { index, end, freed } = stage();
  freed(start - 900, 'echo', 'handle');
  freed(start - 800, '', '');
  freed(start - 700, 'echo', '');
  freed(start - 650, 'echo', 'other');
  freed(start - 600, 'another', 'handle');
  freed(start - 50, 'echo', 'handle');
  // This job ran for the last 100 µs, and was accepted 1,000 µs before that. The latest hold that concerns it ended after 400 µs.
  end(start, 1000, 100);
  // This job was accepted after all ends of holds except the newest, by which it had started.
  end(start + 1, 300, 200);
  const steps = read(index, start, start);
  const maxOf = (step: string) => [steps.get(step)!.all.count, steps.get(step)!.all.maxUs];
  expect([maxOf('handle.waited'), maxOf('handle.queue')]).toEqual([
    [1, 400],
    [2, 600],
  ]);
});

it('keeps a limited number of ends of pauses', () => {
  const { ledger, freed } = stage();
  for (let n = 0; n < holdEndsMax + 10; n++) freed(start + n, 'echo', '');
  expect(ledger.count('hold_ends')).toBe(holdEndsMax);
});

it('goes on in the same minute after a restart', () => {
  const { index, end, again } = stage();
  for (let n = 0; n < 5; n++) {
    end(start + n, 1, 10 + n);
    again();
  }
  expect(read(index, start, start).get('handle.run')!.all.count).toBe(5);
});

it('a window has whole minutes, at most those that are kept, in 24 equal parts', () => {
  const { index, end } = stage();
  for (let hour = 0; hour < 24; hour++) end(start + hour * 60 * minuteUs, 0, 1000 * (hour + 1));
  const now = start + (24 * 60 - 1) * minuteUs;
  const { all, trend } = read(index, start, now).get('handle.run')!;
  expect(all.count).toBe(24);
  const exact = Array.from({ length: 24 }, (_, hour) => 1000 * (hour + 1));
  const errors = trend.p95.map((us, hour) => Math.abs(us - exact[hour]!) / exact[hour]!);
  expect(errors).toHaveLength(24);
  expect(Math.max(...errors)).toBeLessThanOrEqual(percentileErrorMax);
  const whole = read(index, start, start + (3 * 24 * 60 - 1) * minuteUs).get('handle.run')!;
  expect(whole.trend.p95.map(us => us > 0)).toEqual(exact.map((_, part) => part < 8));
  expect(read(index, start + 60 * minuteUs, now).get('handle.run')!.all.count).toBe(23);
  expect(windowOf(0, now)).toEqual({ from: now / minuteUs - minutesKept, to: now / minuteUs });
  expect(windowOf(start, now, start + 1)).toEqual({ from: start / minuteUs, to: start / minuteUs });
  expect(windowOf(start, now, start + minuteUs)).toEqual({ from: start / minuteUs, to: start / minuteUs });
  expect(windowOf(start, now, now + 5 * minuteUs)).toEqual({ from: start / minuteUs, to: now / minuteUs });
  expect(read(index, now + minuteUs, now).size).toBe(0);
});

it('drops minutes after seven days', () => {
  const { index, end } = stage();
  end(start, 1, 1);
  end(start + minuteUs, 1, 1);
  expect(index.count('stopwatch')).toBe(2);
  end(start + (minutesKept + 1) * minuteUs, 1, 1);
  expect(index.count('stopwatch')).toBe(2);
});

it('counts a limited number of span names separately', () => {
  const index = openMemoryIndex();
  const batch = index.batch();
  const minutes = windowSpansMax / spanNamesMax + 1;
  for (let minute = 0; minute < minutes; minute++) {
    const page = new MinutePage();
    for (let n = 0; n < spanNamesMax + 10; n++) page.addSpan('handle.run', `span ${minute} ${n}`, 5);
    batch.put('stopwatch', pageKey(start / minuteUs + minute, 'echo'), page.encode());
  }
  index.commit(batch);
  const spansIn = (minutes: number) =>
    read(index, start, start + (minutes - 1) * minuteUs, { spans: true }).get('handle.run')!.spans;
  expect(spansIn(1).size).toBe(spanNamesMax + 1);
  expect(spansIn(1).get(otherSpans)!.count).toBe(10);
  // A window has more names than a minute, but their number is limited, too.
  expect(spansIn(minutes).size).toBe(windowSpansMax);
  expect(read(index, start, start).get('handle.run')!.spans.size).toBe(0);
  const bytesWith = (spans: boolean) => {
    const reading = new StopwatchReading(index, 'echo', windowOf(start, start + minutes * minuteUs), { spans });
    while (!reading.read(1)) {}
    return reading.bytes;
  };
  expect(bytesWith(false)).toBeLessThan(2_000);
  expect(bytesWith(true)).toBeGreaterThan(windowSpansMax * 200);
});
