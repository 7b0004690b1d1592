// What the dashboard says of an action over many jobs.
import { expect, it } from 'vitest';
import {
  type Action,
  deedText,
  filterText,
  leftText,
  paceText,
  progressText,
  skippedOf,
  takenOf,
} from '../../../ui/parts/action.ts';

const action: Action = {
  action_id: '0198c0de-0000-7000-8000-000000000000',
  state: 'running',
  do: 'rerun',
  by: 'api:test',
  created_at: '2026-11-24T01:00:00.000000Z',
  completed_at: null,
  matched: 1200,
  done: 3,
  skipped: { not_settled: 2, already_settled: 1 },
  failed: 0,
};

it.each([
  [{}, 'Rerun'],
  [{ do: 'run_now' as const }, 'Run now'],
  [{ from: 'failed' as const }, 'Rerun from failed'],
])('%j does: %s', (given, text) => {
  expect(deedText({ ...action, ...given })).toBe(text);
});

it('says how many jobs it takes at most, and how fast', () => {
  expect(paceText(action)).toBe('');
  expect(paceText({ limit: 1000, per_second: 5 })).toBe('at most 1\u202f000, 5 a second');
});

it.each([
  [{ plugin: 'mailer', status: 'timed_out', children: true }, 'plugin mailer, status timed out, also inside runs'],
  [{ run: 'r1', children: true }, 'run r1'],
  [{ all: true }, 'all jobs'],
  [{ all: true, children: true }, 'all jobs, also inside runs'],
  [{ tag: ['a:b', 'c:d'], submitted_by: 'api:x' }, 'tag a:b and c:d, submitted by api:x'],
  [{ error: 'no such host', created_from: 'yesterday' }, 'words of the error no such host, accepted from yesterday'],
])('%j matches: %s', (where, text) => {
  expect(filterText({ ...action, where })).toBe(text);
});

it('names the schedule and the period of a backfill', () => {
  const backfill = { ...action, do: 'backfill' as const, schedule: 'nightly' };
  expect(filterText({ ...backfill, from_time: '2026-11-01T00:00:00Z', to_time: '2026-11-02T00:00:00Z' })).toMatch(
    /^schedule nightly, from 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d to 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/,
  );
});

it('has come as far as its jobs are done, skipped or failed, of those that it takes', () => {
  expect(progressText(action)).toBe('3 done, 2 skipped (not settled), 1 skipped (already settled)');
  expect(progressText({ ...action, skipped: {}, failed: 4 })).toBe('3 done, 4 failed');
  expect(skippedOf(action)).toBe(3);
  expect(takenOf(action)).toBe(1200);
  expect(takenOf({ ...action, limit: 10 })).toBe(10);
});

it('says what its limit leaves out', () => {
  expect(leftText(action)).toBe('');
  expect(leftText({ ...action, limit: 1200 })).toBe('');
  expect(leftText({ ...action, limit: 1000 })).toBe(
    'The limit of 1\u202f000 leaves out 200 of the 1\u202f200 jobs that matched.',
  );
});
