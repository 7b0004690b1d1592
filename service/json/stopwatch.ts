// Writes the answer of the stopwatch as JSON (docs/contract.md#stopwatch): the percentiles of each step, with their trend and history.
import { Histogram } from '../../actors/index/records/histogram.ts';
import { minuteUs } from '../../actors/index/records/stopwatch.ts';
import type { NamedJob, TimeBucket } from '../../actors/index/views/step-history.ts';
import { type StepTimes, trendBuckets } from '../../actors/index/views/stopwatch.ts';
import type { StopwatchQuery } from '../reads/reads.ts';
import type { JsonPart } from './chunks.ts';
import { timestamp } from './timestamp.ts';

export function* stopwatchParts(wanted: StopwatchQuery, measured: ReadonlyMap<string, StepTimes>): Iterable<JsonPart> {
  const { plugin, nowUs, subs, bounds, history } = wanted;
  const head = {
    plugin,
    window: durationText(minutesOf(wanted)),
    captured_at: timestamp(nowUs),
    ...(bounds && boundsOf(wanted)),
    ...(history && { bucket_minutes: history.minutes }),
    ...(subs === false && { subs_unavailable: 'insufficient_scope' }),
    ...(history?.exemplars === false && { exemplars_unavailable: 'insufficient_scope' }),
  };
  yield `${JSON.stringify(head).slice(0, -1)},"steps":[`;
  const names = new Set([...wanted.steps, ...[...measured.keys()].sort()]);
  let separator = '';
  for (const step of names) {
    yield separator;
    yield* stepParts(step, measured.get(step), wanted);
    separator = ',';
  }
  yield ']}';
}

/** The number of minutes in the window. The minute of `nowUs` is not counted, because it is not over. */
function minutesOf({ window: { from, to }, nowUs }: StopwatchQuery): number {
  const isCurrent = to >= Math.floor(nowUs / minuteUs);
  return Math.max(0, isCurrent ? to - from : to + 1 - from);
}

function boundsOf({ window, nowUs }: StopwatchQuery): object {
  const fromUs = window.from * minuteUs;
  const toUs = Math.min((window.to + 1) * minuteUs, nowUs);
  return { from: timestamp(fromUs), to: timestamp(Math.max(fromUs, toUs)) };
}

const none = new Histogram();

function* stepParts(step: string, times: StepTimes | undefined, wanted: StopwatchQuery): Iterable<JsonPart> {
  const { subs, history } = wanted;
  const trend = times?.trend.p95 ?? new Array<number>(trendBuckets).fill(0);
  const spans = [...(times?.spans ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  const figures = {
    step,
    ...figuresOf(times?.all ?? none),
    trend_p95_ms: trend.map(wholeMs),
    ...(subs === true && { subs: spans.map(([name, spanTimes]) => ({ name, ...figuresOf(spanTimes) })) }),
  };
  yield JSON.stringify(figures).slice(0, -1);
  const buckets = times?.history?.buckets ?? [];
  if (history?.series) yield `,"series":${JSON.stringify(buckets.map(pointJson))}`;
  if (history?.heat) yield* heatParts(buckets, history.exemplars);
  if (history?.exemplars) yield `,"exemplars":${JSON.stringify((times?.history?.slowest ?? []).map(exemplarJson))}`;
  yield '}';
}

/** Writes the heat map in one part for each bucket, because a heat map can be large. */
function* heatParts(buckets: readonly TimeBucket[], withExemplars: boolean): Iterable<JsonPart> {
  yield ',"heat":[';
  let separator = '';
  for (const bucket of buckets) {
    const cells = cellsJson(bucket, withExemplars).map(cell => JSON.stringify(cell));
    yield separator + cells.join(',');
    separator = ',';
  }
  yield ']';
}

function figuresOf(times: Histogram): object {
  const [p50, p95, p99] = [times.percentile(0.5), times.percentile(0.95), times.percentile(0.99)];
  return {
    sample_count: times.count,
    p50_ms: wholeMs(p50),
    p95_ms: wholeMs(p95),
    p99_ms: wholeMs(p99),
    p50_us: p50,
    p95_us: p95,
    p99_us: p99,
    max_us: times.maxUs,
  };
}

function pointJson({ minute, count, p50, p95, p99, maxUs }: TimeBucket): object {
  const at = timestamp(minute * minuteUs);
  return { at, sample_count: count, p50_us: p50, p95_us: p95, p99_us: p99, max_us: maxUs };
}

function cellsJson({ minute, cells }: TimeBucket, withExemplars: boolean): object[] {
  return cells.map(({ octave, count, exemplars }) => ({
    at: timestamp(minute * minuteUs),
    from_us: octave === 0 ? 0 : 2 ** octave,
    to_us: 2 ** (octave + 1),
    sample_count: count,
    ...(withExemplars && { exemplars: exemplars.map(exemplarJson) }),
  }));
}

function exemplarJson({ us, jobId }: NamedJob): object {
  return { job_id: jobId, us };
}

function wholeMs(us: number): number {
  return Math.round(us / 1000);
}

/** The duration as text, such as `24h` or `90m`: in hours if it is a whole number of hours, otherwise in minutes. */
function durationText(minutes: number): string {
  return minutes > 0 && minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}
