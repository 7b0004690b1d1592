// Runs: how they begin, end, call each other and live through a reload.
import { describe, expect, it } from 'vitest';
import { pack, unpack } from '../../../../runtime/packing.ts';
import { plugins, stage } from './cast.ts';
import { contextOf, errorOf, resultOf, Stage } from './stage.ts';

describe('a run', () => {
  it('whose condition is false succeeds without children, with the result null', () => {
    const s = stage([{ uses: 'echo' }], { if: { path: 'payload.n', op: 'gt', value: 1 } });
    const run = s.run('p', { n: 1 });
    expect([run.status, resultOf(run), s.jobs.size]).toEqual(['succeeded', null, 1]);
  });

  it('of an unknown pipeline is refused', () => {
    expect(stage([{ uses: 'echo' }]).start('q')).toBe('unknown_pipeline');
  });

  it('whose caller waits is awaited, even if it ends in the same turn', () => {
    const s = stage([{ uses: 'echo' }], { if: { path: 'payload.n', op: 'exists' } });
    const id = s.start('p', { n: 1 }, true);
    s.start('p', { n: 1 });
    s.finish();
    expect(s.awaited).toEqual({ open: [id], known: [] });
    const done = s.start('p', {}, true);
    expect(s.awaited).toEqual({ open: [id, done], known: [] });
    expect(s.jobs.get(done)!.status).toBe('succeeded');
  });

  it('with `continue` goes on quietly without the chain that failed', () => {
    const s = stage([{ uses: 'late', on_error: 'continue' }, { uses: 'sink' }]);
    const run = s.run('p');
    expect([run.status, s.of('sink').length]).toEqual(['succeeded', 0]);
  });

  it('keeps the definition it began with through a reload, and the store forgets it once no run is kept', () => {
    const s = stage([{ uses: 'echo' }, { uses: 'sink' }]);
    const id = s.start('p', { x: 1 });
    s.reconfigure({ pipelines: [{ name: 'p', steps: [{ uses: 'text' }] }] });
    s.restart();
    expect(s.store.count('definitions')).toBe(1);
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ x: 1 });
    expect(s.of('sink').length).toBe(1);
    s.send({ kind: 'prune' });
    expect(s.store.count('definitions') + s.store.count('unused_definitions')).toBe(0);
    expect(resultOf(s.run('p'))).toBe('words');
  });

  it('goes on from a record of format 9, which does not say how many of its jobs have settled', () => {
    const s = stage([{ uses: 'echo' }, { uses: 'sink' }]);
    const id = s.start('p', { x: 1 });
    s.work();
    const batch = s.store.batch();
    for (const { key, value } of s.store.scan('runs', {})) {
      const record = unpack<unknown[]>(value);
      expect(record.at(-1)).toBe(1);
      batch.put('runs', key, pack(record.slice(0, -1)));
    }
    s.store.commit(batch);
    s.restart();
    s.finish();
    expect([resultOf(s.jobs.get(id)!), s.leftovers()]).toEqual([{ x: 1 }, 0]);
  });

  it('that calls a pipeline which a reload took away fails', () => {
    const s = new Stage({
      plugins,
      pipelines: [
        { name: 'o', steps: [{ uses: 'echo' }, { call: 'i' }] },
        { name: 'i', steps: [{ uses: 'echo' }] },
      ],
    });
    const id = s.start('o');
    s.reconfigure({ pipelines: [] });
    s.finish();
    expect(errorOf(s.jobs.get(id)!)).toContain('the pipeline "i" is no longer configured');
  });
});

describe('a call', () => {
  const pipelines = [
    { name: 'outer', steps: [{ id: 'c', call: 'inner', baggage: { x: 'payload.n' } }, { uses: 'sink' }] },
    { name: 'inner', steps: [{ uses: 'double', foreach: 'payload.list', baggage: { y: 'payload.n' } }] },
  ];

  it('runs the other pipeline whole, and goes on with its result', () => {
    const s = new Stage({ plugins, pipelines });
    const run = s.run('outer', { list: [1, 2], n: 5 });
    expect(resultOf(run)).toEqual({ result: [2, 4] });
    const [, inner] = s.of('pipeline');
    expect(inner!.group).toMatchObject({ parent: run.id, root: run.id, pipeline: 'outer', stepId: 'c' });
    expect(s.of('double')[0]!.group).toMatchObject({ parent: inner!.id, root: run.id });
    expect(s.of('sink')[0]!.group.parent).toEqual(inner!.id);
    expect(s.of('sink')[0]!.group.event!.type).toBe('pipeline.inner.result');
    expect([contextOf(s.of('double')[0]!), contextOf(s.of('sink')[0]!)]).toEqual([{ x: 5, y: 5 }, { x: 5 }]);
  });

  it('that fails fails the run, or ends the chain', () => {
    const of = (on_error: string) =>
      new Stage({
        plugins,
        pipelines: [
          { name: 'o', steps: [{ call: 'i', on_error }, { uses: 'sink' }] },
          { name: 'i', steps: [{ uses: 'fail' }] },
        ],
      });
    const failing = of('fail').run('o');
    expect([failing.status, errorOf(failing)]).toEqual([
      'failed',
      expect.stringMatching(/^step "1": pipeline i failed \(.*\): step "1": fail.handle failed \(.*\): broken$/),
    ]);
    expect(of('continue').run('o').status).toBe('succeeded');
  });

  it('of a pipeline whose condition is false goes on with nothing', () => {
    const s = new Stage({
      plugins,
      pipelines: [
        { name: 'o', steps: [{ call: 'i' }, { uses: 'sink' }] },
        { name: 'i', if: { path: 'payload.x', op: 'exists' }, steps: [{ uses: 'fail' }] },
      ],
    });
    expect(resultOf(s.run('o'))).toEqual({});
  });
});
