// The output of a bench: a table for people, or one JSON object per line.
import type { Metric, Target } from './bench.ts';

export type Report = {
  readonly bench: string;
  readonly purpose: string;
  readonly params: { readonly [name: string]: number | string };
  readonly metrics: readonly Metric[];
  /** A table for people, printed instead of one line per metric. */
  readonly table?: string | undefined;
};

export function jsonLines({ bench, params, metrics }: Report): string {
  return metrics
    .map(({ name, value, unit }) => {
      const figure = typeof value === 'string' ? value : rounded(value);
      return `${JSON.stringify({ bench, metric: name, value: figure, unit, params })}\n`;
    })
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

/**
 * Formats rows as lines with aligned columns. The first `names` columns are aligned to the left, the others to the
 * right.
 */
export function columns(rows: readonly (readonly string[])[], names: number): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)));
  return rows.map(row =>
    row.map((cell, n) => (n < names ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join('  '),
  );
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

/** Smoke runs are not compared with the targets. */
function shownTarget(value: number | string, target: Target | undefined, isJudged: boolean): string {
  if (target === undefined || typeof value === 'string') return '';
  const [sign, isMet] = target.kind === 'at_least' ? ['≥', value >= target.value] : ['≤', value <= target.value];
  const verdict = isMet ? ' met' : ' MISSED';
  return `${sign} ${shown(target.value)}${isJudged ? verdict : ''}`;
}

/** Rounds to six significant digits. */
export function rounded(value: number): number {
  return Number(value.toPrecision(6));
}

export function shown(value: number | string): string {
  if (typeof value === 'string') return value;
  return value.toLocaleString('en', { maximumFractionDigits: value >= 1000 ? 0 : value >= 10 ? 1 : 3 });
}
