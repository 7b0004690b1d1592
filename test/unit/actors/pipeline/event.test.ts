// What starts pipelines besides calls: events and hooks.
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../runtime/packing.ts';
import { payloads, plugins } from './cast.ts';
import { errorOf, payloadOf, resultOf, Stage } from './stage.ts';

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

  it('has its dedupe_key forgotten after a day, whether or not other keys come', () => {
    const s = new Stage({ plugins, pipelines });
    s.submit('emit', { events: Array.from({ length: 200 }, (_, n) => ({ type: 'found', dedupe_key: `k${n}` })) });
    s.finish();
    expect(s.store.count('dedupe')).toBe(400);
    s.send({ kind: 'prune' });
    s.finish();
    expect(s.store.count('dedupe')).toBe(400);
    s.nowUs += 24 * 3600 * 1_000_000;
    s.send({ kind: 'prune' });
    s.finish();
    expect(s.store.count('dedupe')).toBe(0);
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

  it('that goes round through a phase is stopped after 64 jobs, too', () => {
    const again = { id: 'again', uses: 'spin', join: 'all' };
    const s = new Stage({
      plugins: { ...plugins, spin: () => ({ events: [{ type: 'again', payload: {} }] }) },
      pipelines: [
        {
          name: 'loop',
          on: 'again',
          steps: [{ uses: 'text' }],
          finally: [{ uses: 'sink', foreach: 'payload.failed' }, again],
        },
      ],
      keepsRecords: true,
    });
    s.start('loop');
    for (let turn = 0; s.isBusy && turn < 1000; turn++) s.work();
    expect(s.isBusy).toBe(false);
    expect(s.of('spin').map(({ group }) => group.depth)).toEqual(Array.from({ length: 64 }, (_, n) => n + 1));
    expect([s.of('text').length, s.of('text').at(-1)!.status]).toEqual([65, 'dead']);
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

  it.each<Json>(['words', { a: [1, 2] }, [1], 7])('hands on the result of the job as it is: %j', result => {
    const plugin = { gives: () => ({ result }), sink: plugins['sink']! };
    const s = new Stage({
      plugins: plugin,
      pipelines: [{ name: 'all', on_hook: 'job.completed', steps: [{ uses: 'sink' }] }],
    });
    const job = s.submit('gives');
    s.finish();
    expect(payloads(s.of('sink'))).toEqual([
      { job_id: job.text, plugin: 'gives', command: 'handle', status: 'succeeded', result },
    ]);
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

describe('a hook of runs', () => {
  const pipelines = [
    { name: 'well', on_hook: 'pipeline.completed', steps: [{ uses: 'sink' }] },
    { name: 'badly', on_hook: 'pipeline.failed', steps: [{ uses: 'text' }] },
    { name: 'never', on_hook: 'pipeline.timed_out', steps: [{ uses: 'late' }] },
    { name: 'good', steps: [{ uses: 'echo', foreach: 'payload.list' }] },
    { name: 'bad', steps: [{ uses: 'echo' }, { uses: 'fail' }] },
    {
      name: 'calls',
      steps: [
        { call: 'good', on_error: 'continue' },
        { call: 'bad', on_error: 'continue' },
      ],
    },
    { name: 'found', on: 'found', steps: [{ uses: 'double' }] },
  ];

  it('starts a pipeline when a run ends, with what became of it and its jobs', () => {
    const s = new Stage({ plugins, pipelines });
    const id = s.start('good', { list: [1, 2, 3] });
    s.finish();
    const counts = { succeeded: 3, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };
    expect(payloads(s.of('sink'))).toEqual([
      { job_id: id, pipeline: 'good', status: 'succeeded', counts, submitted_by: 'test' },
    ]);
    const [, hooked] = s.of('pipeline');
    const run = s.jobs.get(id)!;
    expect(hooked).toMatchObject({ command: 'well', group: { parent: run.id, root: run.id, hooked: true, depth: 0 } });
    expect(s.of('sink')[0]!.group.event).toMatchObject({ type: 'pipeline.completed', source: 'pipeline' });
  });

  it('of one that failed says why', () => {
    const s = new Stage({ plugins, pipelines });
    const id = s.start('bad', {});
    s.finish();
    expect(s.of('sink')).toEqual([]);
    expect(payloads(s.of('text'))).toEqual([
      {
        job_id: id,
        pipeline: 'bad',
        status: 'failed',
        error: errorOf(s.jobs.get(id)!),
        counts: { succeeded: 1, failed: 1, timed_out: 0, dead: 0, cancelled: 0 },
        submitted_by: 'test',
      },
    ]);
  });

  it('is in the turn in which the run settles', () => {
    const s = new Stage({ plugins, pipelines });
    const id = s.start('good', { list: [1] });
    s.work();
    expect(s.jobs.get(id)!.status).toBe('succeeded');
    s.restart();
    s.finish();
    expect(s.of('sink').length).toBe(1);
  });

  it('is of no run that a step called, that a hook started, or inside of these', () => {
    const s = new Stage({
      plugins,
      pipelines: [...pipelines, { name: 'mourn', on_hook: 'job.failed', steps: [{ call: 'good' }] }],
    });
    const id = s.start('calls', { list: [1] });
    s.finish();
    expect(payloads(s.of('sink'))).toMatchObject([{ job_id: id, pipeline: 'calls' }]);
    expect(s.of('text')).toEqual([]);
    expect(s.of('pipeline').filter(({ command }) => command === 'mourn').length).toBe(1);
  });

  it('is of a run that an event started, below the root of its tree', () => {
    const s = new Stage({ plugins, pipelines });
    const job = s.submit('emit', { events: [{ type: 'found', payload: { item: 1 } }] });
    s.finish();
    const told = s.of('pipeline').find(({ command }) => command === 'well')!;
    expect(told.group).toMatchObject({ root: job.id });
    expect(payloads(s.of('sink'))).toMatchObject([{ pipeline: 'found', submitted_by: 'test' }]);
  });

  it('is of a run whose own `if` was false, and obeys the `if` of its pipeline', () => {
    const one = { path: 'payload.pipeline', op: 'eq', value: 'one' };
    const s = new Stage({
      plugins,
      pipelines: [
        { name: 'one', if: { path: 'payload.x', op: 'eq', value: 1 }, steps: [{ uses: 'echo' }] },
        { name: 'two', steps: [{ uses: 'echo' }] },
        { name: 'well', on_hook: 'pipeline.completed', if: one, steps: [{ uses: 'sink' }] },
      ],
    });
    s.start('one', {});
    s.start('two', {});
    s.finish();
    expect(payloads(s.of('sink'))).toMatchObject([{ pipeline: 'one', status: 'succeeded' }]);
  });

  it('costs a descendant of the root: past its limit there is none', () => {
    const s = new Stage({ plugins, pipelines, jobsPerRootMax: 2 });
    const id = s.start('good', { list: [1] });
    const full = s.start('good', { list: [1, 2] });
    s.finish();
    expect(s.of('sink').map(({ status }) => status)).toEqual(['dead']);
    const hooks = s.of('pipeline').filter(({ command }) => command === 'well');
    expect(hooks.map(({ status, group }) => [status, group.parent])).toEqual([
      ['failed', s.jobs.get(id)!.id],
      ['dead', s.jobs.get(full)!.id],
    ]);
  });

  it('follows a reload', () => {
    const s = new Stage({ plugins, pipelines: pipelines.slice(3) });
    s.start('good', { list: [1] });
    s.finish();
    expect(s.of('sink')).toEqual([]);
    s.reconfigure({ pipelines });
    s.start('good', { list: [1] });
    s.finish();
    expect(s.of('sink').length).toBe(1);
  });
});
