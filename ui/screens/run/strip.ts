// The density strip of a step: which columns it has at a given width, and how many jobs ran and ended in each.
import type { TimeScale, TimeSpan } from './scale.ts';
import type { RunStep, StepBucket, StepBuckets } from './timeline.ts';

export type StripColumn = {
  /** In pixels from the left. */
  readonly x: number;
  readonly width: number;
  /** The maximum number of jobs that ran at the same time, as far as the buckets show it. */
  running: number;
  started: number;
  ended: number;
  failed: number;
  timedOut: number;
  dead: number;
  cancelled: number;
};

/** The narrowest column, in pixels. */
const columnPx = 3;

/** How many jobs of the step run at the end of each bucket. */
export function runningIn({ buckets, by_status: { running = 0 } }: Pick<RunStep, 'buckets' | 'by_status'>): number[] {
  let started = 0;
  let ended = 0;
  for (const bucket of buckets) {
    started += bucket[0];
    ended += bucket[1];
  }
  // The buckets do not say which jobs ended without having started, but the totals say how many. These are taken to be the first jobs that ended by a
  // cancel or a deadline, because a cancel ends waiting jobs before running ones.
  let neverStarted = Math.max(0, ended + running - started);
  let now = 0;
  return buckets.map(([starts, ends, , timedOut, , cancelled]) => {
    const unstarted = Math.min(neverStarted, timedOut + cancelled);
    neverStarted -= unstarted;
    now = Math.max(0, now + starts - (ends - unstarted));
    return now;
  });
}

/** The columns of the strip that are in view and in which a job ran or ended. */
export function stripColumns(step: StepBuckets, scale: TimeScale, widthPx: number): StripColumn[] {
  const { bucketUs, firstUs } = step;
  const running = runningIn(step);
  const columns = new Map<number, StripColumn>();
  const { fromUs, toUs } = scale.span;
  const first = Math.max(0, Math.floor((fromUs - firstUs) / bucketUs));
  const end = Math.min(step.buckets.length, Math.ceil((toUs - firstUs) / bucketUs));
  for (let n = first; n < end; n++) {
    const bucket = step.buckets[n]!;
    const before = n === 0 ? 0 : running[n - 1]!;
    const most = Math.max(before, running[n]!, bucket[0] > 0 ? 1 : 0);
    if (most === 0 && bucket[1] === 0) continue;
    const left = Math.max(0, scale.at(firstUs + n * bucketUs)) * widthPx;
    const right = Math.min(1, scale.at(firstUs + (n + 1) * bucketUs)) * widthPx;
    if (right - left >= columnPx) {
      // Each bucket is a column, from one whole pixel to another.
      const x = Math.round(left);
      addTo(columns, x, Math.round(right) - x, bucket, most);
      continue;
    }
    const from = Math.floor(left / columnPx);
    addTo(columns, from * columnPx, columnPx, bucket, most);
    // If a bucket reaches into the next columns, its running jobs count there, too.
    for (let next = from + 1; next * columnPx < right; next++) addTo(columns, next * columnPx, columnPx, quiet, most);
  }
  return [...columns.values()].sort((a, b) => a.x - b.x);
}

const quiet: StepBucket = [0, 0, 0, 0, 0, 0];

function addTo(columns: Map<number, StripColumn>, x: number, width: number, bucket: StepBucket, running: number): void {
  const [started, ended, failed, timedOut, dead, cancelled] = bucket;
  const column = columns.get(x);
  if (!column) {
    columns.set(x, { x, width, running, started, ended, failed, timedOut, dead, cancelled });
    return;
  }
  column.running = Math.max(column.running, running);
  column.started += started;
  column.ended += ended;
  column.failed += failed;
  column.timedOut += timedOut;
  column.dead += dead;
  column.cancelled += cancelled;
}

/** The height of a bar for `n` of at most `most` jobs. It grows with the square root of `n`, so that few jobs stay visible beside many. */
export function barHeight(n: number, most: number, height: number): number {
  return n <= 0 ? 0 : Math.max(2, Math.round(Math.sqrt(n / Math.max(1, most)) * height));
}

/** Idle time shorter than this share of the run is not collapsed. */
const idleShareMin = 0.03;

/** The stretches in which no job of any step ran. */
export function idleSpans(steps: readonly RunStep[], bucketUs: number, durationUs: number): TimeSpan[] {
  const buckets = steps[0]?.buckets.length ?? 0;
  const isBusy = new Array<boolean>(buckets).fill(false);
  for (const step of steps) {
    const running = runningIn(step);
    for (let n = 0; n < buckets; n++) {
      const [started, ended] = step.buckets[n]!;
      if (started > 0 || ended > 0 || running[n]! > 0) isBusy[n] = true;
    }
  }
  const spans: TimeSpan[] = [];
  let from = 0;
  for (let n = 0; n <= buckets; n++) {
    if (n < buckets && !isBusy[n]) continue;
    const span = { fromUs: from * bucketUs, toUs: Math.min(n * bucketUs, durationUs) };
    if (span.toUs - span.fromUs >= durationUs * idleShareMin) spans.push(span);
    from = n + 1;
  }
  return spans;
}

/** The counts of the buckets between two times, for the text under the pointer. */
export function countsBetween(step: StepBuckets, { fromUs, toUs }: TimeSpan): StripColumn {
  const { bucketUs, firstUs } = step;
  const first = Math.max(0, Math.floor((fromUs - firstUs) / bucketUs));
  const end = Math.min(step.buckets.length, Math.max(first + 1, Math.ceil((toUs - firstUs) / bucketUs)));
  const running = runningIn(step);
  const columns = new Map<number, StripColumn>();
  addTo(columns, 0, 0, quiet, first === 0 ? 0 : (running[first - 1] ?? 0));
  for (let n = first; n < end; n++) addTo(columns, 0, 0, step.buckets[n]!, running[n]!);
  return columns.get(0)!;
}
