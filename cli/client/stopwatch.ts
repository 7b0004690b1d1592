// The figures that the service's stopwatch measured in a window, and the differences between two windows.
import { InvalidArgumentError } from 'commander';
import { instantMs, parseInstant } from '../quantity.ts';
import { type Client, type ClientQuery, segment } from './client.ts';

export type StepFigures = {
  readonly sample_count: number;
  readonly p50_us: number;
  readonly p95_us: number;
  readonly p99_us: number;
  readonly max_us: number;
};
export type SeriesPoint = StepFigures & { readonly at: string };
export type MeasuredStep = StepFigures & {
  readonly step: string;
  readonly trend_p95_ms: readonly number[];
  readonly subs?: readonly (StepFigures & { readonly name: string })[];
  readonly series?: readonly SeriesPoint[];
  readonly exemplars?: readonly { readonly job_id: string; readonly us: number }[];
};
export type StopwatchDocument = {
  readonly plugin: string;
  readonly window: string;
  readonly from?: string;
  readonly to?: string;
  readonly bucket_minutes?: number;
  readonly steps: readonly MeasuredStep[];
  readonly subs_unavailable?: string;
  readonly exemplars_unavailable?: string;
};

export function readStopwatch(client: Client, plugin: string, query: ClientQuery): Promise<StopwatchDocument> {
  const form = { plugin: true, steps: ['step', 'sample_count'] } as const;
  return client.get<StopwatchDocument>(`/stopwatch/${segment(plugin)}`, form, query);
}

/** A window, as two RFC 3339 times. */
export type TimeRange = { readonly from: string; readonly to: string };

/** Parses a window such as `2h..1h`: its beginning and its end, each as `parseInstant` reads it. */
export function parseTimeRange(text: string): TimeRange {
  const [from, to, ...more] = text.split('..');
  if (from === undefined || to === undefined || more.length > 0)
    throw new InvalidArgumentError('a window looks like 2h..1h, or 2026-01-31T12:00:00Z..2026-01-31T13:00:00Z.');
  const range = { from: parseInstant(from), to: parseInstant(to) };
  if (instantMs(range.from) >= instantMs(range.to))
    throw new InvalidArgumentError('a window begins before it ends: 2h..1h is the hour before the last one.');
  return range;
}

/** Rounds a time down to its minute, so that adjacent windows share no minute. */
export function minuteOf(instant: string): string {
  return new Date(Math.floor(instantMs(instant) / 60_000) * 60_000).toISOString();
}

/** The percentiles that are compared, as shares of the samples. */
const shares = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
export type PercentileName = keyof typeof shares;

export function percentileOf(figures: StepFigures, name: PercentileName): number {
  return figures[`${name}_us` as const];
}

/**
 * How a percentile differs between two windows. `difference_us` is the value in the second window minus the value in the first; `ratio` is the
 * second value divided by the first, rounded, or null if the first is 0.
 */
export type Difference = {
  readonly difference_us: number;
  readonly ratio: number | null;
  readonly stands_out: boolean;
};
/** A step, with the difference of each percentile. Null: one of the two windows has no samples of the step. */
export type ComparedStep = { readonly [P in PercentileName]: Difference | null } & {
  readonly step: string;
  readonly before: StepFigures;
  readonly after: StepFigures;
};
export type Comparison = {
  readonly plugin: string;
  readonly before: TimeRange;
  readonly after: TimeRange;
  readonly steps: readonly ComparedStep[];
};

/** A percentile can stand out only if it has grown or shrunk by at least this factor. */
export const outstandingFactor = 1.25;
/** A percentile can stand out only if at least this many samples lie beyond it in each window. */
export const samplesBeyondMin = 5;

const noFigures: StepFigures = { sample_count: 0, p50_us: 0, p95_us: 0, p99_us: 0, max_us: 0 };

export function compare(before: StopwatchDocument, after: StopwatchDocument): Comparison {
  const names = new Set([...before.steps, ...after.steps].map(({ step }) => step));
  return {
    plugin: after.plugin,
    before: rangeOf(before),
    after: rangeOf(after),
    steps: Array.from(names, step => comparedStep(step, figuresOf(before, step), figuresOf(after, step))),
  };
}

function rangeOf({ from = '', to = '' }: StopwatchDocument): TimeRange {
  return { from, to };
}

function figuresOf({ steps }: StopwatchDocument, name: string): StepFigures {
  const { sample_count, p50_us, p95_us, p99_us, max_us } = steps.find(({ step }) => step === name) ?? noFigures;
  return { sample_count, p50_us, p95_us, p99_us, max_us };
}

function comparedStep(step: string, before: StepFigures, after: StepFigures): ComparedStep {
  const of = (name: PercentileName) => difference(before, after, name);
  return { step, before, after, p50: of('p50'), p95: of('p95'), p99: of('p99') };
}

function difference(before: StepFigures, after: StepFigures, name: PercentileName): Difference | null {
  const counts = [before.sample_count, after.sample_count];
  if (counts.includes(0)) return null;
  const [old, now] = [percentileOf(before, name), percentileOf(after, name)];
  const ratio = old === 0 ? null : now / old;
  const isSure = Math.min(...counts) * (1 - shares[name]) >= samplesBeyondMin - 1e-9;
  const isLarge = ratio !== null && (ratio >= outstandingFactor || ratio <= 1 / outstandingFactor);
  return {
    difference_us: now - old,
    ratio: ratio === null ? null : Math.round(ratio * 1000) / 1000,
    stands_out: isSure && isLarge,
  };
}
