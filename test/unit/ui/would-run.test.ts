// What the screen Now says that a restored state would run.
import { expect, it } from 'vitest';
import { wouldRunText } from '../../../ui/screens/now/would-run.ts';

const nowMs = Date.parse('2026-12-01T12:00:00.000Z');
const oldest_at = '2026-12-01T10:00:00.000Z';
const none = { jobs: 0, delayed: 0, runs: 0, oldest_at: null, commands: [] };

it.each([
  [none, 'runs nothing'],
  [{ ...none, jobs: 1, oldest_at }, 'runs 1 job; the oldest was accepted 2\u202fh ago'],
  [{ ...none, runs: 1, oldest_at }, 'continues 1 run; the oldest was accepted 2\u202fh ago'],
  [
    { ...none, jobs: 5300, delayed: 2, runs: 3, oldest_at },
    'runs 5\u202f300 jobs (2 of them delayed), and continues 3 runs; the oldest was accepted 2\u202fh ago',
  ],
])('%j: %s', (would, text) => {
  expect(wouldRunText(would, nowMs)).toBe(text);
});
