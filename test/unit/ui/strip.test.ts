// The density strip of a step: its columns, the jobs that run at the same time, and idle time.
import { expect, it } from 'vitest';
import { TimeScale } from '../../../ui/screens/run/scale.ts';
import { barHeight, countsBetween, idleSpans, runningIn, stripColumns } from '../../../ui/screens/run/strip.ts';
import type { RunStep, StepBucket, StepBuckets } from '../../../ui/screens/run/timeline.ts';

const none: StepBucket = [0, 0, 0, 0, 0, 0];

function stepWith(buckets: readonly StepBucket[], byStatus: { readonly [status: string]: number } = {}): RunStep {
  const time = '2026-11-24T01:00:00.000000Z';
  const us = { p50: 0, p95: 0, p99: 0, max: 0 };
  return {
    pipeline: 'p',
    step: 's',
    plugin: 'x',
    command: 'handle',
    count: 0,
    by_status: byStatus,
    first_created: time,
    last_created: time,
    first_start: time,
    last_end: time,
    queue_us: us,
    run_us: us,
    buckets,
    slowest: [],
    failed: [],
  };
}

/** The buckets of a step, of which the first begins at the start of the run. */
function at({ buckets, by_status }: RunStep, bucketUs = 10, firstUs = 0): StepBuckets {
  return { buckets, by_status, bucketUs, firstUs };
}

it('draws a part of the run, of which the first bucket has what was before', () => {
  const step = stepWith([[5, 3, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], none, [0, 1, 0, 0, 0, 0]]);
  const columns = stripColumns(at(step, 10, 90), new TimeScale({ fromUs: 100, toUs: 120 }), 200);
  expect(columns.map(({ x, running, ended }) => [x, running, ended])).toEqual([
    [0, 2, 1],
    [100, 1, 0],
  ]);
});

it('counts the jobs that run at the end of each bucket', () => {
  const step = stepWith([[3, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0], none, [0, 4, 1, 0, 0, 0]]);
  expect(runningIn(step)).toEqual([3, 4, 4, 0]);
});

it('does not take jobs that were cancelled before they started for ended ones', () => {
  // Two run while five others, which never started, are cancelled.
  const step = stepWith([
    [2, 0, 0, 0, 0, 0],
    [0, 5, 0, 0, 0, 5],
    [0, 2, 0, 0, 0, 0],
  ]);
  expect(runningIn(step)).toEqual([2, 2, 0]);
});

it('knows which jobs still run', () => {
  const step = stepWith(
    [
      [2, 0, 0, 0, 0, 0],
      [0, 1, 0, 0, 0, 0],
    ],
    { running: 1 },
  );
  expect(runningIn(step)).toEqual([2, 1]);
});

it('has a column for each bucket that is wide enough, and none where nothing happened', () => {
  const step = stepWith([[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], none, none]);
  const columns = stripColumns(at(step), new TimeScale({ fromUs: 0, toUs: 40 }), 400);
  expect(columns.map(({ x, width }) => [x, width])).toEqual([
    [0, 100],
    [100, 100],
  ]);
  expect(columns[1]).toMatchObject({ running: 1, ended: 1, failed: 1 });
});

it('adds up buckets that are narrower than a column, and loses none', () => {
  const buckets = Array.from({ length: 1_000 }, (): StepBucket => [2, 2, 1, 0, 0, 0]);
  const columns = stripColumns(at(stepWith(buckets), 1), new TimeScale({ fromUs: 0, toUs: 1_000 }), 300);
  expect(columns.length).toBeLessThanOrEqual(101);
  expect(columns.reduce((sum, { ended }) => sum + ended, 0)).toBe(2_000);
  expect(columns.reduce((sum, { failed }) => sum + failed, 0)).toBe(1_000);
});

it('has only the columns in view', () => {
  const buckets = Array.from({ length: 10 }, (): StepBucket => [1, 1, 0, 0, 0, 0]);
  const columns = stripColumns(at(stepWith(buckets)), new TimeScale({ fromUs: 40, toUs: 60 }), 100);
  expect(columns.map(({ x, width }) => [x, width])).toEqual([
    [0, 50],
    [50, 50],
  ]);
});

it('keeps a bar of one job visible beside a million', () => {
  expect(barHeight(1, 1_000_000, 40)).toBe(2);
  expect(barHeight(1_000_000, 1_000_000, 40)).toBe(40);
  expect(barHeight(0, 10, 40)).toBe(0);
});

it('finds the time in which no job of any step ran', () => {
  const first = stepWith([[1, 1, 0, 0, 0, 0], none, none, none, none, none]);
  const second = stepWith([none, none, none, none, [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]);
  expect(idleSpans([first, second], 10, 60)).toEqual([{ fromUs: 10, toUs: 40 }]);
});

it('counts what happened in a part of the time', () => {
  const step = stepWith([[3, 0, 0, 0, 0, 0], [0, 2, 1, 0, 1, 0], none, [0, 1, 0, 0, 0, 0]]);
  expect(countsBetween(at(step), { fromUs: 12, toUs: 28 })).toMatchObject({
    running: 3,
    ended: 2,
    failed: 1,
    dead: 1,
  });
});
