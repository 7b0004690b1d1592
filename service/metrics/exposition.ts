// Writes families of metrics as text: in the format of Prometheus, version 0.0.4, or of OpenMetrics 1.0. In OpenMetrics, a bucket of a histogram
// may name an example job.
import type { BucketExample } from '../../actors/index/records/totals.ts';
import { formatId } from '../../runtime/ids.ts';
import type { BucketValues, MetricFamily, MetricLabels, Sample } from './family.ts';

export type MetricsFormat = 'prometheus' | 'openmetrics';

export const metricsTypes: { readonly [F in MetricsFormat]: string } = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Families without samples are left out. */
export function writeMetrics(families: Iterable<MetricFamily>, format: MetricsFormat): string {
  let text = '';
  for (const family of families) if (family.samples.length > 0) text += writeFamily(family, format);
  return format === 'openmetrics' ? `${text}# EOF\n` : text;
}

function writeFamily(family: MetricFamily, format: MetricsFormat): string {
  const { name, type, help } = family;
  const counted = type === 'counter' ? `${name}_total` : name;
  // OpenMetrics names the family of a counter without the suffix that its samples have.
  const headed = format === 'openmetrics' ? name : counted;
  let text = `# HELP ${headed} ${escaped(help)}\n# TYPE ${headed} ${type}\n`;
  if (family.type === 'histogram') {
    for (const sample of family.samples) text += writeHistogram(name, sample, format === 'openmetrics');
  } else {
    for (const { labels, value } of family.samples) text += `${counted}${inBraces(joined(labels))} ${number(value)}\n`;
  }
  return text;
}

function writeHistogram(name: string, { labels, value }: Sample<BucketValues>, withExamples: boolean): string {
  const own = joined(labels);
  const before = `${name}_bucket{${own === '' ? '' : `${own},`}le="`;
  const { limits, counts, examples } = value;
  const ends = limitTexts(limits);
  let text = '';
  let count = 0;
  for (let place = 0; place < counts.length; place++) {
    count += counts[place]!;
    const example = withExamples ? (examples?.[place] ?? null) : null;
    text += `${before}${ends[place]}"} ${number(count)}${example === null ? '' : exampleText(example)}\n`;
  }
  return `${text}${name}_sum${inBraces(own)} ${number(value.sum)}\n${name}_count${inBraces(own)} ${number(count)}\n`;
}

function exampleText({ us, atUs, job }: BucketExample): string {
  return ` # {job_id="${formatId(job)}"} ${number(us / 1e6)} ${(atUs / 1e6).toFixed(3)}`;
}

function joined(labels: MetricLabels): string {
  let text = '';
  for (const label in labels) text += `${text === '' ? '' : ','}${label}="${escaped(labels[label]!, true)}"`;
  return text;
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

/** Escapes the text of `HELP`, or (`isQuoted`) the value of a label. */
function escaped(text: string, isQuoted = false): string {
  if (!/[\\\n"]/.test(text)) return text;
  const lines = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return isQuoted ? lines.replaceAll('"', '\\"') : lines;
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** The limits of buckets as texts. */
const knownLimits = new WeakMap<readonly number[], readonly string[]>();

/**
 * The limits of a histogram's buckets, with a decimal point, as OpenMetrics requires; the last bucket has none. Both formats write them, so that
 * a scraper sees the same series in both.
 */
function limitTexts(limits: readonly number[]): readonly string[] {
  let texts = knownLimits.get(limits);
  if (texts === undefined) {
    texts = [...limits.map(limit => (Number.isInteger(limit) ? limit.toFixed(1) : String(limit))), '+Inf'];
    knownLimits.set(limits, texts);
  }
  return texts;
}
