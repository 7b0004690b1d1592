// The answer of GET /stopwatch/{plugin}, and its figures in the forms that the drawings need.

export type MeasuredFigures = {
  readonly sample_count: number;
  readonly p50_us: number;
  readonly p95_us: number;
  readonly p99_us: number;
  readonly max_us: number;
};

export type Exemplar = { readonly job_id: string; readonly us: number };

export type HeatCell = {
  readonly at: string;
  readonly from_us: number;
  readonly to_us: number;
  readonly sample_count: number;
  readonly exemplars?: readonly Exemplar[];
};

export type MeasuredStopwatchStep = MeasuredFigures & {
  readonly step: string;
  readonly subs?: readonly (MeasuredFigures & { readonly name: string })[];
  readonly series?: readonly (MeasuredFigures & { readonly at: string })[];
  readonly heat?: readonly HeatCell[];
  readonly exemplars?: readonly Exemplar[];
};

export type MeasuredWindow = {
  readonly plugin: string;
  readonly from: string;
  readonly to: string;
  readonly bucket_minutes?: number;
  readonly steps: readonly MeasuredStopwatchStep[];
  readonly subs_unavailable?: string;
  readonly exemplars_unavailable?: string;
};

/** The columns of a chart of percentiles. Times are in seconds, as uPlot has them, durations in ms. Null: a bucket without samples. */
export type SeriesColumns = {
  readonly at: readonly number[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly p99: readonly (number | null)[];
};

/** One point for each bucket of the window, including buckets without samples. */
export function seriesColumns(
  { from, to, bucket_minutes: minutes = 1 }: MeasuredWindow,
  { series = [] }: MeasuredStopwatchStep,
): SeriesColumns {
  const bucketS = minutes * 60;
  const [start, end] = [Date.parse(from) / 1000, Date.parse(to) / 1000];
  const points = new Map(series.map(point => [Date.parse(point.at) / 1000, point]));
  const at: number[] = [];
  for (let second = start; second < end; second += bucketS) at.push(second);
  const column = (name: 'p50_us' | 'p95_us' | 'p99_us') =>
    at.map(second => {
      const us = points.get(second)?.[name];
      return us === undefined ? null : us / 1000;
    });
  return { at, p50: column('p50_us'), p95: column('p95_us'), p99: column('p99_us') };
}

/** A command of the plugin and one of its figures, or a step of a pipeline. */
export type MeasuredName =
  | { readonly kind: 'command'; readonly command: string; readonly figure: string }
  | { readonly kind: 'step'; readonly pipeline: string; readonly step: string };

/** What the name of a step of the stopwatch says: `handle.run`, or `import/load`. */
export function measuredName(name: string): MeasuredName {
  const slash = name.indexOf('/');
  if (slash >= 0) return { kind: 'step', pipeline: name.slice(0, slash), step: name.slice(slash + 1) };
  const dot = name.lastIndexOf('.');
  return { kind: 'command', command: name.slice(0, dot), figure: name.slice(dot + 1) };
}
