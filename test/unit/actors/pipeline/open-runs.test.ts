// Very many open runs: a start reads none of them, and memory keeps only recently used ones, up to a number of bytes.
import { expect, it } from 'vitest';
import { formatId } from '../../../../runtime/ids.ts';
import { countRead } from '../../../support/count-read.ts';
import { type Job, Stage, type StageOptions } from './stage.ts';

const plugins = { text: () => ({ result: { text: 'x' } }), twice: () => ({ events: [{ type: 'a' }, { type: 'a' }] }) };
const calling = {
  pipelines: [
    {
      name: 'outer',
      steps: [
        { call: 'inner', foreach: 'payload.list' },
        { uses: 'text', join: 'all' },
      ],
    },
    { name: 'inner', steps: [{ uses: 'text' }, { uses: 'text' }] },
    { name: 'listener', on: 'a', steps: [{ uses: 'text' }] },
  ],
  plugins,
} satisfies StageOptions;

function stageWithRuns(count: number, more: Partial<StageOptions> = {}): Stage {
  const s = new Stage({ ...calling, ...more });
  for (let n = 0; n < count; n++) s.start('inner', { n });
  return s;
}

function runsOf(s: Stage, pipeline: string): Job[] {
  return s.of('pipeline').filter(({ command }) => command === pipeline);
}

it('reads no run at a start, and each when it goes on', () => {
  const s = stageWithRuns(300);
  const read = countRead(s.store, 'runs');
  s.restart();
  expect(read()).toBe(0);
  s.finish();
  const ended = runsOf(s, 'inner').filter(run => run.status === 'succeeded');
  expect([ended.length, s.leftovers()]).toEqual([300, 0]);
  expect(read()).toBeGreaterThanOrEqual(300);
});

it('counts the open runs of a state that an earlier version wrote', () => {
  const s = stageWithRuns(20);
  const outer = s.start('outer', { list: [1, 2, 3] });
  const batch = s.store.batch();
  for (const table of ['run_counts', 'open_trees'] as const) {
    for (const key of s.store.keys(table, {})) batch.remove(table, key);
  }
  expect(batch.size).toBe(3);
  s.store.commit(batch);
  s.restart();
  s.turn();
  expect([s.store.count('run_counts'), s.store.count('open_trees')]).toEqual([2, 1]);
  s.finish();
  const ended = [...runsOf(s, 'inner'), s.jobs.get(outer)!].map(run => run.status);
  expect([new Set(ended), s.leftovers()]).toEqual([new Set(['succeeded']), 0]);
});

it('comes to the same end when no run stays in memory from turn to turn', () => {
  const s = stageWithRuns(10, { loadedBytesMax: 0 });
  const ids = [1, 2, 3].map(() => s.start('outer', { list: Array(20).fill(1) }));
  s.submit('twice');
  s.finish();
  expect(ids.map(id => s.jobs.get(id)!.status)).toEqual(Array(3).fill('succeeded'));
  expect([runsOf(s, 'inner').length, runsOf(s, 'listener').length, s.leftovers()]).toEqual([10 + 60, 2, 0]);
});

it('refuses calls, and lets events wait, while the records of open runs take too much', () => {
  const s = new Stage({ ...calling, openRunsBytesMax: 2000 });
  const answers = Array.from({ length: 100 }, (_, n) => s.start('inner', { n }));
  const accepted = answers.filter(answer => answer !== 'queue_full');
  expect(accepted.length).toBeGreaterThan(1);
  expect(accepted.length).toBeLessThan(40);
  const { id } = s.submit('twice');
  s.work();
  expect(s.jobs.get(formatId(id))!.status).toBe('succeeded');
  s.finish();
  expect([runsOf(s, 'listener').length, s.leftovers()]).toEqual([2, 0]);
  expect(s.start('inner')).not.toBe('queue_full');
});
