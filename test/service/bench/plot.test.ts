// Plots and growth: what is measured at each size comes out as metrics, and as an SVG that has every point.
import { expect, test } from 'vitest';
import { drawPlot } from '../../../bench/plot.ts';
import { growthOutcome, ms, perSecond, sizesBetween } from '../../../bench/scale/growth.ts';

test('sizes are so many times one another, as far as asked', () => {
  expect(sizesBetween(10, 1_000, 10)).toEqual([10, 100, 1_000]);
  expect(sizesBetween(1, 64, 4)).toEqual([1, 4, 16, 64]);
  expect(sizesBetween(1, 50, 4)).toEqual([1, 4, 16]);
});

test('a measure is named by what it is and at which size, and has a panel of its own in the plot', () => {
  const steps = [10, 100].map(at => ({ at, measures: { rate: perSecond(5 * at), p99: ms(at) } }));
  const { metrics, files = {} } = growthOutcome({ bench: 'scale-x', title: 'X', axis: 'things', steps });
  expect(metrics.map(({ name, value }) => [name, value])).toEqual([
    ['rate_10', 50],
    ['p99_10', 10],
    ['rate_100', 500],
    ['p99_100', 100],
  ]);
  const svg = files['scale-x.svg']!;
  expect(svg).toContain('p99 (ms)');
  expect(svg.match(/<circle /g)).toHaveLength(4);
});

const axes = [
  { scale: 'logarithmic', xs: [10, 100, 1_000] },
  { scale: 'linear', xs: [10, 20, 30] },
] as const;

test.each(axes)('equal steps of a $scale axis are equally wide, and y begins at 0', ({ scale, xs }) => {
  const points = xs.map(x => ({ x, y: x === xs.at(-1) ? 100 : 1 }));
  const svg = drawPlot({ title: 'A < B & C', scale, axis: 'x', panels: [{ title: 'y', points }] });
  const places = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
  const [[left], [middle], [right, top]] = places as [number[], number[], number[]];
  expect(middle! - left!).toBeCloseTo(right! - middle!);
  expect(top).toBe(28);
  expect(svg).toContain('A &lt; B &amp; C');
});

test('at most ten points have a label at the x axis, and the last is among them', () => {
  const points = Array.from({ length: 20 }, (_, n) => ({ x: n + 1, y: 1 }));
  const svg = drawPlot({ title: 't', scale: 'linear', axis: 'x', panels: [{ title: 'y', points }] });
  const labels = [...svg.matchAll(/text-anchor="middle"[^>]*>(\d+)</g)].map(([, label]) => Number(label));
  expect(labels).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
});

test('a single point, and a measure that is 0 throughout, can be drawn', () => {
  const svg = drawPlot({ title: 't', scale: 'linear', axis: 'x', panels: [{ title: 'y', points: [{ x: 1, y: 0 }] }] });
  expect(svg).toContain('<circle ');
  expect(svg).not.toContain('NaN');
});
