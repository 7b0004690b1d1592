// `fail_fast: false` on a `foreach`: a failed element fails the run, or the token around the fan-out, only after all elements have ended.
import { describe, expect, it } from 'vitest';
import { stage } from './cast.ts';
import { errorOf, type Job, payloadOf, resultOf } from './stage.ts';

const odd = { id: 'odd', uses: 'odd', foreach: 'payload.list', fail_fast: false };
const list = [0, 1, 2, 3];

/** The status of each job of the plugins, in the order of creation. */
function statuses(jobs: readonly Job[]): string[] {
  return jobs.map(({ status }) => status);
}

describe('a foreach with `fail_fast: false`', () => {
  it('runs the elements that are not jobs yet, then fails the run with the first failure, without the join', () => {
    const long = Array.from({ length: 3000 }, (_, item) => (item === 1 ? 1 : 0));
    const s = stage([odd, { uses: 'sink', join: 'all' }]);
    const run = s.run('p', { list: long });
    expect([run.status, s.of('odd').length, s.of('sink').length, s.leftovers()]).toEqual(['failed', 3000, 0, 0]);
    expect(errorOf(run)).toBe(`step "odd": odd.handle failed (${s.of('odd')[1]!.text}): odd`);
  });

  it('fails the run at its end where no join follows', () => {
    const s = stage([odd, { uses: 'sink' }]);
    const run = s.run('p', { list });
    expect([run.status, s.of('sink').length, s.leftovers()]).toEqual(['failed', 2, 0]);
  });

  it('counts for the steps behind it, up to the next join', () => {
    const s = stage([
      { id: 'each', uses: 'echo', foreach: 'payload.list', fail_fast: false },
      { id: 'odd', uses: 'odd', with: { item: '{payload.item}' } },
      { id: 'after', uses: 'sink' },
      { uses: 'double', join: 'all' },
    ]);
    const run = s.run('p', { list });
    expect([run.status, statuses(s.of('odd')), s.of('sink').length]).toEqual([
      'failed',
      ['succeeded', 'failed', 'succeeded', 'failed'],
      2,
    ]);
    expect(s.of('double')).toEqual([]);
  });

  it.each([
    ['alone', 0, 1.1 * 2 ** 20],
    ['with what it had before', 2 ** 20 - 5_000, 10_000],
  ])('ends only the element that has too much baggage, %s', (_, before, own) => {
    const s = stage([
      { uses: 'echo', baggage: { before: 'payload.before' } },
      { id: 'each', uses: 'double', foreach: 'payload.list', fail_fast: false, baggage: { own: 'payload.item' } },
      { uses: 'sink', join: 'all' },
    ]);
    const items = ['first', 'x'.repeat(own), 'third'];
    const run = s.run('p', { before: 'x'.repeat(before), list: items });
    expect(s.of('double').map(job => [job.status, (payloadOf(job) as { item: string }).item])).toEqual([
      ['succeeded', 'first'],
      ['succeeded', 'third'],
    ]);
    expect([run.status, errorOf(run)]).toEqual(['failed', 'step "each": more than 1 MiB of baggage']);
    expect([s.of('sink').length, s.leftovers()]).toEqual([0, 0]);
  });

  it('does not spare the branch of a split beside it', () => {
    const s = stage([{ split: { a: [odd], b: [{ uses: 'fail' }] } }, { uses: 'sink', join: 'all' }]);
    const run = s.run('p', { list });
    expect(errorOf(run)).toMatch(/^step "1\.2\.1": fail\.handle failed/);
  });

  it('fails the element around a nested join, whose other elements go on', () => {
    const s = stage([
      { id: 'outer', uses: 'echo', foreach: 'payload.lists', fail_fast: false, with: { list: '{payload.item}' } },
      {
        steps: [
          { id: 'inner', uses: 'odd', foreach: 'payload.list' },
          { id: 'joined', uses: 'sink', join: 'all' },
        ],
      },
      { id: 'end', uses: 'double', join: 'all' },
    ]);
    const run = s.run('p', { lists: [[0, 1], [2], [3, 4]] });
    expect([run.status, s.of('odd').length, s.of('sink').length, s.of('double').length]).toEqual(['failed', 5, 1, 0]);
    expect(s.leftovers()).toBe(0);
  });

  it('leaves a run alone in which all elements succeed, or fail under on_error: continue', () => {
    const lenient = stage([
      { ...odd, on_error: 'continue' },
      { uses: 'sink', join: 'all', collect: 'counts' },
    ]);
    expect(resultOf(lenient.run('p', { list }))).toEqual({ succeeded: 2, failed: 2 });
    expect(stage([odd]).run('p', { list: [0, 2] }).status).toBe('succeeded');
  });

  it('survives a restart between two elements', () => {
    const s = stage([odd, { uses: 'sink', join: 'all' }]);
    const id = s.start('p', { list });
    s.work(2);
    s.restart();
    s.finish();
    expect([s.jobs.get(id)!.status, s.of('sink').length, s.leftovers()]).toEqual(['failed', 0, 0]);
  });
});
