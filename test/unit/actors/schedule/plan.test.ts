// Which occurrences fire when several are due at once.
import { describe, expect, test } from 'vitest';
import { missedMax, onTimeMsMax, type PlanInput, planOf, runAllMax } from '../../../../actors/schedule/plan.ts';
import { delayOf } from '../../../../runtime/calendar/recurrence.ts';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-11-01T00:00:00Z');

type Given = Partial<PlanInput['definition']> & {
  /** The present (`now`) and the start of the service (`live`), in minutes after the last past occurrence. */
  readonly now: number;
  readonly live?: number;
  /** The interval; if absent, there is one occurrence a minute, by cron. */
  readonly everyMs?: number;
};

function planAt({ now, live = 0, everyMs, ...definition }: Given) {
  const recurrence: PlanInput['record']['recurrence'] =
    everyMs === undefined ? { kind: 'cron', cron: '* * * * *', timezone: 'UTC' } : { kind: 'every', everyMs };
  const plan = planOf({
    definition: { id: 'a', jitterMs: 0, catchUp: 'run_once', catchUpWithinMs: 24 * hour, ...definition },
    record: { recurrence, originMs: start, lastDueMs: start },
    liveMs: start + live * minute,
    nowMs: start + now * minute,
  });
  const after = (ms: number) => (ms - start) / minute;
  return (
    plan && {
      runs: plan.runs.map(after),
      passed: plan.passed && {
        from: after(plan.passed.firstMs),
        to: after(plan.passed.lastMs),
        count: plan.passed.count,
      },
    }
  );
}

test('nothing is due before the time', () => {
  expect(planAt({ now: 0.999 })).toBeNull();
});

test('one occurrence fires at its time, also a little later', () => {
  expect(planAt({ now: 1 })).toEqual({ runs: [1], passed: null });
  expect(planAt({ now: 1, catchUp: 'skip' })).toEqual({ runs: [1], passed: null });
  expect(planAt({ now: 1 + onTimeMsMax / minute, catchUp: 'skip' })).toEqual({ runs: [1], passed: null });
});

describe('of ten occurrences while the service was down', () => {
  const down = { now: 10.5, live: 10.4 };

  test('skip fires none', () => {
    expect(planAt({ ...down, catchUp: 'skip' })).toEqual({ runs: [], passed: { from: 1, to: 10, count: 10 } });
  });

  test('run_once fires the newest', () => {
    expect(planAt({ ...down, catchUp: 'run_once' })).toEqual({ runs: [10], passed: { from: 1, to: 9, count: 9 } });
  });

  test('run_all fires all', () => {
    expect(planAt({ ...down, catchUp: 'run_all' })).toEqual({
      runs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      passed: null,
    });
  });

  test('those that are too old are passed over', () => {
    const within = { ...down, catchUpWithinMs: 3 * minute };
    expect(planAt({ ...within, catchUp: 'run_all' })).toEqual({
      runs: [8, 9, 10],
      passed: { from: 1, to: 7, count: 7 },
    });
    expect(planAt({ ...within, catchUpWithinMs: 0.4 * minute, catchUp: 'run_once' })).toEqual({
      runs: [],
      passed: { from: 1, to: 10, count: 10 },
    });
  });
});

test('an occurrence on time fires beside those that were missed before it', () => {
  const back = { now: 10.05, live: 9.5 };
  expect(planAt({ ...back, catchUp: 'skip' })).toEqual({ runs: [10], passed: { from: 1, to: 9, count: 9 } });
  expect(planAt({ ...back, catchUp: 'run_once' })).toEqual({ runs: [10], passed: { from: 1, to: 9, count: 9 } });
  expect(planAt({ ...back, catchUp: 'run_all' })?.runs).toHaveLength(10);
});

describe('of several occurrences that are due at once, each is judged by its own time', () => {
  const second = 1 / 60;
  const each = { everyMs: 1_000, catchUp: 'skip' } as const;

  test('all that are late by no more than the limit fire', () => {
    expect(planAt({ ...each, now: 3.5 * second })).toEqual({
      runs: [second, 2 * second, 3 * second],
      passed: null,
    });
    expect(planAt({ ...each, now: 6 * second })?.runs).toHaveLength(6);
    expect(planAt({ ...each, now: 7 * second })).toEqual({
      runs: [2, 3, 4, 5, 6, 7].map(n => n * second),
      passed: { from: second, to: second, count: 1 },
    });
  });

  test('those from before the service was up are missed, and run_once makes up for none of them', () => {
    const late = { ...each, now: 4.5 * second, live: 2.5 * second };
    const passed = { from: second, to: 2 * second, count: 2 };
    expect(planAt(late)).toEqual({ runs: [3 * second, 4 * second], passed });
    expect(planAt({ ...late, catchUp: 'run_once' })).toEqual({ runs: [3 * second, 4 * second], passed });
    expect(planAt({ ...late, catchUp: 'run_all' })?.runs).toHaveLength(4);
  });

  test('many missed ones before them change nothing', () => {
    const plan = planAt({ ...each, now: 7_200.5 * second });
    expect(plan?.runs).toEqual([7_196, 7_197, 7_198, 7_199, 7_200].map(n => n * second));
    expect(plan?.passed).toEqual({ from: second, to: 7_195 * second, count: missedMax - 5 });
  });

  test('the delay by jitter counts', () => {
    const jitterMs = 900;
    const delayed = planAt({ ...each, jitterMs, now: 8 * second })!;
    const fires = Array.from({ length: 8 }, (_, n) => start + (n + 1) * 1_000).filter(due => {
      const fireMs = due + delayOf('a', due, jitterMs);
      return fireMs <= start + 8_000 && fireMs >= start + 3_000;
    });
    expect(delayed.runs.map(minutes => Math.round(start + minutes * minute))).toEqual(fires);
  });
});

test('an occurrence is on time if the service was up when its delay by jitter ended', () => {
  const jitterMs = 50_000;
  const delay = delayOf('a', start + minute, jitterMs) / minute;
  expect(delay).toBeGreaterThan(0.2);
  const spread = { jitterMs, catchUp: 'skip', now: 1 + delay } as const;
  expect(planAt({ ...spread, live: 1.1 })).toEqual({ runs: [1], passed: null });
  expect(planAt({ ...spread, live: 1 + delay })).toEqual({ runs: [1], passed: null });
  expect(planAt({ ...spread, live: 1.01 + delay, now: 1.02 + delay })).toEqual({
    runs: [],
    passed: { from: 1, to: 1, count: 1 },
  });
});

test('a clock that is set forward makes occurrences missed, though the service was up', () => {
  expect(planAt({ now: 10.5, catchUp: 'skip' })).toEqual({ runs: [], passed: { from: 1, to: 10, count: 10 } });
});

test('run_all fires a limited number, the newest', () => {
  const plan = planAt({ now: 500.5, live: 500.4, catchUp: 'run_all' })!;
  expect(plan.runs).toHaveLength(runAllMax);
  expect(plan.runs.at(0)).toBe(501 - runAllMax);
  expect(plan.passed).toEqual({ from: 1, to: 500 - runAllMax, count: 500 - runAllMax });
});

test('missed occurrences are counted up to a bound, and the newest still fire', () => {
  const far = { now: 14_400.5, live: 14_400.4, catchUpWithinMs: 30 * 24 * hour };
  expect(planAt({ ...far, catchUp: 'run_once' })).toEqual({
    runs: [14_400],
    passed: { from: 1, to: 14_399, count: missedMax - 1 },
  });
  const plan = planAt({ ...far, catchUp: 'run_all' })!;
  expect(plan.runs).toEqual(Array.from({ length: runAllMax }, (_, index) => 14_401 - runAllMax + index));
});

test('the delay by jitter is the same each time, and below its bound', () => {
  const delays = Array.from({ length: 200 }, (_, index) => delayOf('nightly', start + index * minute, 30_000));
  expect(delays).toEqual(Array.from({ length: 200 }, (_, index) => delayOf('nightly', start + index * minute, 30_000)));
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
  expect(new Set(delays).size).toBeGreaterThan(150);
  expect(delayOf('nightly', start, 0)).toBe(0);
});

test('an occurrence fires after its delay', () => {
  const delay = delayOf('a', start + minute, 30_000) / minute;
  expect(planAt({ now: 1 + delay - 0.001, jitterMs: 30_000 })).toBeNull();
  expect(planAt({ now: 1 + delay, jitterMs: 30_000 })).toEqual({ runs: [1], passed: null });
});
