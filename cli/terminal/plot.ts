// Plots and bars, each on one line.

const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** A bar for each value, relative to the largest; a dot for 0. */
export function sparkline(values: readonly number[]): string {
  const most = Math.max(0, ...values);
  return values
    .map(value => (value <= 0 ? '·' : bars[Math.max(0, Math.ceil((value / most) * bars.length) - 1)]))
    .join('');
}

/** A bar for each bucket, relative to the largest count; a dot for 0, and a cross for a bucket with failures. */
export function densityStrip(buckets: readonly { readonly count: number; readonly hasFailed: boolean }[]): string {
  const line = [...sparkline(buckets.map(({ count }) => count))];
  return buckets.map(({ hasFailed }, at) => (hasFailed ? '×' : line[at])).join('');
}

/** A bar on a scale from 0 to `most`: full up to the first mark, lighter up to the second, and still lighter up to the third. */
export function percentileBar(marks: readonly [number, number, number], most: number, columns: number): string {
  const [first = 0, second = 0, third = 0] = marks.map(mark => (most <= 0 ? 0 : Math.round((mark / most) * columns)));
  return `${'█'.repeat(first)}${'▓'.repeat(second - first)}${'░'.repeat(third - second)}`;
}

const progressColumns = 30;

export function progressBar(done: number, of: number): string {
  const filled = of === 0 ? 0 : Math.round((done / of) * progressColumns);
  return `[${'#'.repeat(filled)}${'.'.repeat(progressColumns - filled)}] ${done}/${of}`;
}
