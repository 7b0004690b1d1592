// Conditions that may take long are left to later turns, once a turn has used up its time.
import { describe, expect, it } from 'vitest';
import { payloads, plugins } from './cast.ts';
import { errorOf, resultOf, Stage } from './stage.ts';

const pattern = (value: string) => ({ path: 'payload.text', op: 'regex', value });
const never = Array.from({ length: 5 }, () => ({ uses: 'double', if: pattern('^$') }));
const steps = [{ uses: 'echo' }, ...never, { id: 'last', uses: 'sink', if: pattern('wo.d') }];

function stage(isSpent: () => boolean, loadedBytesMax?: number): Stage {
  const pipelines = [
    { name: 'p', steps },
    { name: 'fork', steps: [{ uses: 'emit' }, ...steps] },
    { name: 'awaits', on: 'asked', if: pattern('word'), steps: [{ uses: 'sink' }] },
    { name: 'fails', steps: [{ split: [[...steps], [{ uses: 'fail' }]] }] },
  ];
  return new Stage({ plugins, pipelines, isSpent, ...(loadedBytesMax !== undefined && { loadedBytesMax }) });
}

const events = (count: number, type = 'any') =>
  Array.from({ length: count }, (_, n) => ({ type, payload: { n, text: n % 2 === 0 ? 'word' : 'none' } }));

describe('conditions with patterns in turns that are spent', () => {
  it('are looked at one a turn, and the chain goes on as ever', () => {
    const [spent, calm] = [stage(() => true), stage(() => false)];
    const runs = [spent, calm].map(s => s.run('p', { text: 'a word' }));
    expect(runs.map(resultOf)).toEqual([{ text: 'a word' }, { text: 'a word' }]);
    expect(spent.turns - calm.turns).toBe(never.length);
    expect(spent.leftovers()).toBe(0);
  });

  it('wait on disk: a new life of the actor goes on with them, also where the run was let go of', () => {
    for (const loadedBytesMax of [undefined, 0]) {
      const s = stage(() => true, loadedBytesMax);
      const id = s.start('fork', { events: events(6), text: 'x' });
      let most = 0;
      while (s.isBusy || s.openRuns > 0) {
        s.work();
        most = Math.max(most, s.store.count('lists'));
        s.restart();
        s.turn();
      }
      expect(most).toBeGreaterThan(1);
      expect(resultOf(s.jobs.get(id)!)).toHaveLength(6);
      expect(payloads(s.of('sink'))).toEqual([0, 2, 4].map(n => ({ n, text: 'word' })));
      expect(s.leftovers()).toBe(0);
    }
  });

  it('are forgotten when their run fails', () => {
    const s = stage(() => true);
    const run = s.run('fails', { text: 'a word' });
    expect([run.status, errorOf(run)]).toMatchObject(['failed', expect.stringContaining('broken')]);
    expect(s.leftovers()).toBe(0);
  });

  it('wait without what is stored already, however much it is', () => {
    const s = stage(() => true);
    const run = s.start('p', { text: 'a word', more: 'x'.repeat(10_000) });
    s.work();
    const [waiting] = s.store.scan('lists', {});
    expect(waiting!.value.length).toBeLessThan(500);
    s.restart();
    s.turn();
    s.finish();
    expect(resultOf(s.jobs.get(run)!)).toEqual({ text: 'a word', more: 'x'.repeat(10_000) });
  });

  it('of events: each starts what waits for it, one event a turn', () => {
    const s = stage(() => true);
    s.submit('emit', { events: events(10, 'asked') });
    s.work();
    const perTurn: number[] = [];
    while (s.isBusy) {
      const before = s.of('sink').length;
      s.work();
      perTurn.push(s.of('sink').length - before);
    }
    expect(Math.max(...perTurn)).toBe(1);
    expect(payloads(s.of('sink'))).toEqual([0, 2, 4, 6, 8].map(n => ({ n, text: 'word' })));
    expect(s.leftovers()).toBe(0);
  });

  it.each([0.2, 0.5, 0.9])('whatever turns are spent (%d of the evaluations), runs end as they do without', part => {
    let state = 7;
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state / 2 ** 32;
    };
    const result = (isSpent: () => boolean) => {
      const s = stage(isSpent);
      const run = s.run('fork', { events: events(40), text: 'x' });
      expect(s.leftovers()).toBe(0);
      return resultOf(run);
    };
    expect(result(() => random() < part)).toEqual(result(() => false));
  });
});
