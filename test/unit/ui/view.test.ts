// What of the time axis is in view, and the part of the timeline that is read for it.
import { expect, it } from 'vitest';
import type { RunTimeline } from '../../../ui/screens/run/timeline.ts';
import { covers, partQuery, stripView } from '../../../ui/screens/run/view.ts';

const second = 1_000_000;
const timeline = { from: '2026-11-24T01:00:00.000000Z', duration_us: 60 * second } as RunTimeline;
const view = (query: string) => stripView(new URLSearchParams(query), 60 * second);

it('shows the whole run unless the URL names a part of it', () => {
  expect(view('')).toEqual({ span: { fromUs: 0, toUs: 60 * second }, isZoomed: false, collapses: false });
  expect(view('zoom=10000-20000&idle=collapsed')).toEqual({
    span: { fromUs: 10 * second, toUs: 20 * second },
    isZoomed: true,
    collapses: true,
  });
});

it('reads the part in view with half of it on each side', () => {
  expect(partQuery(view(''), timeline)).toBeNull();
  expect(partQuery(view('zoom=10000-20000'), timeline)).toBe(
    'from=2026-11-24T01:00:05.000Z&to=2026-11-24T01:00:25.001Z',
  );
  expect(partQuery(view('zoom=0-20000'), timeline)).toContain('from=2026-11-24T01:00:00.000Z');
});

it('draws a part only if its own buckets have all that is in view', () => {
  const step = { buckets: Array.from({ length: 12 }, () => [0, 0, 0, 0, 0, 0]) };
  const part = { ...timeline, buckets_from: '2026-11-24T01:00:09.000000Z', bucket_us: second, steps: [step] };
  const covered = (fromS: number, toS: number) =>
    covers(part as unknown as RunTimeline, { fromUs: fromS * second, toUs: toS * second });
  expect(covered(10, 20)).toBe(true);
  expect(covered(9, 20)).toBe(false);
  expect(covered(10, 21)).toBe(false);
  expect(covers(timeline, { fromUs: 0, toUs: second })).toBe(false);
});
