// Two runs or two windows against each other: which differences stand out.
import { expect, it } from 'vitest';
import { comparedSteps, mostChanged } from '../../../ui/screens/compare/compared-runs.ts';
import { changeOf, ratioText } from '../../../ui/screens/compare/difference.ts';
import type { PathEntry, RunStep, RunTimeline } from '../../../ui/screens/run/timeline.ts';

it('lets a percentile stand out only if it changed by a quarter, and enough samples lie beyond it', () => {
  const side = (us: number, samples: number) => ({ us, samples });
  expect(changeOf(side(100, 100), side(130, 100), 'p95')).toEqual({ us: 30, ratio: 1.3, standsOut: true });
  expect(changeOf(side(100, 99), side(130, 1_000), 'p95')).toMatchObject({ standsOut: false });
  expect(changeOf(side(100, 100), side(120, 100), 'p95')).toMatchObject({ standsOut: false });
  expect(changeOf(side(100, 100), side(80, 100), 'p95')).toMatchObject({ us: -20, standsOut: true });
  expect(changeOf(side(100, 10_000), side(900, 10_000), 'max')).toMatchObject({ standsOut: false });
  expect(changeOf(side(0, 0), side(900, 10), 'p50')).toBeNull();
  expect(changeOf(side(0, 5), side(0, 5), 'p50')).toMatchObject({ ratio: 1 });
});

it.each([
  [1, 'same'],
  [1.004, 'same'],
  [1.12, '+12 %'],
  [0.39, '−61 %'],
  [4.12, '4.1 ×'],
  [41.2, '41 ×'],
  [null, 'new'],
])('writes the ratio %j as %s', (ratio, text) => {
  expect(ratioText(ratio)).toBe(text);
});

const time = '2026-11-24T01:00:00.000000Z';
const us = { p50: 0, p95: 0, p99: 0, max: 0 };
const named = (step: string) => ({ pipeline: 'import', step, plugin: 'shop', command: step });
const step = (name: string): RunStep => ({
  ...named(name),
  count: 1,
  by_status: { succeeded: 1 },
  first_created: time,
  last_created: time,
  first_start: time,
  last_end: time,
  queue_us: us,
  run_us: us,
  buckets: [],
  slowest: [],
  failed: [],
});
const entry = (name: string, runningUs: number): PathEntry => ({
  ...named(name),
  job_id: name,
  status: 'succeeded',
  jobs: 1,
  from: time,
  to: time,
  handing_out_us: 0,
  waiting_us: 0,
  running_us: runningUs,
  retrying_us: 0,
});
const run = (path: Readonly<Record<string, number>>): RunTimeline => ({
  job_id: 'run',
  plugin: 'pipeline',
  command: 'import',
  status: 'succeeded',
  from: time,
  to: time,
  duration_us: 1_000,
  bucket_us: 1,
  count: 1,
  steps: Object.keys(path).map(step),
  critical_path: Object.entries(path).map(([name, runningUs]) => entry(name, runningUs)),
  gaps: { handing_out_us: 0, waiting_us: 0, retrying_us: 0, commit_us: 0 },
});

it('pairs the steps of two runs, also those that only one has', () => {
  const steps = comparedSteps(run({ fetch: 10, old: 5 }), run({ fetch: 40, load: 20 }));
  expect(steps.map(({ title, before, after }) => [title, before !== null, after !== null])).toEqual([
    ['fetch', true, true],
    ['load', false, true],
    ['old', true, false],
  ]);
  expect(mostChanged(steps)).toMatchObject({ title: 'fetch', pathBefore: 10, pathAfter: 40 });
});

it('names no step if nothing has changed', () => {
  expect(mostChanged(comparedSteps(run({ fetch: 10 }), run({ fetch: 10 })))).toBeNull();
});
