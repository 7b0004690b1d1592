// The figures of a timeline, computed from times alone: steps, buckets, and the critical path.
import { expect, test } from 'vitest';
import { Histogram } from '../../../actors/index/records/histogram.ts';
import { type Status, statuses } from '../../../actors/job/records/job.ts';
import { type CriticalPath, criticalPath, type PathJob } from '../../../actors/job/views/critical-path.ts';
import {
  bucketCounts,
  dividedPart,
  dividedTime,
  namedMax,
  type StepName,
  type StepTimeline,
  type TimedJob,
  TimelineSums,
} from '../../../actors/job/views/timeline.ts';
import { indexOf, jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { fc } from '../../support/seed.ts';

const key = makeBlockKeys(() => 1).next(1);
const stepOf = (step: string): StepName => ({ pipeline: 'p', step, phase: null, plugin: 'echo', command: 'say' });

/** A job of index `n` with times relative to 1,000. */
function job(n: number, status: Status, [created, started, ended]: readonly (number | null)[], ran?: number): TimedJob {
  const at = (us: number | null | undefined) => (us == null ? null : 1_000 + us);
  const [startedUs, endedUs] = [at(started), at(ended)];
  const ranUs = ran ?? (startedUs === null || endedUs === null ? 0 : endedUs - startedUs);
  return { key, index: n, status, createdUs: at(created)!, startedUs, ranUs, endedUs };
}

function bucketsOf({ buckets }: Pick<StepTimeline, 'buckets'>): number[][] {
  const width = bucketCounts.length;
  return Array.from({ length: buckets.length / width }, (_, n) => [...buckets.subarray(n * width, (n + 1) * width)]);
}

test.each([
  [1_000, 2_000, 400, 3, 334],
  [1_000, 2_000, 1_000, 1, 1_000],
  [1_000, 2_000, 2_000, 1, 1_000],
  [1_000, 1_001, 400, 1, 1],
  [1_000, 1_000, 400, 1, 1],
  [0, 3_600_000_000, 1, 3_600_000_000, 1],
])('the time from %d to %d in at most %d buckets: each has %d µs, and there are %d', (from, to, most, us, count) => {
  expect(dividedTime(from, to, most)).toEqual({ fromUs: from, toUs: to, bucketUs: us, buckets: count });
});

test('a part of the time has buckets of its own, and what lies outside is in the first and the last one', () => {
  const range = { fromUs: 1_000, toUs: 2_000 };
  const time = dividedPart(range, { fromUs: 1_200, toUs: 1_240 }, 4);
  expect(time).toEqual({ ...range, bucketUs: 10, buckets: 6, partUs: 1_190 });
  const sums = new TimelineSums(time);
  const each = sums.of(stepOf('each'));
  each.add(job(0, 'succeeded', [0, 10, 205]));
  each.add(job(1, 'failed', [0, 199, 239]));
  each.add(job(2, 'succeeded', [0, 230, 900]));
  expect(bucketsOf(sums.steps()[0]!).map(([started, ended, failed]) => [started, ended, failed])).toEqual([
    [2, 0, 0],
    [0, 1, 0],
    [0, 0, 0],
    [0, 0, 0],
    [1, 1, 1],
    [0, 1, 0],
  ]);
});

test('a part is cut where the time of the run ends; one outside of it divides all of the time', () => {
  const range = { fromUs: 1_000, toUs: 2_000 };
  expect(dividedPart(range, { fromUs: 0, toUs: 1_100 }, 10)).toMatchObject({ bucketUs: 10, buckets: 12, partUs: 990 });
  expect(dividedPart(range, { fromUs: 3_000, toUs: 4_000 }, 10)).toEqual(dividedTime(1_000, 2_000, 10));
});

test('a step has the counts, the times, and the jobs that were slowest and that failed first', () => {
  const sums = new TimelineSums(dividedTime(1_000, 1_100, 4));
  const each = sums.of(stepOf('each'));
  each.add(job(0, 'succeeded', [0, 10, 30]));
  each.add(job(1, 'failed', [0, 30, 90], 50));
  each.add(job(2, 'dead', [5, 20, 50]));
  each.add(job(3, 'cancelled', [5, null, 100]));
  each.add(job(4, 'running', [5, 60, null]));
  each.add(job(5, 'queued', [7, null, null]));
  expect(sums.steps()).toMatchObject([
    {
      name: stepOf('each'),
      count: 6,
      byStatus: { queued: 1, running: 1, succeeded: 1, failed: 1, timed_out: 0, dead: 1, cancelled: 1 },
      firstCreatedUs: 1_000,
      lastCreatedUs: 1_007,
      firstStartUs: 1_010,
      lastEndUs: 1_100,
      queueUs: { p50: 15, p95: 55, p99: 55, max: 55 },
      runUs: { p50: 30, p95: 50, p99: 50, max: 50 },
      slowest: [{ ranUs: 50 }, { ranUs: 30 }, { ranUs: 20 }],
      failed: [{ status: 'dead' }, { status: 'failed' }],
    },
  ]);
  // The last job ended with the run, and belongs to the last bucket.
  expect(bucketsOf(sums.steps()[0]!)).toEqual([
    [2, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 1, 0, 0, 1, 0],
    [0, 2, 1, 0, 0, 1],
  ]);
});

test('steps come in the order of their first jobs; those beyond the limit are counted together, last', () => {
  const sums = new TimelineSums(dividedTime(1_000, 1_100, 1), 2);
  for (const [n, step] of ['late', 'early', 'third', 'fourth', 'early'].entries())
    sums.of(stepOf(step)).add(job(n, 'succeeded', [step === 'late' ? 20 : 10, 30, 40]));
  const none = { pipeline: null, step: null, phase: null, plugin: null, command: null };
  expect(sums.steps().map(({ name, count }) => [name, count])).toEqual([
    [stepOf('early'), 2],
    [stepOf('late'), 1],
    [none, 2],
  ]);
});

const status = fc.constantFrom(...statuses);
const delay = fc.integer({ min: 0, max: 5_000 });
const story = fc.record({ step: fc.constantFrom('a', 'b', 'c'), status, created: delay, queued: delay, ran: delay });
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

function told(n: number, { status, created, queued, ran }: Story): TimedJob {
  if (status === 'queued') return job(n, status, [created, null, null]);
  if (status === 'running') return job(n, status, [created, created + queued, null]);
  // Every other cancelled job never started.
  if (status === 'cancelled' && n % 2 === 0) return job(n, status, [created, null, created + queued]);
  return job(n, status, [created, created + queued, created + queued + ran]);
}

test('counts add up, buckets have each start and end once, and the named jobs are the right ones', () => {
  fc.assert(
    fc.property(fc.array(story, { maxLength: 60 }), fc.integer({ min: 1, max: 50 }), (stories, most) => {
      const time = dividedTime(1_000, 16_000, most);
      const sums = new TimelineSums(time);
      const jobs = stories.map((each, n) => ({ step: each.step, ...told(n, each) }));
      for (const { step, ...timed } of jobs) sums.of(stepOf(step)).add(timed);
      const steps = sums.steps();
      expect(steps.reduce((sum, { count }) => sum + count, 0)).toBe(jobs.length);
      for (const step of steps) {
        const mine = jobs.filter(each => each.step === step.name.step);
        expect(step.count).toBe(mine.length);
        for (const each of statuses) expect(step.byStatus[each]).toBe(mine.filter(job => job.status === each).length);
        const buckets = bucketsOf(step);
        expect(buckets).toHaveLength(time.buckets);
        const sumOf = (place: number) => buckets.reduce((sum, bucket) => sum + bucket[place]!, 0);
        const ended = mine.filter(job => job.endedUs !== null);
        expect(sumOf(0)).toBe(mine.filter(job => job.startedUs !== null).length);
        expect(sumOf(1)).toBe(ended.length);
        for (const [place, name] of bucketCounts.entries())
          if (place > 1) expect(sumOf(place)).toBe(step.byStatus[name as Status]);
        const ran = ended.filter(job => job.startedUs !== null);
        const slowest = ran.toSorted((a, b) => b.ranUs - a.ranUs || a.index - b.index).slice(0, namedMax);
        expect(step.slowest.map(({ id }) => indexOf(id))).toEqual(slowest.map(({ index }) => index));
        const failed = ended.filter(job => ['failed', 'timed_out', 'dead'].includes(job.status));
        failed.sort((a, b) => a.endedUs! - b.endedUs! || a.index - b.index);
        expect(step.failed.map(({ id }) => indexOf(id))).toEqual(failed.slice(0, namedMax).map(({ index }) => index));
        const times = new Histogram();
        for (const { ranUs } of ran) times.add(ranUs);
        expect(step.runUs).toMatchObject({ p95: times.percentile(0.95), max: times.maxUs });
      }
    }),
  );
});

/** The path through these jobs, each of which leads to the next. */
function pathOf(jobs: readonly PathJob[], fromUs: number, endedUs: number | null, jobsMost?: number): CriticalPath {
  function* before({ id }: PathJob): Sliced<PathJob | null> {
    yield;
    return jobs[indexOf(id) - 1] ?? null;
  }
  const path = criticalPath({ fromUs, endedUs }, jobs.at(-1) ?? null, before, jobsMost);
  for (;;) {
    const step = path.next();
    if (step.done) return step.value;
  }
}

function pathJob(n: number, step: string, [created, started, ended]: readonly number[], ranUs?: number): PathJob {
  const [createdUs, startedUs, endedUs] = [created!, started!, ended!];
  const ran = ranUs ?? endedUs - startedUs;
  return { id: jobId(key, n), name: stepOf(step), status: 'succeeded', createdUs, startedUs, ranUs: ran, endedUs };
}

test('the critical path: jobs of one step are one entry, and each part of the time has one cause', () => {
  const jobs = [
    pathJob(0, 'make', [100, 110, 150]),
    pathJob(1, 'each', [150, 180, 200]),
    pathJob(2, 'each', [205, 215, 300], 60),
    pathJob(3, 'sum', [310, 320, 340]),
  ];
  const { steps, isCut, gaps } = pathOf(jobs, 90, 345);
  const times = (handingOutUs: number, waitingUs: number, runningUs: number, retryingUs: number) => ({
    ...{ handingOutUs, waitingUs, runningUs, retryingUs },
  });
  expect(steps).toMatchObject([
    { name: stepOf('make'), jobs: 1, fromUs: 90, toUs: 150, ...times(10, 10, 40, 0) },
    { name: stepOf('each'), jobs: 2, fromUs: 150, toUs: 300, ...times(5, 40, 80, 25) },
    { name: stepOf('sum'), jobs: 1, fromUs: 300, toUs: 340, ...times(10, 10, 20, 0) },
  ]);
  expect(steps[1]!.id).toEqual(jobs[2]!.id);
  expect([isCut, gaps]).toEqual([false, { handingOutUs: 25, waitingUs: 60, retryingUs: 25, commitUs: 5 }]);
});

test('a run without jobs has no path; an open run has no commit', () => {
  const empty = { handingOutUs: 0, waitingUs: 0, retryingUs: 0 };
  expect(pathOf([], 90, 345)).toEqual({ steps: [], isCut: false, gaps: { ...empty, commitUs: 255 } });
  expect(pathOf([], 90, null)).toEqual({ steps: [], isCut: false, gaps: { ...empty, commitUs: 0 } });
});

test('a clock that was set back leaves no gap and no negative time', () => {
  const jobs = [
    pathJob(0, 'before', [900, 910, 950]),
    // The start is 100, as the end: the record of an attempt never has a start after its end.
    pathJob(1, 'across', [950, 100, 100]),
    pathJob(2, 'after', [100, 110, 140]),
  ];
  const { steps, gaps } = pathOf(jobs, 90, 150);
  expect(steps.map(({ fromUs, toUs }) => [fromUs, toUs])).toEqual([
    [90, 100],
    [100, 100],
    [100, 140],
  ]);
  expect(gaps).toEqual({ handingOutUs: 10, waitingUs: 10, retryingUs: 0, commitUs: 10 });
});

test('a path of too many jobs lacks its beginning', () => {
  const jobs = Array.from({ length: 5 }, (_, n) => pathJob(n, `s${n}`, [n * 10, n * 10 + 2, n * 10 + 9]));
  const { steps, isCut } = pathOf(jobs, 0, 49, 3);
  expect([isCut, steps.map(({ name }) => name.step), steps[0]!.fromUs]).toEqual([true, ['s2', 's3', 's4'], 19]);
  const whole = pathOf(jobs, 0, 49, 5);
  expect([whole.isCut, whole.steps.length]).toEqual([false, 5]);
});

const link = fc.record({ step: fc.constantFrom('a', 'b'), gap: delay, queued: delay, ran: delay, between: delay });

test('the path is connected from the start of the run to its last job, and its parts are the time of the run', () => {
  fc.assert(
    fc.property(fc.array(link, { maxLength: 20 }), delay, (links, tail) => {
      let at = 1_000;
      const jobs = links.map(({ step, gap, queued, ran, between }, n) => {
        const [created, started] = [at + gap, at + gap + queued];
        at = started + ran + between;
        return pathJob(n, step, [created, started, at], ran);
      });
      const { steps, gaps } = pathOf(jobs, 1_000, at + tail);
      const ends = [1_000, ...steps.map(({ toUs }) => toUs)];
      expect(steps.map(({ fromUs }) => fromUs)).toEqual(ends.slice(0, -1));
      expect(ends.at(-1)).toBe(at);
      expect(steps.reduce((sum, step) => sum + step.jobs, 0)).toBe(jobs.length);
      for (const step of steps) {
        const parts = step.handingOutUs + step.waitingUs + step.runningUs + step.retryingUs;
        expect(parts).toBe(step.toUs - step.fromUs);
      }
      const running = steps.reduce((sum, { runningUs }) => sum + runningUs, 0);
      const { handingOutUs, waitingUs, retryingUs, commitUs } = gaps;
      expect(running + handingOutUs + waitingUs + retryingUs + commitUs).toBe(at + tail - 1_000);
    }),
  );
});
