// Compares two builds of the service: each metric before and after the change, and their ratio in each round.
import type { Metric } from '../bench.ts';
import { median } from '../percentile.ts';
import { type Ratio, spreadOf } from '../ratio.ts';
import { columns, rounded, shown } from '../report.ts';

/** The metrics of both builds in one round. */
export type Round = { readonly before: readonly Metric[]; readonly after: readonly Metric[] };

export type Change = {
  readonly name: string;
  readonly unit: string;
  /** The median over all rounds, measured with the build before the change. */
  readonly before: number;
  /** The median over all rounds, measured with the build after the change. */
  readonly after: number;
  /** The value after the change divided by the value before it. Null: `before` is 0 in a round. */
  readonly ratio: Ratio | null;
};

/** Compares the metrics that are numbers and that both builds have in every round. */
export function changesOf(rounds: readonly Round[]): Change[] {
  return rounds[0]!.before.flatMap(({ name, unit }): Change[] => {
    const before = rounds.map(round => numberOf(round.before, name));
    const after = rounds.map(round => numberOf(round.after, name));
    if (!before.every(isNumber) || !after.every(isNumber)) return [];
    const ratio = before.includes(0) ? null : spreadOf(after.map((value, round) => value / before[round]!));
    return [{ name, unit, before: median(before), after: median(after), ratio }];
  });
}

export function changeTable(changes: readonly Change[]): string {
  const rows = changes.map(({ name, unit, before, after, ratio }) => [
    name,
    unit,
    shown(before),
    shown(after),
    ...(ratio === null ? ['–', '', ''] : [ratio.median, ratio.least, ratio.most].map(value => value.toFixed(3))),
  ]);
  const lines = columns([['', '', 'before', 'after', 'ratio', 'least', 'most'], ...rows], 2);
  return lines.map(line => `  ${line}`.trimEnd()).join('\n');
}

/** The changes in the form of bench/baseline.jsonl: by name, with few digits. */
export function changeRecords(changes: readonly Change[]) {
  return Object.fromEntries(
    changes.map(({ name, unit, before, after, ratio }) => [
      name,
      {
        unit,
        before: rounded(before),
        after: rounded(after),
        ratio: ratio && rounded(ratio.median),
        least: ratio && rounded(ratio.least),
        most: ratio && rounded(ratio.most),
      },
    ]),
  );
}

function numberOf(metrics: readonly Metric[], name: string): number | undefined {
  const value = metrics.find(metric => metric.name === name)?.value;
  return typeof value === 'number' ? value : undefined;
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined;
}
