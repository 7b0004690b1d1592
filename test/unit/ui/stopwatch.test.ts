// The stopwatch: its windows, the columns of its chart, and the cells of its heat map.
import { expect, it } from 'vitest';
import { cellAt, cellBeside, heatGrid } from '../../../ui/screens/stopwatch/heat.ts';
import {
  type HeatCell,
  type MeasuredWindow,
  measuredName,
  seriesColumns,
} from '../../../ui/screens/stopwatch/measured.ts';
import { comparedWindow, rangeName, windowOf } from '../../../ui/screens/stopwatch/window.ts';

const window: MeasuredWindow = {
  plugin: 'shop',
  from: '2026-11-24T01:00:00Z',
  to: '2026-11-24T01:40:00Z',
  bucket_minutes: 10,
  steps: [],
};
const figures = { sample_count: 2, p50_us: 1_000, p95_us: 2_000, p99_us: 3_000, max_us: 3_000 };
const cell = (at: string, fromUs: number, samples: number): HeatCell => ({
  at,
  from_us: fromUs,
  to_us: Math.max(2, fromUs * 2),
  sample_count: samples,
});

it('ends now, at a whole minute, unless the URL names times', () => {
  const now = Date.parse('2026-11-24T01:28:03Z');
  const hour = windowOf(new URLSearchParams(''), now);
  expect(new Date(hour.toMs).toISOString()).toBe('2026-11-24T01:29:00.000Z');
  expect(hour.toMs - hour.fromMs).toBe(3_600_000);
  const own = new URLSearchParams({ from: '2026-11-24T01:00:30Z', to: '2026-11-24T01:10:30Z' });
  expect(windowOf(own, now)).toEqual({
    fromMs: Date.parse('2026-11-24T01:00:00Z'),
    toMs: Date.parse('2026-11-24T01:11:00Z'),
  });
  expect(rangeName(own)).toBe('own');
  expect(rangeName(new URLSearchParams({ range: 'nonsense' }))).toBe('1h');
});

it('compares with the window before, with the same one a day or a week earlier, or with one that the URL names', () => {
  const hour = { fromMs: 10_000_000, toMs: 13_600_000 };
  expect(comparedWindow(hour, new URLSearchParams('against=before'))).toEqual({ fromMs: 6_400_000, toMs: 10_000_000 });
  expect(comparedWindow(hour, new URLSearchParams('against=day'))).toEqual({
    fromMs: 10_000_000 - 86_400_000,
    toMs: 13_600_000 - 86_400_000,
  });
  expect(comparedWindow(hour, new URLSearchParams())).toBeNull();
  const named = new URLSearchParams({
    against: 'own',
    against_from: '2026-11-24T01:00:30Z',
    against_to: '2026-11-24T01:10:30Z',
  });
  expect(comparedWindow(hour, named)).toEqual({
    fromMs: Date.parse('2026-11-24T01:00:00Z'),
    toMs: Date.parse('2026-11-24T01:11:00Z'),
  });
  named.set('against_to', '2026-11-24T01:00:00Z');
  expect(comparedWindow(hour, named)).toBeNull();
});

it('has a point for each bucket of the window, also for those without samples', () => {
  const columns = seriesColumns(window, {
    step: 'load.run',
    ...figures,
    series: [{ at: '2026-11-24T01:20:00.000000Z', ...figures }],
  });
  expect(columns.at).toHaveLength(4);
  expect(columns.p50).toEqual([null, null, 1, null]);
  expect(columns.p99).toEqual([null, null, 3, null]);
});

it('tells commands and steps of pipelines apart', () => {
  expect(measuredName('handle.run')).toEqual({ kind: 'command', command: 'handle', figure: 'run' });
  expect(measuredName('import/load.all')).toEqual({ kind: 'step', pipeline: 'import', step: 'load.all' });
});

it('places cells in the window asked for, the longest durations on top', () => {
  const grid = heatGrid(window, [cell('2026-11-24T01:10:00Z', 1_024, 4), cell('2026-11-24T01:30:00Z', 4_096, 1)])!;
  expect(grid).toMatchObject({ columns: 4, rows: 3, fromUs: 1_024, toUs: 8_192, most: 4 });
  expect(grid.cells.map(({ column, row, heat }) => [column, row, heat])).toEqual([
    [1, 2, 1],
    [3, 0, 0.5],
  ]);
  expect(cellAt(grid, 150, 50, 400, 60)?.cell.sample_count).toBe(4);
  expect(cellAt(grid, 10, 50, 400, 60)).toBeNull();
});

it('goes to the next cell with samples by arrow keys, and stays if there is none', () => {
  const grid = heatGrid(window, [
    cell('2026-11-24T01:00:00Z', 1_024, 1),
    cell('2026-11-24T01:10:00Z', 4_096, 1),
    cell('2026-11-24T01:30:00Z', 1_024, 1),
  ])!;
  const [first, above, last] = grid.cells;
  expect(cellBeside(grid, first!, 'right')).toBe(last);
  expect(cellBeside(grid, first!, 'up')).toBe(above);
  expect(cellBeside(grid, first!, 'left')).toBe(first);
});

it('has no grid without samples', () => {
  expect(heatGrid(window, [])).toBeNull();
});
