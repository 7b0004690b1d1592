// Events that branch: how many runs they start at once, and how many descendants one root may have.
import { describe, expect, it } from 'vitest';
import { formatId } from '../../../../runtime/ids.ts';
import { plugins } from './cast.ts';
import { errorOf, type Job, Stage, type StageOptions } from './stage.ts';

const again = { type: 'again', payload: {} };
const branching = {
  plugins: { ...plugins, twice: () => ({ events: [again, again] }) },
  pipelines: [
    { name: 'branch', on: 'again', steps: [{ uses: 'twice' }] },
    { name: 'listener', on: 'found', steps: [{ uses: 'text' }] },
  ],
};
const openRunsMax = 8;
const chain = 'the loop: twice.handle → pipeline.branch → twice.handle';

function stageOf(more: Partial<StageOptions>): Stage {
  return new Stage({ ...branching, openRunsMax, ...more });
}

const isDead = (job: Job): boolean => job.status === 'dead';
const belowOf = (s: Stage, root: Job): Job[] =>
  [...s.jobs.values()].filter(job => job.group.root && formatId(job.group.root) === root.text);

describe('events that branch', () => {
  it('start no more runs than may be open at once, however few each job emits; in the end one run each', () => {
    const s = stageOf({ jobsPerRootMax: 500 });
    s.submit('twice');
    let most = 0;
    while (s.isBusy) {
      s.work();
      most = Math.max(most, s.openRuns, s.waiting.length);
    }
    expect(most).toBeGreaterThanOrEqual(openRunsMax);
    expect(most).toBeLessThanOrEqual(openRunsMax + 1);
    const few = new Stage({ ...branching, openRunsMax });
    for (let n = 0; n < 50; n++)
      few.submit('emit', { events: [{ type: 'found' }, { type: 'found' }, { type: 'lost' }] });
    few.finish();
    expect([few.of('text').length, few.leftovers()]).toEqual([100, 0]);
  });

  it.each([
    ['never', 0],
    ['now and then', 0.3],
    ['after each turn', 1],
  ])('are cut at the bound of their root, where the service starts again %s', (_, share) => {
    for (const jobsPerRootMax of [1, 2, 7, 100, 1001]) {
      const s = stageOf({ jobsPerRootMax });
      let dice = 0;
      const root = s.submit('twice');
      for (let turn = 0; s.isBusy; turn++) {
        if (turn > 5000) throw new Error('it never ends');
        s.work(1 + (turn % 5));
        dice = (dice * 7 + 3) % 10;
        if (dice >= 10 * share) continue;
        s.restart();
        s.turn();
      }
      const below = belowOf(s, root);
      expect(below.length).toBe(jobsPerRootMax + 1);
      const [dead, ...others] = below.filter(isDead);
      expect(others).toEqual([]);
      const limit = `${root.text} has ${jobsPerRootMax} descendants, the most that service.max_jobs_per_root allows`;
      expect(errorOf(dead!)).toMatch(`stopped: ${limit}; the `);
      if (jobsPerRootMax > 10)
        expect(errorOf(dead!)).toContain(dead!.plugin === 'twice' ? chain : 'pipeline.branch → twice.handle');
      expect([s.openRuns, s.leftovers()]).toEqual([0, 0]);
    }
  });

  it('hold up no events of other roots', () => {
    const s = stageOf({ jobsPerRootMax: 2000 });
    s.submit('twice');
    for (let turn = 0; turn < 20; turn++) s.work();
    expect(s.store.count('emissions')).toBeGreaterThan(20);
    const honest = s.submit('emit', { events: [{ type: 'found' }] });
    for (let turn = 0; turn < 4; turn++) s.work();
    expect(s.of('text').map(job => [formatId(job.group.root!), job.status])).toEqual([[honest.text, 'succeeded']]);
    s.finish();
    expect(s.leftovers()).toBe(0);
  });

  it('follow a chain to its end before what stands beside it: few have to wait', () => {
    const s = stageOf({ jobsPerRootMax: 5000, openRunsMax: 2 });
    s.submit('twice');
    let most = 0;
    while (s.isBusy) {
      s.work();
      most = Math.max(most, s.store.count('emissions'));
    }
    // Each of the two chains of runs is cut off at 64 jobs, and each job leaves at most one emission.
    expect(most).toBeLessThanOrEqual(2 * 64);
  });
});

describe('the bound of descendants', () => {
  const list = Array.from({ length: 50 }, (_, n) => n);

  it.each([
    ['a fan-out', { uses: 'double', foreach: 'payload.list', on_error: 'continue' }],
    [
      'a fan-out with templates',
      { uses: 'double', foreach: 'payload.list', on_error: 'continue', with: { n: '{payload.index}' } },
    ],
    ['a fan-out of calls', { call: 'listener', foreach: 'payload.list', on_error: 'continue' }],
  ])('cuts %s and fails its run, whatever `on_error` says', (_, step) => {
    for (const restarts of [false, true]) {
      const s = new Stage({
        plugins,
        pipelines: [{ name: 'p', steps: [step] }, branching.pipelines[1]],
        jobsPerRootMax: 20,
      });
      const id = s.start('p', { list });
      if (restarts) s.restart();
      s.finish();
      const run = s.jobs.get(id)!;
      const below = belowOf(s, run);
      expect([run.status, below.length, below.filter(isDead).length]).toEqual(['failed', 21, 1]);
      expect(errorOf(run)).toContain(`step "1": stopped: ${id} has 20 descendants`);
      expect([s.openRuns, s.leftovers()]).toEqual([0, 0]);
    }
  });

  it('counts the runs of hooks', () => {
    const pipelines = [{ name: 'hook', on_hook: 'job.completed', steps: [{ uses: 'text' }] }, ...branching.pipelines];
    const s = stageOf({ pipelines, jobsPerRootMax: 30 });
    const root = s.submit('twice');
    s.finish();
    const below = belowOf(s, root);
    expect([below.length, below.filter(isDead).length, s.leftovers()]).toEqual([31, 1, 0]);
    expect(below.some(job => job.command === 'hook')).toBe(true);
  });

  it('is of each root: another one has its own', () => {
    const s = new Stage({
      plugins,
      pipelines: [{ name: 'p', steps: [{ uses: 'double', foreach: 'payload.list' }] }],
      jobsPerRootMax: 50,
    });
    for (let n = 0; n < 3; n++) expect(s.run('p', { list }).status).toBe('succeeded');
    expect(s.of('double').every(job => job.status === 'succeeded')).toBe(true);
  });

  it('is kept on disk for large trees alone, with one write a turn', () => {
    const s = new Stage({ plugins, pipelines: [{ name: 'p', steps: [{ uses: 'double', foreach: 'payload.list' }] }] });
    s.start('p', { list: Array(1000).fill(1) });
    expect(s.store.count('descendants')).toBe(0);
    s.start('p', { list: Array(1100).fill(1) });
    expect([s.store.count('descendants'), s.written]).toEqual([1, expect.any(Number)]);
    s.finish();
    expect(s.store.count('descendants')).toBe(0);
  });
});
