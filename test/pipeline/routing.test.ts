// What pipelines do, one construct after another.
import { describe, expect, it } from 'vitest';
import type { Json } from '../../runtime/packing.ts';
import { contextOf, errorOf, type Job, type Plugins, payloadOf, resultOf, Stage } from './stage.ts';

const plugins: Plugins = {
  echo: payload => ({ result: payload }),
  text: () => ({ result: 'words' }),
  double: (payload: { item: number }) => ({ result: payload.item * 2 }),
  emit: (payload: { events: never }) => ({ events: payload.events, result: 'emitted' }),
  odd: (payload: { item?: number }) =>
    (payload.item ?? 0) % 2 === 1 ? { error: 'odd' } : { result: payload.item ?? null },
  fail: () => ({ error: 'broken' }),
  late: () => ({ error: 'slow', status: 'timed_out' }),
  sink: payload => ({ result: payload }),
};

function stage(steps: unknown[], more: object = {}): Stage {
  return new Stage({ plugins, pipelines: [{ name: 'p', steps, ...more }] });
}
const payloads = (jobs: readonly Job[]): Json[] => jobs.map(payloadOf);

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

describe('a foreach', () => {
  it('makes one job per element, with item, index and what `with` names', () => {
    const s = stage([{ uses: 'echo', foreach: 'payload.list', with: { root: '{payload.root}' } }]);
    const run = s.run('p', { list: ['a', { b: 1 }], root: '/r', more: 1 });
    expect(payloads(s.of('echo'))).toEqual([
      { item: 'a', index: 0, root: '/r' },
      { item: { b: 1 }, index: 1, root: '/r' },
    ]);
    expect(resultOf(run)).toEqual(payloads(s.of('echo')));
    expect(s.messages.filter(message => message.kind === 'create').length).toBe(1);
  });

  it('gives each element its own `with` and baggage where these refer to it', () => {
    const s = stage([
      {
        uses: 'text',
        foreach: 'payload.list',
        with: { name: '{payload.item.n}!', root: '{payload.root}' },
        baggage: { pkg: 'payload.item.n' },
      },
      { uses: 'sink' },
    ]);
    s.run('p', { list: [{ n: 'a' }, { n: 'b' }, {}, { n: 'c' }], root: 1 });
    expect(payloads(s.of('text'))).toMatchObject([
      { name: 'a!', root: 1 },
      { name: 'b!' },
      { item: {}, index: 2 },
      { name: 'c!' },
    ]);
    expect(s.of('text').map(job => job.status)).toEqual(['succeeded', 'succeeded', 'failed', 'succeeded']);
    expect(s.of('text').map(contextOf)).toEqual([{ pkg: 'a' }, { pkg: 'b' }, {}, { pkg: 'c' }]);
  });

  it('lets `with` name item or index itself', () => {
    const s = stage([{ uses: 'echo', foreach: 'payload.list', with: { item: 'x' } }]);
    expect(resultOf(s.run('p', { list: [5] }))).toEqual({ item: 'x', index: 0 });
  });

  it('over an empty list makes nothing, and the join behind it runs', () => {
    const s = stage([
      { uses: 'echo', foreach: 'payload.list' },
      { uses: 'sink', join: 'all' },
    ]);
    expect(resultOf(s.run('p', { list: [] }))).toEqual({ results: [], succeeded: 0, failed: 0 });
  });

  it.each([
    ['something missing', {}, 'step "a": foreach: payload.list is missing'],
    ['something that is no list', { list: {} }, 'step "a": foreach: payload.list is not a list'],
  ])('over %s fails the run, naming the path', (_, payload, message) => {
    const s = stage([{ id: 'a', uses: 'echo', foreach: 'payload.list', on_error: 'continue' }]);
    const run = s.run('p', payload);
    expect([run.status, errorOf(run), s.leftovers()]).toEqual(['failed', message, 0]);
  });

  it('is one run per element with a call', () => {
    const s = new Stage({
      plugins,
      pipelines: [
        {
          name: 'p',
          steps: [
            { call: 'q', foreach: 'payload.list' },
            { uses: 'sink', join: 'all' },
          ],
        },
        { name: 'q', steps: [{ uses: 'double' }] },
      ],
    });
    expect(resultOf(s.run('p', { list: [1, 2, 3] }))).toEqual({ results: [2, 4, 6], succeeded: 3, failed: 0 });
  });

  it('of many elements is expanded over turns, with a bounded number of unsettled jobs', () => {
    const s = stage([
      { uses: 'double', foreach: 'payload.list' },
      { uses: 'sink', join: 'all', collect: 'counts' },
    ]);
    const id = s.start('p', { list: Array.from({ length: 40_000 }, (_, i) => i) });
    expect(s.waiting.length).toBe(4096);
    let most = 0;
    for (let turn = 0; turn < 20; turn++) {
      s.work(0);
      most = Math.max(most, s.waiting.length);
    }
    expect(most).toBe(16_384);
    s.restart();
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ succeeded: 40_000, failed: 0 });
    expect(Math.max(...s.messages.map(message => (message.kind === 'create' ? message.payloads.length : 0)))).toBe(
      1024,
    );
    expect(s.leftovers()).toBe(0);
  });
});

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
      'step "j": more than 64 MiB of results to join; with "collect: counts" a join keeps none',
    );
    expect(s.run('counts', { list }).status).toBe('succeeded');
    const end = s.run('end', { list });
    expect([end.status, resultOf(end)]).toEqual(['succeeded', null]);
    expect(Buffer.from(end.body!).toString()).toContain('the result is left out');
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

describe('a run', () => {
  it('whose condition is false succeeds without children, with the result null', () => {
    const s = stage([{ uses: 'echo' }], { if: { path: 'payload.n', op: 'gt', value: 1 } });
    const run = s.run('p', { n: 1 });
    expect([run.status, resultOf(run), s.jobs.size]).toEqual(['succeeded', null, 1]);
  });

  it('of an unknown pipeline is refused', () => {
    expect(stage([{ uses: 'echo' }]).start('q')).toBe('unknown_pipeline');
  });

  it('is told to the edge when it settles, if somebody watches', () => {
    const s = stage([{ uses: 'echo' }], { if: { path: 'payload.n', op: 'exists' } });
    const id = s.start('p', { n: 1 }, true);
    const other = s.start('p', { n: 1 }, true);
    s.turn([{ kind: 'unwatch', id: s.jobs.get(other)!.id }]);
    s.finish();
    expect(s.told).toEqual([{ kind: 'run_settled', id: s.jobs.get(id)!.id }]);
    s.start('p', {}, true);
    expect(s.told.length).toBe(2);
  });

  it('with `continue` goes on quietly without the chain that failed', () => {
    const s = stage([{ uses: 'late', on_error: 'continue' }, { uses: 'sink' }]);
    const run = s.run('p');
    expect([run.status, s.of('sink').length]).toEqual(['succeeded', 0]);
  });

  it('keeps the definition it began with through a reload, and the store forgets it afterwards', () => {
    const s = stage([{ uses: 'echo' }, { uses: 'sink' }]);
    const id = s.start('p', { x: 1 });
    s.reconfigure({ pipelines: [{ name: 'p', steps: [{ uses: 'text' }] }] });
    s.restart();
    expect(s.store.count('definitions')).toBe(1);
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ x: 1 });
    expect(s.of('sink').length).toBe(1);
    expect(s.store.count('definitions')).toBe(0);
    expect(resultOf(s.run('p'))).toBe('words');
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

describe('an emitted event', () => {
  const pipelines = [
    { name: 'p', on: 'found', steps: [{ uses: 'sink' }] },
    { name: 'q', on: 'found', steps: [{ uses: 'echo' }] },
  ];

  it('starts every pipeline whose `on` is its type, also from a direct call', () => {
    const s = new Stage({ plugins, pipelines });
    const job = s.submit('emit', { events: [{ type: 'found', payload: { a: 1 } }, { type: 'other' }] });
    s.finish();
    expect(s.of('pipeline').map(run => run.command)).toEqual(['p', 'q']);
    expect(s.of('pipeline')[0]!.group).toMatchObject({ parent: job.id, root: job.id, depth: 1 });
    expect(s.of('sink')[0]!.group).toMatchObject({ depth: 2, root: job.id, event: { type: 'found', source: 'emit' } });
    expect(payloadOf(s.of('sink')[0]!)).toEqual({ a: 1 });
  });

  it('of a job that failed starts nothing', () => {
    const s = new Stage({
      plugins: { ...plugins, bad: () => ({ error: 'x', events: [{ type: 'found' }] }) },
      pipelines,
    });
    s.submit('bad');
    s.finish();
    expect(s.of('pipeline')).toEqual([]);
  });

  it('starts a run that the outer one neither waits for nor fails with', () => {
    const s = new Stage({
      plugins,
      pipelines: [
        { name: 'o', steps: [{ uses: 'emit' }] },
        { name: 'p', on: 'found', steps: [{ uses: 'fail' }] },
      ],
    });
    const run = s.run('o', { events: [{ type: 'found' }] });
    expect([run.status, resultOf(run), s.of('pipeline')[1]!.status]).toEqual(['succeeded', 'emitted', 'failed']);
    expect(s.of('fail')[0]!.group.root).toEqual(run.id);
  });

  it('with a dedupe_key starts each target once in a day', () => {
    const s = new Stage({
      plugins,
      pipelines: [
        ...pipelines,
        {
          name: 'o',
          steps: [{ uses: 'emit' }, { id: 'b', uses: 'text' }, { uses: 'late', join: 'all', on_error: 'continue' }],
        },
      ],
    });
    const event = { type: 'found', dedupe_key: 'k' };
    s.submit('emit', { events: [event, event] });
    s.submit('emit', { events: [event] });
    s.finish();
    expect([s.of('sink').length, s.of('echo').length]).toEqual([1, 1]);
    const run = s.run('o', { events: [event, event] });
    expect(run.status).toBe('succeeded');
    expect(payloadOf(s.of('late')[0]!)).toEqual({ results: ['words'], succeeded: 1, failed: 0 });
    s.run('o', { events: [event] });
    expect([s.of('text').length, s.of('late').length]).toEqual([1, 2]);
    s.nowUs += 24 * 3600 * 1_000_000;
    s.submit('emit', { events: [event] });
    s.finish();
    expect(s.of('sink').length).toBe(2);
  });

  it('that goes round and round is stopped after 64 jobs, and the loop is named', () => {
    const s = new Stage({
      plugins: { ...plugins, spin: payload => ({ events: [{ type: 'again', payload }] }) },
      pipelines: [{ name: 'loop', on: 'again', steps: [{ uses: 'spin' }] }],
    });
    s.submit('spin', {});
    s.finish();
    expect(s.of('spin').length).toBe(65);
    const last = s.of('spin').at(-1)!;
    expect([last.status, errorOf(last)]).toEqual([
      'dead',
      'stopped after 64 jobs in one chain of events; the loop: spin.handle → pipeline.loop → spin.handle',
    ]);
    expect(s.of('pipeline').at(-1)!.status).toBe('failed');
  });
});

describe('a hook', () => {
  const pipelines = [
    { name: 'failed', on_hook: 'job.failed', steps: [{ uses: 'sink' }] },
    { name: 'completed', on_hook: 'job.completed', steps: [{ uses: 'text' }] },
    { name: 'p', steps: [{ uses: 'echo' }] },
  ];

  it('starts a pipeline when a job ends for good, with what happened', () => {
    const s = new Stage({ plugins, pipelines });
    const job = s.submit('fail');
    s.finish();
    expect(payloads(s.of('sink'))).toEqual([
      { job_id: job.text, plugin: 'fail', command: 'handle', status: 'failed', error: 'broken' },
    ]);
    expect(s.of('text')).toEqual([]);
  });

  it('is not started by jobs of a hooked run, nor by runs', () => {
    const s = new Stage({ plugins, pipelines });
    s.run('p', { x: 1 });
    expect(s.of('text').length).toBe(1);
    expect(s.of('text')[0]!.group.hooked).toBe(true);
  });

  it('of a time-out is its own, and a dead job counts as failed', () => {
    const s = new Stage({
      plugins: { ...plugins, dead: () => ({ error: 'x', status: 'dead' }) },
      pipelines: [...pipelines, { name: 't', on_hook: 'job.timed_out', steps: [{ uses: 'echo' }] }],
    });
    s.submit('late');
    s.submit('dead');
    s.finish();
    expect([s.of('echo').length, s.of('sink').length]).toEqual([1, 1]);
  });
});
