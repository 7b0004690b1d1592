// What follows from the timeline of a run: names, times, and where the time went.
import { expect, it } from 'vitest';
import { sharesByKind, sharesByStep, stretchesOf } from '../../../ui/screens/run/shares.ts';
import { microsOf, type PathEntry, type RunTimeline, stepKey, stepTitle } from '../../../ui/screens/run/timeline.ts';

const entry = (step: string, times: Partial<PathEntry>): PathEntry => ({
  pipeline: 'import',
  step,
  plugin: 'shop',
  command: 'load',
  job_id: `job of ${step}`,
  status: 'succeeded',
  jobs: 1,
  from: '2026-11-24T01:00:00.000000Z',
  to: '2026-11-24T01:00:01.000000Z',
  handing_out_us: 0,
  waiting_us: 0,
  running_us: 0,
  retrying_us: 0,
  ...times,
});

const timeline: RunTimeline = {
  job_id: 'run',
  plugin: 'pipeline',
  command: 'import',
  status: 'succeeded',
  from: '2026-11-24T01:00:00.000000Z',
  to: '2026-11-24T01:00:01.000000Z',
  duration_us: 1_000,
  bucket_us: 10,
  count: 3,
  steps: [],
  critical_path: [
    entry('fetch', { waiting_us: 100, running_us: 200 }),
    entry('load', { handing_out_us: 50, waiting_us: 400, running_us: 100, retrying_us: 50 }),
    entry('fetch', { running_us: 90 }),
  ],
  gaps: { handing_out_us: 50, waiting_us: 500, retrying_us: 50, commit_us: 10 },
};

it('reads times to the µs', () => {
  expect(microsOf('2026-11-24T01:28:03.150886Z') - microsOf('2026-11-24T01:28:03.000001Z')).toBe(150_885);
  expect(microsOf('1970-01-01T00:00:01Z')).toBe(1_000_000);
  expect(microsOf('1970-01-01T00:00:01.5Z')).toBe(1_500_000);
});

it('names a step by its pipeline if that is not the pipeline of the run', () => {
  const step = { pipeline: 'cleanup', step: 'sweep', plugin: 'shop', command: 'mail' };
  expect(stepTitle(step, 'cleanup')).toBe('sweep');
  expect(stepTitle(step, 'import')).toBe('cleanup/sweep');
  expect(stepTitle({ pipeline: null, step: null, plugin: 'shop', command: 'mail' }, 'import')).toBe('shop.mail');
  expect(stepKey({ ...step, phase: 'finally' })).not.toBe(stepKey(step));
});

it('divides the time of the run by kind; the parts are the whole', () => {
  const shares = sharesByKind(timeline);
  expect(shares.map(({ kind, us }) => [kind, us])).toEqual([
    ['running', 390],
    ['waiting', 500],
    ['handing_out', 50],
    ['retrying', 50],
    ['commit', 10],
  ]);
  expect(shares.reduce((sum, { us }) => sum + us, 0)).toBe(timeline.duration_us);
});

it('names the step that took longest, and what took most of its time', () => {
  expect(sharesByStep(timeline)).toMatchObject([
    { title: 'load', us: 600, share: 0.6, kind: 'waiting' },
    { title: 'fetch', us: 390, kind: 'running' },
  ]);
});

it('orders the stretches of an entry as they came', () => {
  expect(stretchesOf(timeline.critical_path[1]!).map(({ kind }) => kind)).toEqual([
    'handing_out',
    'waiting',
    'running',
    'retrying',
  ]);
});
