// Splits and joins: what comes together, in which order, and what happens to failures.
import { describe, expect, it } from 'vitest';
import { plugins, stage } from '../cast.ts';
import { contextOf, errorOf, resultOf, Stage } from '../stage.ts';

describe('a join', () => {
  const fanOut = { uses: 'odd', foreach: 'payload.list', on_error: 'continue' };

  it('starts once after everything before it, with results in the order of the elements', () => {
    const s = stage([
      { uses: 'double', foreach: 'payload.list' },
      { id: 'j', uses: 'sink', join: 'all' },
    ]);
    const id = s.start('p', { list: [1, 2, 3] });
    s.waiting.reverse();
    while (s.waiting.length > 0) s.work(1);
    expect(s.of('sink').length).toBe(1);
    expect(s.of('sink')[0]!.group).toMatchObject({ parent: s.jobs.get(id)!.id, depth: 2, stepId: 'j' });
    expect(resultOf(s.jobs.get(id)!)).toEqual({ results: [2, 4, 6], succeeded: 3, failed: 0 });
  });

  it('counts failed elements, with their errors', () => {
    const s = stage([fanOut, { uses: 'sink', join: 'all' }]);
    const result = resultOf(s.run('p', { list: [0, 1, 2] }));
    const failed = s.of('odd')[1]!.text;
    expect(result).toEqual({
      results: [0, { error: 'odd', status: 'failed', job_id: failed }, 2],
      succeeded: 2,
      failed: 1,
    });
  });

  it('with `collect: counts` gets no results', () => {
    const s = stage([fanOut, { uses: 'sink', join: 'all', collect: 'counts' }]);
    expect(resultOf(s.run('p', { list: [0, 1, 2] }))).toEqual({ succeeded: 2, failed: 1 });
  });

  it('does not run when an element fails whose step says fail; what was created finishes', () => {
    const s = stage([
      { id: 'a', uses: 'odd', foreach: 'payload.list' },
      { uses: 'sink', join: 'all' },
    ]);
    const id = s.start('p', { list: [1, 2, 3] });
    s.work(1);
    expect(s.jobs.get(id)!.status).toBe('running');
    s.finish();
    const run = s.jobs.get(id)!;
    expect([run.status, s.of('sink').length, s.leftovers()]).toEqual(['failed', 0, 0]);
    expect(errorOf(run)).toBe(`step "a": odd.handle failed (${s.of('odd')[0]!.text}): odd`);
  });

  it('is the child of the job before the fork, with that job as its cause', () => {
    const s = stage([{ uses: 'echo' }, { uses: 'double', foreach: 'payload.list' }, { uses: 'sink', join: 'all' }]);
    s.run('p', { list: [1] });
    expect(s.of('sink')[0]!.group.parent).toEqual(s.of('echo')[0]!.id);
  });

  it('has the context of the fork, then that of the branches, and the first writer wins', () => {
    const s = stage([
      { uses: 'echo', baggage: { x: 'payload.x' } },
      {
        split: {
          a: [{ uses: 'echo', baggage: { x: 'payload.y', 'in.a': 'payload.y' } }],
          b: [{ uses: 'echo', baggage: { 'in.a': 'payload.x', 'in.b': 'payload.x' } }],
        },
      },
      { uses: 'sink', join: 'all' },
    ]);
    s.run('p', { x: 1, y: 2 });
    expect(contextOf(s.of('sink')[0]!)).toEqual({ x: 1, in: { a: 2, b: 1 } });
  });

  it.each([
    ['no step before it has set them', [], { name: 'Ada' }],
    ['the fork had the key', [{ uses: 'echo', baggage: { customer: 'payload.fork' } }], { name: 'Fork' }],
  ])('does not mix the insides of baggage: %s', (_, before, customer) => {
    const s = stage([
      ...before,
      { uses: 'text', foreach: 'payload.list', baggage: { customer: 'payload.item' } },
      { uses: 'sink', join: 'all' },
    ]);
    s.run('p', { fork: { name: 'Fork' }, list: [{ name: 'Ada' }, { name: 'Bob', vip: true }] });
    expect(contextOf(s.of('sink')[0]!)).toEqual({ customer });
  });

  it('takes a value under a dotted name whole, from the first branch that has it', () => {
    const s = stage([
      { uses: 'text', foreach: 'payload.list', baggage: { 'of.last.item': 'payload.item' } },
      { uses: 'sink', join: 'all' },
    ]);
    s.run('p', { list: [{ name: 'Ada' }, { name: 'Bob', vip: true }] });
    expect(contextOf(s.of('sink')[0]!)).toEqual({ of: { last: { item: { name: 'Ada' } } } });
  });

  it.each([
    ['kept for a join once for each key that a step sets', [{ uses: 'sink', join: 'all', collect: 'counts' }]],
    ['not kept where nothing is joined', []],
  ])('has baggage that does not grow with the number of elements: %s', (_, more) => {
    const s = stage([
      { uses: 'fail', foreach: 'payload.list', on_error: 'continue', baggage: { of: 'payload.item' } },
      ...more,
    ]);
    const list = Array.from({ length: 1000 }, (_, n) => ({ [`some-key-${n}`]: 'x'.repeat(100) }));
    const id = s.start('p', { list });
    s.work(999);
    expect(s.jobs.get(id)!.status).toBe('running');
    const records = [...s.store.scan('runs', {})].reduce((sum, { value }) => sum + value.length, 0);
    expect(records).toBeLessThan(10_000);
    s.finish();
  });

  it('of one chain goes on behind its last job', () => {
    const s = stage([{ uses: 'echo' }, { uses: 'sink', join: 'all' }]);
    expect(resultOf(s.run('p', { x: 1 }))).toEqual({ results: [{ x: 1 }], succeeded: 1, failed: 0 });
    expect(s.of('sink')[0]!.group.parent).toEqual(s.of('echo')[0]!.id);
  });

  it('may itself fan out', () => {
    const s = stage([
      { uses: 'double', foreach: 'payload.list' },
      { uses: 'double', join: 'all', foreach: 'payload.results' },
      { uses: 'sink', join: 'all' },
    ]);
    expect(resultOf(s.run('p', { list: [1, 2] }))).toEqual({ results: [4, 8], succeeded: 2, failed: 0 });
  });

  it('of more than 64 MiB of results fails the run and says so', () => {
    const big = 'x'.repeat(20 * 2 ** 20);
    const s = new Stage({
      plugins: { ...plugins, big: () => ({ result: big }) },
      pipelines: [
        {
          name: 'p',
          steps: [
            { uses: 'big', foreach: 'payload.list' },
            { id: 'j', uses: 'sink', join: 'all' },
          ],
        },
        { name: 'end', steps: [{ uses: 'big', foreach: 'payload.list' }] },
        {
          name: 'counts',
          steps: [
            { uses: 'big', foreach: 'payload.list' },
            { uses: 'sink', join: 'all', collect: 'counts' },
          ],
        },
      ],
    });
    const list = [1, 2, 3, 4];
    const run = s.run('p', { list });
    expect(run.status).toBe('failed');
    expect(errorOf(run)).toBe(
      'step "j": more than 64 MiB of results to join; with "collect: counts" the join gets only their counts',
    );
    expect(s.run('counts', { list }).status).toBe('succeeded');
    const end = s.run('end', { list });
    expect([end.status, resultOf(end)]).toEqual(['succeeded', null]);
    expect(Buffer.from(end.body!).toString()).toContain('the result is omitted');
    expect(s.leftovers()).toBe(0);
  });
});

describe('a split', () => {
  it('runs its branches in parallel, and the next step once per branch', () => {
    const s = stage([{ split: { a: { uses: 'echo' }, b: [{ uses: 'text' }, { uses: 'echo' }] } }, { uses: 'sink' }]);
    expect(resultOf(s.run('p', { x: 1 }))).toEqual([{ x: 1 }, { result: 'words' }]);
    expect(s.of('sink').length).toBe(2);
  });

  it('is joined in the order of its branches', () => {
    const s = stage([
      { split: [{ uses: 'text' }, [{ uses: 'fail', on_error: 'continue' }, { uses: 'echo' }], { uses: 'echo' }] },
      { uses: 'sink', join: 'all' },
    ]);
    expect(resultOf(s.run('p', { x: 1 }))).toMatchObject({
      results: ['words', { error: 'broken' }, { x: 1 }],
      succeeded: 2,
      failed: 1,
    });
  });

  it('hands its on_error to the steps inside it', () => {
    const s = stage([{ on_error: 'continue', split: [{ uses: 'fail' }, { uses: 'echo' }] }]);
    expect(s.run('p').status).toBe('succeeded');
  });
});
