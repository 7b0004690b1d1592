// The time axis of a run: places and times, collapsed idle time, zoom, and what the URL keeps of it.
import { expect, it } from 'vitest';
import { formatSpan, moved, parseSpan, roundStep, TimeScale, zoomed } from '../../../ui/screens/run/scale.ts';

const second = 1_000_000;
const minute = { fromUs: 0, toUs: 60 * second };

it('places a time in proportion, and finds the time at a place', () => {
  const scale = new TimeScale(minute);
  expect(scale.at(15 * second)).toBe(0.25);
  expect(scale.usAt(0.25)).toBe(15 * second);
  expect(scale.at(90 * second)).toBeGreaterThan(1);
});

it('gives a collapsed stretch a small part of the width, and what lies around it the rest', () => {
  const scale = new TimeScale(minute, [{ fromUs: 10 * second, toUs: 50 * second }]);
  expect(scale.at(10 * second)).toBeCloseTo(0.49);
  expect(scale.at(50 * second)).toBeCloseTo(0.51);
  expect(scale.at(60 * second)).toBeCloseTo(1);
  expect(scale.collapsed).toHaveLength(1);
  for (const us of [0, 5, 9, 10, 20, 49, 50, 55, 60].map(s => s * second))
    expect(scale.usAt(scale.at(us))).toBeCloseTo(us, -1);
});

it('shows idle time at its length if nothing else is in view', () => {
  const scale = new TimeScale({ fromUs: 20 * second, toUs: 30 * second }, [minute]);
  expect(scale.collapsed).toEqual([]);
  expect(scale.at(25 * second)).toBe(0.5);
});

it('marks round times, and none within a collapsed stretch', () => {
  expect(new TimeScale(minute).ticks(6)).toEqual([0, 10, 20, 30, 40, 50, 60].map(s => s * second));
  const ticks = new TimeScale(minute, [{ fromUs: 10 * second, toUs: 50 * second }]).ticks(4);
  expect(ticks.every(us => us <= 10 * second || us >= 50 * second)).toBe(true);
});

it.each([
  [3, 5],
  [130, 200],
  [900_000, 1_000_000],
  [3 * second, 5 * second],
  [40 * second, 60 * second],
  [5_000 * second, 7_200 * second],
])('rounds a step of %i µs up to %i µs', (us, step) => {
  expect(roundStep(us)).toBe(step);
});

it('zooms around a place, and stays within the run', () => {
  expect(zoomed(minute, 0.5, 0.5, minute.toUs)).toEqual({ fromUs: 15 * second, toUs: 45 * second });
  expect(zoomed({ fromUs: 0, toUs: 20 * second }, 2, 0.5, minute.toUs)).toEqual({ fromUs: 0, toUs: 40 * second });
  expect(zoomed({ fromUs: 10, toUs: 20 }, 100_000_000, 0.5, minute.toUs)).toEqual(minute);
  expect(moved({ fromUs: 50 * second, toUs: 60 * second }, 0.5, minute.toUs)).toEqual({
    fromUs: 50 * second,
    toUs: 60 * second,
  });
});

it('does not zoom to less than a millisecond', () => {
  const { fromUs, toUs } = zoomed({ fromUs: 0, toUs: 1_200 }, 0.01, 0.5, minute.toUs);
  expect(toUs - fromUs).toBe(1_000);
});

it('keeps the span in the URL, to the µs', () => {
  const span = { fromUs: 1_200_500, toUs: 3_400_001 };
  const text = formatSpan(span, minute.toUs);
  expect(text).toBe('1200.5-3400.001');
  expect(parseSpan(text!, minute.toUs)).toEqual(span);
  expect(formatSpan(minute, minute.toUs)).toBeUndefined();
  // Zooming in and out again rounds, so a span close to the whole counts as the whole.
  expect(formatSpan({ fromUs: 1, toUs: minute.toUs - 1 }, minute.toUs)).toBeUndefined();
});

it.each([null, '', '5', '5-', '-5', '7-5', '5-5', 'a-b', '1e3-2e3'])('ignores the span %j', text => {
  expect(parseSpan(text, minute.toUs)).toBeNull();
});
