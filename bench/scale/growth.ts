// The figures of a bench that measures how cost grows: the same measures at each size, as metrics and as a plot.
import type { Metric, Outcome } from '../bench.ts';
import { drawPlot } from '../plot.ts';

export type Measure = { readonly value: number; readonly unit: string };
/** The measures at one size, by name. */
export type Step = { readonly at: number; readonly measures: { readonly [name: string]: Measure } };

export type Growth = {
  readonly bench: string;
  readonly title: string;
  /** The label of the axis of sizes. */
  readonly axis: string;
  readonly steps: readonly Step[];
};

/** The metrics have the names `<measure>_<size>`; the plot is the file `<bench>.svg`. */
export function growthOutcome({ bench, title, axis, steps }: Growth): Pick<Outcome, 'metrics' | 'files'> {
  const metrics = steps.flatMap(({ at, measures }) =>
    Object.entries(measures).map(([name, measure]): Metric => ({ name: `${name}_${at}`, ...measure })),
  );
  const panels = Object.entries(steps[0]!.measures).map(([name, { unit }]) => ({
    title: unit === '1/s' ? name : `${name} (${unit})`,
    points: steps.map(({ at, measures }) => ({ x: at, y: measures[name]!.value })),
  }));
  return { metrics, files: { [`${bench}.svg`]: drawPlot({ title, scale: 'logarithmic', axis, panels }) } };
}

/** The sizes from `from` to `to`; each is `times` times the size before. */
export function sizesBetween(from: number, to: number, times: number): number[] {
  const sizes: number[] = [];
  for (let size = from; size <= to; size *= times) sizes.push(size);
  return sizes;
}

export const perSecond = (value: number): Measure => ({ value, unit: '1/s' });
export const ms = (value: number): Measure => ({ value, unit: 'ms' });
export const mb = (value: number): Measure => ({ value, unit: 'MB' });
