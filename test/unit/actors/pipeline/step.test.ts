// What a step gets, when it starts, and what it hands on.
import { describe, expect, it } from 'vitest';
import { payloads, plugins, stage } from './cast.ts';
import { contextOf, errorOf, payloadOf, resultOf, Stage } from './stage.ts';

describe('a step', () => {
  it('gets the payload of the call, and the run gets its result', () => {
    const s = stage([{ id: 'a', uses: 'echo' }]);
    const run = s.run('p', { x: 1 });
    expect([run.status, resultOf(run)]).toEqual(['succeeded', { x: 1 }]);
    const [job] = s.of('echo');
    expect(job!.group).toMatchObject({ parent: run.id, root: run.id, depth: 1, pipeline: 'p', stepId: 'a' });
    expect(job!.group.event).toMatchObject({ type: 'api.trigger', source: 'api' });
    expect(s.leftovers()).toBe(0);
  });

  it('has an entry event of the type of `on`', () => {
    const s = stage([{ uses: 'echo' }], { on: 'a.b' });
    s.run('p');
    expect(s.of('echo')[0]!.group.event!.type).toBe('a.b');
  });

  it('gets the result of the step before it when that emitted nothing, a text as {result}', () => {
    const s = stage([{ uses: 'text' }, { uses: 'sink' }]);
    const run = s.run('p');
    const [job] = s.of('sink');
    expect(payloadOf(job!)).toEqual({ result: 'words' });
    expect(job!.group.event!.type).toBe('text.handle.result');
    expect(job!.group.parent).toEqual(s.of('text')[0]!.id);
    expect(job!.group.depth).toBe(2);
    expect(resultOf(run)).toEqual({ result: 'words' });
  });

  it('starts once for each event that the step before it emitted', () => {
    const s = stage([{ uses: 'emit' }, { uses: 'sink' }]);
    const run = s.run('p', {
      events: [
        { type: 'x', payload: { n: 1 } },
        { type: 'y', payload: { n: 2 } },
      ],
    });
    expect(payloads(s.of('sink'))).toEqual([{ n: 1 }, { n: 2 }]);
    expect(s.of('sink').map(job => job.group.event!.type)).toEqual(['x', 'y']);
    expect(resultOf(run)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('runs a command other than handle without an event', () => {
    const s = stage([{ uses: 'echo.poll' }]);
    s.run('p');
    expect(s.of('echo')[0]).toMatchObject({ command: 'poll', group: { event: null } });
  });

  it('is passed over when its condition is false, with what the chain carries', () => {
    const s = stage([
      { uses: 'echo', if: { path: 'payload.n', op: 'gt', value: 5 } },
      { uses: 'sink', if: { path: 'payload.n', op: 'lte', value: 5 } },
    ]);
    expect(resultOf(s.run('p', { n: 3 }))).toEqual({ n: 3 });
    expect([s.of('echo').length, s.of('sink').length]).toEqual([0, 1]);
  });

  it('has the config of its plugin in conditions', () => {
    const s = new Stage({
      plugins,
      configs: { echo: { on: true } },
      pipelines: [
        {
          name: 'p',
          steps: [
            { uses: 'echo', if: { path: 'config.on', op: 'eq', value: true } },
            { uses: 'sink', if: { path: 'config.on', op: 'eq', value: true } },
          ],
        },
      ],
    });
    s.run('p');
    expect([s.of('echo').length, s.of('sink').length]).toEqual([1, 0]);
  });

  it('lays `with` over the payload, and keeps the kind of a lone reference', () => {
    const s = stage([
      { uses: 'echo', with: { b: '{payload.a}', c: 'a={payload.a} {{x}}', d: [{ e: '{payload.list}' }] } },
    ]);
    expect(resultOf(s.run('p', { a: 1, b: 0, list: [1] }))).toEqual({
      a: 1,
      b: 1,
      c: 'a=1 {x}',
      d: [{ e: [1] }],
      list: [1],
    });
  });

  it('fails, naming the path, when a template finds nothing', () => {
    const s = stage([{ id: 'a', uses: 'echo', with: { b: '{payload.x.y}' } }]);
    const run = s.run('p');
    expect([run.status, s.of('echo')[0]!.status]).toEqual(['failed', 'failed']);
    expect(errorOf(s.of('echo')[0]!)).toBe('step "a": with: payload.x.y is missing');
    expect(errorOf(run)).toContain('payload.x.y is missing');
  });

  it('carries baggage on, and dotted targets nest', () => {
    const s = stage([
      { uses: 'text', baggage: { 'a.b': 'payload.x', 'a.c': 'payload.y' } },
      { uses: 'echo', with: { z: '{context.a.b}' } },
      { uses: 'sink' },
    ]);
    s.run('p', { x: 1, y: 2 });
    expect(['text', 'echo', 'sink'].map(name => contextOf(s.of(name)[0]!))).toEqual(
      Array(3).fill({ a: { b: 1, c: 2 } }),
    );
    expect(payloadOf(s.of('echo')[0]!)).toEqual({ result: 'words', z: 1 });
  });
});

describe('nested steps', () => {
  it('may have joins of their own, once for each chain that enters', () => {
    const s = stage([
      { uses: 'emit' },
      { steps: [{ uses: 'double', foreach: 'payload.list' }, { uses: 'echo', join: 'all' }, { uses: 'echo' }] },
      { uses: 'sink', join: 'all' },
    ]);
    const run = s.run('p', {
      events: [
        { type: 'x', payload: { list: [1, 2] } },
        { type: 'x', payload: { list: [] } },
        { type: 'x', payload: { list: [3] } },
      ],
    });
    expect(resultOf(run)).toEqual({
      results: [
        { results: [2, 4], succeeded: 2, failed: 0 },
        { results: [], succeeded: 0, failed: 0 },
        { results: [6], succeeded: 1, failed: 0 },
      ],
      succeeded: 3,
      failed: 0,
    });
    expect(s.leftovers()).toBe(0);
  });
});
