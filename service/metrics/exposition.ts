// Writes families of metrics as text: in the format of Prometheus, version 0.0.4, or of OpenMetrics 1.0. In OpenMetrics, a bucket of a histogram
// may name an example job.
import type { BucketExample } from '../../actors/index/records/totals.ts';
import type { BucketValues, MetricFamily, MetricLabels, Sample } from './family.ts';
import { TextBuffer } from './text-buffer.ts';

export type MetricsFormat = 'prometheus' | 'openmetrics';

export const metricsTypes: { readonly [F in MetricsFormat]: string } = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

const newline = Buffer.from('\n');
const space = Buffer.from(' ');
const beforeId = Buffer.from(' # {job_id="');
const behindId = Buffer.from('"} ');

type KeptText = { readonly format: MetricsFormat; readonly bytes: Uint8Array };

/** Writes the metrics of scrapes. If a sample was last written in the same format, its text is reused. */
export class MetricsWriter {
  readonly #kept = new WeakMap<Sample<unknown>, KeptText>();
  /** The length of the last scrape in bytes. */
  #length = 0;

  /** Writes these families, except families without samples. */
  write(families: Iterable<MetricFamily>, format: MetricsFormat): Buffer {
    const out = new TextBuffer(this.#length);
    for (const family of families) if (family.samples.length > 0) this.#writeFamily(out, family, format);
    if (format === 'openmetrics') out.addText('# EOF\n');
    this.#length = out.length;
    return out.from(0);
  }

  #writeFamily(out: TextBuffer, family: MetricFamily, format: MetricsFormat): void {
    const { name, type, help } = family;
    const counted = type === 'counter' ? `${name}_total` : name;
    // OpenMetrics names the family of a counter without the suffix that its samples have.
    const headed = format === 'openmetrics' ? name : counted;
    out.addText(`# HELP ${headed} ${escaped(help)}\n# TYPE ${headed} ${type}\n`);
    for (const sample of family.samples) {
      const kept = this.#kept.get(sample);
      if (kept?.format === format) {
        out.add(kept.bytes);
        continue;
      }
      const start = out.length;
      writeSample(out, counted, sample, format);
      this.#kept.set(sample, { format, bytes: Buffer.from(out.from(start)) });
    }
  }
}

function writeSample(
  out: TextBuffer,
  name: string,
  { labels, value }: Sample<number | BucketValues>,
  format: MetricsFormat,
): void {
  const own = joined(labels);
  if (typeof value === 'number') {
    out.addText(`${name}${inBraces(own)} `);
    out.addNumber(value);
    out.add(newline);
    return;
  }
  const { limits, counts, sum, exampleOf } = value;
  const before = Buffer.from(`${name}_bucket{${own === '' ? '' : `${own},`}le="`);
  const ends = limitTexts(limits);
  let count = 0;
  for (let place = 0; place < counts.length; place++) {
    count += counts[place]!;
    out.add(before);
    out.add(ends[place]!);
    out.addNumber(count);
    const example = format === 'openmetrics' ? (exampleOf?.(place) ?? null) : null;
    if (example !== null) writeExample(out, example);
    out.add(newline);
  }
  out.addText(`${name}_sum${inBraces(own)} ${String(sum)}\n${name}_count${inBraces(own)} `);
  out.addNumber(count);
  out.add(newline);
}

function writeExample(out: TextBuffer, { us, atUs, job }: BucketExample): void {
  out.add(beforeId);
  out.addId(job);
  out.add(behindId);
  out.addSeconds(us);
  out.add(space);
  out.addTime(atUs);
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

/** The results of `limitTexts`, by limits. */
const knownLimits = new WeakMap<readonly number[], readonly Buffer[]>();

/**
 * The limits of a histogram's buckets, each followed by the characters `"} ` that stand before the count. Limits other than `+Inf` have a
 * decimal point, as OpenMetrics requires. The Prometheus format has the same texts, so that a scraper sees the same series in both formats.
 */
function limitTexts(limits: readonly number[]): readonly Buffer[] {
  let texts = knownLimits.get(limits);
  if (texts === undefined) {
    const written = [...limits.map(limit => (Number.isInteger(limit) ? limit.toFixed(1) : String(limit))), '+Inf'];
    texts = written.map(limit => Buffer.from(`${limit}"} `));
    knownLimits.set(limits, texts);
  }
  return texts;
}
