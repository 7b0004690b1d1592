// Two windows of the stopwatch against each other: which differences stand out, and how they are shown.
import { expect, test } from 'vitest';
import {
  compare,
  minuteOf,
  outstandingFactor,
  parseTimeRange,
  type StepFigures,
  type StopwatchDocument,
  samplesBeyondMin,
} from '../../../cli/client/stopwatch.ts';
import { comparisonLines, seriesLines } from '../../../cli/terminal/stopwatch.ts';
import { type TerminalLine, writeLine } from '../../../cli/terminal/text.ts';

const [from, to] = ['2026-01-31T12:00:00.000000Z', '2026-01-31T13:00:00.000000Z'];

/** Samples that all took about as long. */
function figures(count: number, us: number): StepFigures {
  return { sample_count: count, p50_us: us, p95_us: us, p99_us: us, max_us: us };
}

function windowOf(steps: { readonly [step: string]: StepFigures }): StopwatchDocument {
  const shown = Object.entries(steps).map(([step, of]) => ({ step, ...of, trend_p95_ms: [] }));
  return { plugin: 'greet', window: '1h', from, to, bucket_minutes: 10, steps: shown };
}

function compared(before: StepFigures, after: StepFigures) {
  return compare(windowOf({ run: before }), windowOf({ run: after })).steps[0]!;
}

test.each([
  ['longer by a quarter', 1_000, 1_250, true],
  ['longer by less', 1_000, 1_249, false],
  ['shorter by as much', 1_250, 1_000, true],
  ['shorter by less', 1_249, 1_000, false],
  ['of no time before', 0, 1_000, false],
  ['the same', 1_000, 1_000, false],
])('what is %s: %d µs, then %d µs', (_, before, after, standsOut) => {
  expect(outstandingFactor).toBe(1.25);
  const { p50 } = compared(figures(1_000, before), figures(1_000, after));
  const ratio = before === 0 ? null : Math.round((after / before) * 1000) / 1000;
  expect(p50).toEqual({ difference_us: after - before, ratio, stands_out: standsOut });
});

test.each([
  [9, []],
  [10, ['p50']],
  [99, ['p50']],
  [100, ['p50', 'p95']],
  [499, ['p50', 'p95']],
  [500, ['p50', 'p95', 'p99']],
])('with %d samples in the smaller window, %j can stand out', (count, outstanding) => {
  expect(samplesBeyondMin).toBe(5);
  for (const [before, after] of [
    [count, 10_000],
    [10_000, count],
  ] as const) {
    const step = compared(figures(before, 100), figures(after, 900));
    expect((['p50', 'p95', 'p99'] as const).filter(name => step[name]!.stands_out)).toEqual(outstanding);
  }
});

test('a step that only one window has is compared with nothing', () => {
  const { steps } = compare(windowOf({ old: figures(3, 7) }), windowOf({ new: figures(4, 8) }));
  expect(steps).toMatchObject([
    { step: 'old', before: figures(3, 7), after: figures(0, 0), p50: null, p95: null, p99: null },
    { step: 'new', before: figures(0, 0), after: figures(4, 8), p50: null },
  ]);
});

test('what stands out has a mark and a colour', () => {
  const slower = { ...figures(200, 12_000), p99_us: 90_000 };
  const comparison = compare(
    windowOf({ 'handle.run': figures(100, 8_000), 'handle.queue': figures(600, 500), idle: figures(0, 0) }),
    windowOf({ 'handle.run': slower, 'handle.queue': figures(600, 250), idle: figures(0, 0) }),
  );
  const hour = '2026-01-31 12:00 to 2026-01-31 13:00 (UTC)';
  expect(plain(comparisonLines(comparison))).toEqual([
    `greet, ${hour} against ${hour}`,
    'STEP          COUNT      P50                       P95                       P99',
    'handle.run    100 → 200  8.0 ms → 12.0 ms +50 % ▲  8.0 ms → 12.0 ms +50 % ▲  8.0 ms → 90.0 ms +1025 %',
    'handle.queue  600 → 600  500 µs → 250 µs -50 % ▼   500 µs → 250 µs -50 % ▼   500 µs → 250 µs -50 % ▼',
    '▲ ▼ at least 25 % longer, or as much shorter, with 5 or more samples beyond the percentile in both windows',
  ]);
  const coloured = comparisonLines(comparison).map(line => writeLine(line, true));
  expect(coloured[2]).toContain('\u001b[31m8.0 ms → 12.0 ms +50 % ▲\u001b[0m');
  expect(coloured[3]).toContain('\u001b[32m500 µs → 250 µs -50 % ▼\u001b[0m');
});

test('a series has a column for each bucket, and the jobs that took longest', () => {
  const point = (minute: string, count: number, us: number) => ({
    at: `2026-01-31T12:${minute}:00Z`,
    ...figures(count, us),
  });
  const job = '0198c0de-0000-7000-8000-000000000000';
  const document = windowOf({ run: figures(3, 8_000), idle: figures(0, 0) });
  const series = [point('00', 1, 1_000), point('50', 2, 8_000)];
  const steps = document.steps.map(step => ({ ...step, series, exemplars: [{ job_id: job, us: 8_000 }] }));
  expect(plain(seriesLines({ ...document, steps }))).toEqual([
    'greet, 2026-01-31 12:00 to 2026-01-31 13:00 (UTC)',
    'STEP           EACH COLUMN 10m 00s                     MOST',
    'run   count    ▄····█                                     2',
    '      p50      ▁····█                                8.0 ms',
    '      p95      ▁····█                                8.0 ms',
    '      p99      ▁····█                                8.0 ms',
    `      longest  ${job}  8.0 ms`,
  ]);
});

test('a window is two times, each rounded down to its minute', () => {
  expect(parseTimeRange('2026-01-31T12:00:00.5Z..2026-01-31T13:00:59+01:00')).toEqual({
    from: '2026-01-31T12:00:00.5Z',
    to: '2026-01-31T13:00:59+01:00',
  });
  expect(minuteOf('2026-01-31T13:00:59+01:00')).toBe('2026-01-31T12:00:00.000Z');
  for (const wrong of ['2h', '2h..', '..1h', '3h..2h..1h', '2h...1h', '1h..2h', '1h..1h'])
    expect(() => parseTimeRange(wrong)).toThrow();
});

function plain(lines: readonly TerminalLine[]): string[] {
  return lines.map(line => writeLine(line, false));
}
