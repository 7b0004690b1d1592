// Writes the answer of the stopwatch as JSON (docs/contract.md#stopwatch): percentiles of each step's times, and their trend.
import { Histogram } from '../../actors/index/records/histogram.ts';
import { type StepTimes, trendBuckets } from '../../actors/index/views/stopwatch.ts';
import type { StopwatchWanted } from '../reads/reads.ts';
import { timestamp } from './timestamp.ts';

export function writeStopwatch(wanted: StopwatchWanted, measured: ReadonlyMap<string, StepTimes>): string {
  const { plugin, window, nowUs, subs } = wanted;
  const names = new Set([...wanted.steps, ...[...measured.keys()].sort()]);
  return JSON.stringify({
    plugin,
    window: durationText(Math.max(0, window.to - window.from)),
    captured_at: timestamp(nowUs),
    steps: Array.from(names, step => stepJson(step, measured.get(step), subs === true)),
    ...(subs === false && { subs_unavailable: 'insufficient_scope' }),
  });
}

const none = new Histogram();

function stepJson(step: string, times: StepTimes | undefined, withSubs: boolean): object {
  const trend = times?.trend ?? [];
  const spans = [...(times?.spans ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    step,
    ...figuresOf(times?.all ?? none),
    trend_p95_ms: Array.from({ length: trendBuckets }, (_, i) => wholeMs((trend[i] ?? none).percentile(0.95))),
    ...(withSubs && { subs: spans.map(([name, spanTimes]) => ({ name, ...figuresOf(spanTimes) })) }),
  };
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

function wholeMs(us: number): number {
  return Math.round(us / 1000);
}

/** The duration as text, such as `24h` or `90m`: in hours if it is a whole number of hours, otherwise in minutes. */
function durationText(minutes: number): string {
  return minutes > 0 && minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}
