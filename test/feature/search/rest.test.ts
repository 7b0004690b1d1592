// When the indexer leaves the machine to jobs.
import { describe, expect, test } from 'vitest';
import { behindMaxMs, behindRestMs, IndexerThrottle } from '../../../service/indexer/indexer-throttle.ts';

/** A throttle after a step from 1,000 to 1,040 ms, with the index `behindUs` behind the journal. */
function rested(behindUs = 0): IndexerThrottle {
  const rest = new IndexerThrottle();
  rest.leftMs(1000, 1, 7);
  rest.begin(1000, 1040, behindUs);
  return rest;
}

describe('after a step of 40 ms the indexer rests', () => {
  test.each([
    ['for five times as long while a job runs', 1040, 1, 7, 200],
    ['until then, whenever it is looked at', 1200, 1, 7, 40],
    ['no longer', 1300, 1, 7, 0],
    ['between jobs that follow one another: the journal has grown since the step began', 1040, 0, 8, 200],
    ['not at all when no job runs or has run', 1040, 0, 7, 0],
  ])('%s', (_, nowMs, running, journaledUs, leftMs) => {
    expect(rested().leftMs(nowMs, running, journaledUs)).toBe(leftMs);
  });

  test('for as long when it is behind, up to a limit', () => {
    expect(rested(1000 * behindMaxMs).leftMs(1040, 1, 7)).toBe(200);
  });
});

test('far behind it rests shortly, however long its step was', () => {
  const rest = new IndexerThrottle();
  rest.begin(0, 3000, 1000 * behindMaxMs + 1);
  expect(rest.leftMs(3000, 1, 7)).toBe(behindRestMs);
});
