// What a bench prints: a table for people, or one JSON object a line.
import type { Metric, Target } from './bench.ts';

export type Report = {
  readonly bench: string;
  readonly purpose: string;
  readonly params: { readonly [name: string]: number | string };
  readonly metrics: readonly Metric[];
  /** For people, instead of a line for each metric. */
  readonly table?: string | undefined;
};

export function jsonLines({ bench, params, metrics }: Report): string {
  return metrics
    .map(({ name, value, unit }) => `${JSON.stringify({ bench, metric: name, value: rounded(value), unit, params })}\n`)
    .join('');
}

export function table({ bench, purpose, params, metrics, table: drawn }: Report): string {
  const settings = Object.entries(params).map(([name, value]) => `${name} ${shown(value)}`);
  return [
    `${bench}: ${purpose}`,
    `  ${settings.join(', ')}`,
    drawn ?? metricLines(metrics, params['size'] === 'real'),
    '',
  ].join('\n');
}

function metricLines(metrics: readonly Metric[], isJudged: boolean): string {
  const rows = metrics.map(({ name, value, unit, target }) => [
    name,
    shown(value),
    unit,
    shownTarget(value, target, isJudged),
  ]);
  const wide = (column: number) => Math.max(...rows.map(row => row[column]!.length));
  const [names, values, units] = [wide(0), wide(1), wide(2)];
  const lines = rows.map(([name, value, unit, target]) =>
    `  ${name!.padEnd(names)}  ${value!.padStart(values)} ${unit!.padEnd(units)}  ${target}`.trimEnd(),
  );
  return lines.join('\n');
}

/** Small runs are not held against the targets. */
function shownTarget(value: number | string, target: Target | undefined, isJudged: boolean): string {
  if (target === undefined || typeof value === 'string') return '';
  const [sign, isMet] = target.kind === 'at_least' ? ['≥', value >= target.value] : ['≤', value <= target.value];
  const verdict = isMet ? ' met' : ' MISSED';
  return `${sign} ${shown(target.value)}${isJudged ? verdict : ''}`;
}

function rounded(value: number | string): number | string {
  return typeof value === 'string' ? value : Number(value.toPrecision(6));
}

function shown(value: number | string): string {
  if (typeof value === 'string') return value;
  return value.toLocaleString('en', { maximumFractionDigits: value >= 1000 ? 0 : value >= 10 ? 1 : 3 });
}
