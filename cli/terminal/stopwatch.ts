// Formats the stopwatch for people: the figures of a window, their history, and the comparison of two windows.
import {
  type ComparedStep,
  type Comparison,
  type Difference,
  type MeasuredStep,
  outstandingFactor,
  type PercentileName,
  percentileOf,
  type SeriesPoint,
  type StepFigures,
  type StopwatchDocument,
  samplesBeyondMin,
  type TimeRange,
} from '../client/stopwatch.ts';
import { percentileBar, sparkline } from './plot.ts';
import { table } from './table.ts';
import { dim, type Piece, type TerminalLine } from './text.ts';
import { formatMs, formatUs, msOf } from './time.ts';

const barColumns = 24;

/**
 * A row for each step that has samples: percentiles, a bar on a scale common to all rows, and the history of p95 over the window. The
 * spans of a step have rows below the step.
 */
export function figureLines(document: StopwatchDocument): TerminalLine[] {
  const { window, steps } = document;
  const measured = withSamples(steps);
  const title = titleOf(document);
  if (measured.length === 0) return [title, 'no measurements'];
  const scaleUs = Math.max(...measured.map(({ p99_us: p99 }) => p99));
  const rows = measured.flatMap(step => [
    [step.step, ...figures(step, scaleUs), { text: sparkline(step.trend_p95_ms), style: 'cyan' as const }],
    ...(step.subs ?? []).map(sub => [`  ${sub.name}`, ...figures(sub, scaleUs), '']),
  ]);
  const idle = steps.length - measured.length;
  const scale = `█ to p50, ▓ to p95, ░ to p99; the widest bar is ${formatUs(scaleUs)}`;
  return [
    title,
    ...table(['STEP', 'COUNT', 'P50', 'P95', 'P99', 'MAX', 'P50 P95 P99', `P95 OVER ${window}`], rows),
    [dim(idle > 0 ? `${scale}; ${idle} without samples` : scale)],
  ];
}

function figures({ sample_count: count, p50_us, p95_us, p99_us, max_us }: StepFigures, scaleUs: number): Piece[] {
  const times = [p50_us, p95_us, p99_us, max_us].map(formatUs);
  return [String(count), ...times, percentileBar([p50_us, p95_us, p99_us], scaleUs, barColumns)];
}

const courses = ['p50', 'p95', 'p99'] as const satisfies readonly PercentileName[];

/** For each step that has samples: the history of its count and of its percentiles, then its jobs with the longest times. */
export function seriesLines(document: StopwatchDocument): TerminalLine[] {
  const measured = withSamples(document.steps);
  const title = titleOf(document);
  if (measured.length === 0) return [title, 'no measurements'];
  const minutes = document.bucket_minutes ?? 1;
  const heading = ['STEP', '', `EACH COLUMN ${formatMs(minutes * 60_000)}`, 'MOST'];
  const rows = measured.flatMap(step => courseRows(step, document));
  return [title, ...table(heading, rows)];
}

function courseRows({ step, series = [], exemplars = [] }: MeasuredStep, document: StopwatchDocument): Piece[][] {
  const row = (name: string, figureOf: (point: SeriesPoint) => number, format: (most: number) => string): Piece[] => {
    const values = columnsOf(series, document, figureOf);
    return ['', name, { text: sparkline(values), style: 'cyan' }, format(Math.max(0, ...values))];
  };
  const rows = [
    row('count', ({ sample_count: count }) => count, String),
    ...courses.map(name => row(name, point => percentileOf(point, name), formatUs)),
    ...exemplars.map(({ job_id, us }) => ['', 'longest', job_id, formatUs(us)]),
  ];
  return [[step, ...rows[0]!.slice(1)], ...rows.slice(1)];
}

/** A value for each bucket of the window; 0 for a bucket without samples. */
function columnsOf(
  series: readonly SeriesPoint[],
  { from = '', to = '', bucket_minutes: minutes = 1 }: StopwatchDocument,
  figureOf: (point: SeriesPoint) => number,
): number[] {
  const bucketMs = minutes * 60_000;
  const values = Array<number>(Math.max(1, Math.ceil((msOf(to) - msOf(from)) / bucketMs))).fill(0);
  for (const point of series) values[Math.round((msOf(point.at) - msOf(from)) / bucketMs)] = figureOf(point);
  return values;
}

/** A row for each step that has samples in at least one of the windows. Percentiles that stand out are marked. */
export function comparisonLines({ plugin, before, after, steps }: Comparison): TerminalLine[] {
  const measured = steps.filter(step => step.before.sample_count + step.after.sample_count > 0);
  const title: TerminalLine = [{ text: plugin, style: 'bold' }, `, ${rangeText(before)} against ${rangeText(after)}`];
  if (measured.length === 0) return [title, 'no measurements'];
  const rule = `${Math.round((outstandingFactor - 1) * 100)} % longer, or as much shorter`;
  return [
    title,
    ...table(['STEP', 'COUNT', 'P50', 'P95', 'P99'], measured.map(comparedRow)),
    [dim(`▲ ▼ at least ${rule}, with ${samplesBeyondMin} or more samples beyond the percentile in both windows`)],
  ];
}

function comparedRow(compared: ComparedStep): Piece[] {
  const { step, before, after } = compared;
  const counts = `${before.sample_count} → ${after.sample_count}`;
  const cells = courses.map(name => {
    const [old, now] = [before, after].map(window =>
      window.sample_count === 0 ? '-' : formatUs(percentileOf(window, name)),
    );
    return differenceCell(`${old} → ${now}`, compared[name]);
  });
  return [step, counts, ...cells];
}

function differenceCell(times: string, difference: Difference | null): Piece {
  const ratio = difference?.ratio ?? null;
  if (ratio === null) return times;
  const percent = Math.round((ratio - 1) * 100);
  const text = `${times} ${percent > 0 ? '+' : ''}${percent} %`;
  if (!difference?.stands_out) return text;
  return ratio > 1 ? { text: `${text} ▲`, style: 'red' } : { text: `${text} ▼`, style: 'green' };
}

function withSamples(steps: readonly MeasuredStep[]): readonly MeasuredStep[] {
  return steps.filter(({ sample_count: count }) => count > 0);
}

function titleOf({ plugin, window, from, to }: StopwatchDocument): TerminalLine {
  const name = { text: plugin, style: 'bold' } as const;
  if (from === undefined || to === undefined) return [name, `, last ${window}`];
  return [name, `, ${rangeText({ from, to })}`];
}

/** A window as `2026-11-21 08:00 to 2026-11-21 09:00 (UTC)`. */
function rangeText({ from, to }: TimeRange): string {
  const [begin, end] = [from, to].map(at => at.slice(0, 16).replace('T', ' '));
  return `${begin} to ${end} (UTC)`;
}
