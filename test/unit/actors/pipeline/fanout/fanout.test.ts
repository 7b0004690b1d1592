// Fan-outs: one job per element, expanded a part at a time.
import { describe, expect, it } from 'vitest';
import { unsettledMax } from '../../../../../actors/pipeline/fanout/expansion.ts';
import { decodeRun } from '../../../../../actors/pipeline/records/run.ts';
import { bytesPerTurnMax } from '../../../../../actors/pipeline/run-table.ts';
import { payloads, plugins, stage } from '../cast.ts';
import { contextOf, errorOf, type Job, resultOf, Stage } from '../stage.ts';

describe('a foreach', () => {
  it('makes one job per element, with item, index and what `with` names', () => {
    const s = stage([{ uses: 'echo', foreach: 'payload.list', with: { root: '{payload.root}' } }]);
    const run = s.run('p', { list: ['a', { b: 1 }], root: '/r', more: 1 });
    expect(payloads(s.of('echo'))).toEqual([
      { item: 'a', index: 0, root: '/r' },
      { item: { b: 1 }, index: 1, root: '/r' },
    ]);
    expect(resultOf(run)).toEqual(payloads(s.of('echo')));
    expect(s.created.length).toBe(1);
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

  it('fails the run where the baggage of an element is too much', () => {
    const big = { n: 'x'.repeat(2 ** 20) };
    const steps = [{ id: 'a', uses: 'echo', foreach: 'payload.list', baggage: { n: 'payload.item.n' } }];
    for (const list of [[big], [{ n: 'a' }, big, { n: 'b' }]]) {
      const s = stage([...steps, { uses: 'sink', join: 'all' }]);
      const run = s.run('p', { list });
      expect([run.status, errorOf(run)]).toEqual(['failed', 'step "a": more than 1 MiB of baggage']);
      expect([s.of('sink'), s.leftovers()]).toEqual([[], 0]);
    }
  });

  it('lets `with` name item or index itself', () => {
    const s = stage([{ uses: 'echo', foreach: 'payload.list', with: { item: 'x' } }]);
    expect(resultOf(s.run('p', { list: [5] }))).toEqual([{ item: 'x', index: 0 }]);
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

  it('makes no more jobs once one of them has failed the run', () => {
    const s = stage([{ uses: 'fail', foreach: 'payload.list' }]);
    const id = s.start('p', { list: Array.from({ length: 5000 }, (_, i) => i) });
    const made = s.of('fail').length;
    s.work(1);
    s.finish();
    expect([s.of('fail').length, s.jobs.get(id)!.status, s.leftovers()]).toEqual([made, 'failed', 0]);
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
    expect(Math.max(...s.created.map(({ payloads: { length } }) => length))).toBe(1024);
    expect(s.leftovers()).toBe(0);
  });

  it('inside a foreach is held to the same number of unsettled jobs, also after a start and after a pause', () => {
    const s = stage([
      { uses: 'echo', foreach: 'payload.pages' },
      { uses: 'double', foreach: 'payload.item' },
      { uses: 'sink', join: 'all', collect: 'counts' },
    ]);
    const page = Array.from({ length: 1000 }, (_, i) => i);
    const id = s.start('p', { pages: Array.from({ length: 60 }, () => page) });
    let most = 0;
    const turn = (jobs: number) => {
      s.work(jobs);
      most = Math.max(most, s.waiting.length);
    };
    // The end of each job of the first step adds a fan-out.
    for (let n = 0; n < 60; n++) turn(1);
    expect(s.of('echo').every(({ status }) => status === 'succeeded')).toBe(true);
    s.restart();
    turn(0);
    s.paused.add('p');
    turn(0);
    s.resume('p');
    turn(0);
    expect(most).toBeGreaterThan(15_000);
    expect(most).toBeLessThanOrEqual(unsettledMax);
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ succeeded: 60_000, failed: 0 });
    expect(s.leftovers()).toBe(0);
  });
});

describe('a foreach inside a foreach', () => {
  it('is expanded before the outer list goes on: few lists are open at once', () => {
    const s = stage([
      { uses: 'echo', foreach: 'payload.list' },
      { uses: 'double', foreach: 'payload.item' },
      { uses: 'sink', join: 'all', collect: 'counts' },
    ]);
    const id = s.start('p', { list: Array.from({ length: 24_000 }, (_, n) => [n]) });
    const run = s.jobs.get(id)!;
    for (let turn = 0; turn < 4; turn++) s.turn();
    expect(s.waiting.length).toBe(unsettledMax);
    let most = 0;
    while (s.isBusy) {
      s.work();
      const record = s.store.get('runs', run.id);
      if (record) most = Math.max(most, decodeRun(record).fans.length);
    }
    expect(resultOf(run)).toEqual({ succeeded: 24_000, failed: 0 });
    expect(most).toBeGreaterThan(1000);
    expect(most).toBeLessThanOrEqual(17_000);
    expect(s.leftovers()).toBe(0);
  });
});

describe('what the children of a fan-out take', () => {
  const big = 'x'.repeat(900_000);
  const list = Array.from({ length: 40 }, (_, n) => n);
  const bytesOf = ({ payload, group }: Job) => payload.length + group.context.length;
  const rows: [string, unknown[]][] = [
    ['`with`', [{ uses: 'echo', foreach: 'payload.list', with: { big: '{payload.big}' } }]],
    [
      '`with` of each',
      [{ uses: 'echo', foreach: 'payload.list', with: { big: '{payload.big}', n: '{payload.index}' } }],
    ],
    [
      'baggage',
      [
        { uses: 'echo', baggage: { big: 'payload.big' } },
        { uses: 'odd', foreach: 'payload.list', baggage: { n: 'payload.index' } },
      ],
    ],
  ];

  it.each(rows)('is bounded in a turn: %s', (_, steps) => {
    const s = stage(steps);
    s.start('p', { list, big });
    const [plugin, before] = steps.length === 1 ? ['echo', 0] : ['odd', 1];
    if (before === 1) s.work(1);
    const made = s.of(plugin);
    expect(made.length).toBeLessThan(list.length);
    expect(made.reduce((sum, job) => sum + bytesOf(job), 0)).toBeLessThan(bytesPerTurnMax + 2 ** 20);
    while (s.of(plugin).length < list.length) s.turn();
    const turns = new Set(s.of(plugin).map(({ createdAt }) => createdAt)).size;
    expect(turns).toBeGreaterThanOrEqual(4);
    expect(turns).toBeLessThanOrEqual(5);
    s.finish();
    expect(s.leftovers()).toBe(0);
  });

  /** The maximum of the bytes that a turn created for jobs: their payloads, and their baggage once for each block. */
  function bytesMostInTurn(s: Stage): number {
    const bytes = new Map<number, number>();
    for (const job of s.jobs.values()) {
      const made = job.payload.length + (job.offset === 0 ? job.group.context.length : 0);
      bytes.set(job.createdAt, (bytes.get(job.createdAt) ?? 0) + made);
    }
    return Math.max(...bytes.values());
  }

  it.each([
    ['runs that are called', { call: 'q', foreach: 'payload.list' }, 'sink'],
    [
      'runs that are called, each with its own payload',
      { call: 'q', foreach: 'payload.list', with: { n: '{payload.item}' } },
      'sink',
    ],
    ['events', { uses: 'emit' }, 'sink'],
  ])('is bounded in a turn when each carries the baggage of its run: %s', (_, step, plugin) => {
    const p = { name: 'p', steps: [{ uses: 'echo', baggage: { big: 'payload.big' } }, step, { uses: 'sink' }] };
    const s = new Stage({ plugins, pipelines: [p, { name: 'q', steps: [{ uses: 'text' }] }] });
    const events = list.map(n => ({ type: 'found', payload: { n } }));
    const id = s.start('p', { list, big, events });
    s.finish();
    expect(s.jobs.get(id)!.status).toBe('succeeded');
    expect(s.of(plugin).length).toBe(list.length);
    // A called run and its first job each have a copy of the baggage.
    expect(bytesMostInTurn(s)).toBeLessThan(2 * bytesPerTurnMax + 2 * 2 ** 20);
    expect(s.leftovers()).toBe(0);
  });
});
