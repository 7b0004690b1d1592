// What the rerun of a run is said to do.
import { expect, it } from 'vitest';
import { rerunText } from '../../../ui/screens/job/rerun-words.ts';

const none = { succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };

it.each([
  [{ ...none, succeeded: 60, failed: 1, dead: 1 }, 'The run had 62 jobs: all run again, also the 60 that succeeded.'],
  [{ ...none, succeeded: 1, reused: 3, failed: 1 }, 'The run had 5 jobs: all run again, also the 4 that succeeded.'],
  [{ ...none, failed: 1 }, 'The run had 1 job: it runs again.'],
  [none, 'The run had no job. It starts again.'],
])('from the start, %j: %s', (counts, text) => {
  expect(rerunText(counts, 'start')).toBe(text);
});

it.each([
  [
    { ...none, succeeded: 2, failed: 1 },
    '2 jobs succeeded and are reused, but not jobs of phases. 1 job runs again, and the steps after it.',
  ],
  [
    { ...none, succeeded: 0, reused: 1, failed: 1, cancelled: 1 },
    '1 job succeeded and is reused, but not jobs of phases. 2 jobs run again, and the steps after them.',
  ],
])('from the failed jobs, %j: %s', (counts, text) => {
  expect(rerunText(counts, 'failed')).toBe(text);
});
