// A paused pipeline: its runs create no further jobs, and end as usual once it is resumed.
import { describe, expect, it } from 'vitest';
import { unsettledMax } from '../../../../actors/pipeline/fanout/expansion.ts';
import { countRead } from '../../../support/count-read.ts';
import { plugins } from './cast.ts';
import { resultOf, Stage } from './stage.ts';

/** Bytes of a payload that is too large to be stored with a parked token. */
const large = 2 ** 20;
/** More events of a job than one turn takes. */
const eventsMany = 800;

const pipelines = [
  { name: 'chain', steps: [{ uses: 'echo' }, { uses: 'echo' }, { id: 'last', uses: 'sink' }] },
  { name: 'flood', steps: [{ uses: 'emit' }, { id: 'each', uses: 'sink' }] },
  {
    name: 'fan',
    steps: [
      { id: 'each', uses: 'echo', foreach: 'payload.list' },
      { id: 'all', uses: 'sink', join: 'all' },
    ],
  },
  { name: 'outer', steps: [{ uses: 'echo' }, { call: 'chain' }, { uses: 'sink' }] },
  { name: 'fails', steps: [{ split: [[{ uses: 'echo' }, { uses: 'sink' }], [{ uses: 'fail' }]] }] },
];

function stage(random?: () => number): Stage {
  return new Stage({ plugins, pipelines, ...(random && { random }) });
}

describe('a paused pipeline', () => {
  it('makes no job, asks for no turn, and lasts over a restart', () => {
    const s = stage();
    const id = s.start('chain', { n: 1 });
    s.paused.add('chain');
    s.finish();
    expect([s.created.length, s.jobs.get(id)!.status]).toEqual([1, 'running']);
    const fresh = s.start('chain', { n: 2 });
    s.finish();
    expect(s.created.length).toBe(1);
    s.restart();
    for (let turn = 0; turn < 3; turn++) s.turn();
    expect([s.created.length, s.isBusy]).toEqual([1, false]);
    s.resume('chain');
    s.finish();
    expect([id, fresh].map(run => resultOf(s.jobs.get(run)!))).toEqual([{ n: 1 }, { n: 2 }]);
    expect(s.leftovers()).toBe(0);
  });

  it('holds what a step carries, however much that is', () => {
    const s = stage();
    s.paused.add('chain');
    const id = s.start('chain', { more: 'x'.repeat(large) });
    s.finish();
    expect(s.created.length).toBe(0);
    s.resume('chain');
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ more: 'x'.repeat(large) });
  });

  it('takes no more elements of a fan-out, and no more events of a flood', () => {
    const s = stage();
    const count = unsettledMax + 1000;
    const fan = s.start('fan', { list: Array.from({ length: count }, (_, n) => n) });
    const flood = s.start('flood', {
      events: Array.from({ length: eventsMany }, (_, n) => ({ type: 'any', payload: { n } })),
    });
    while (s.isBusy && s.of('echo').length < unsettledMax / 2) s.turn();
    s.paused.add('fan').add('flood');
    const made = s.of('echo').length;
    s.finish();
    expect([s.of('echo').length, s.of('sink').length]).toEqual([made, 0]);
    s.restart();
    s.turn();
    expect(s.isBusy).toBe(false);
    s.resume('fan');
    s.resume('flood');
    s.finish();
    expect(resultOf(s.jobs.get(flood)!)).toHaveLength(eventsMany);
    expect([s.of('echo').length, s.jobs.get(fan)!.status]).toEqual([count, 'succeeded']);
    expect(s.leftovers()).toBe(0);
  });

  it('holds its runs wherever they were called from, and no others', () => {
    const s = stage();
    s.paused.add('chain');
    const id = s.start('outer', { n: 3 });
    s.finish();
    expect(s.of('pipeline').map(({ command }) => command)).toEqual(['outer', 'chain']);
    s.paused.add('outer');
    s.resume('chain');
    s.finish();
    expect(s.of('pipeline').map(({ status }) => status)).toEqual(['running', 'succeeded']);
    s.resume('outer');
    s.finish();
    expect(resultOf(s.jobs.get(id)!)).toEqual({ n: 3 });
  });

  it('examines few of its runs in a turn without time, and none when another pause ends', () => {
    const s = new Stage({ plugins, pipelines, isSpent: () => true });
    s.paused.add('chain');
    const ids = Array.from({ length: 300 }, (_, n) => s.start('chain', { n }));
    while (s.isBusy) s.turn();
    s.restart();
    const read = countRead(s.store, 'runs');
    s.turn();
    expect(read()).toBe(1);
    while (s.isBusy) s.turn();
    expect(read()).toBe(299);
    const jobs = s.created.length;
    for (const [name, kind] of [
      ['echo', 'plugin'],
      ['fan', 'pipeline'],
    ] as const) {
      s.resume(name, kind);
      expect(s.isBusy).toBe(false);
    }
    s.resume('', 'system');
    expect([s.isBusy, s.created.length]).toEqual([true, jobs]);
    s.resume('chain');
    s.finish();
    expect(ids.map(id => resultOf(s.jobs.get(id)!))).toEqual(ids.map((_, n) => ({ n })));
    expect(s.leftovers()).toBe(0);
  });

  it('lets a run fail that holds something', () => {
    const s = stage();
    const id = s.start('fails', { n: 1 });
    s.paused.add('fails');
    s.finish();
    expect(s.jobs.get(id)!.status).toBe('failed');
    s.resume('fails');
    s.finish();
    expect(s.leftovers()).toBe(0);
  });

  it.each([1, 2, 3, 4])('whenever it is paused and resumed, runs end as they do without (%d)', seed => {
    let state = seed;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const payload = {
      n: 1,
      list: [1, 2, 3, 4, 5],
      events: [
        { type: 'a', payload: { a: 1 } },
        { type: 'b', payload: {} },
      ],
    };
    const calm = stage();
    const s = stage(random);
    const names = ['chain', 'fan', 'outer', 'flood'];
    const runs = names.map(name => [s.start(name, payload), resultOf(calm.run(name, payload))] as const);
    for (let move = 0; move < 200; move++) {
      const name = names[Math.floor(random() * names.length)]!;
      if (random() < 0.4) s.paused.add(name);
      else s.resume(name);
      if (random() < 0.2) s.restart();
      if (random() < 0.5) s.work(1);
      else s.turn();
    }
    for (const name of names) s.resume(name);
    s.turn();
    s.finish();
    for (const [id, result] of runs) expect(resultOf(s.jobs.get(id)!)).toEqual(result);
    expect(s.leftovers()).toBe(0);
  });
});
