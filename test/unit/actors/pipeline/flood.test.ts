// A job that emits very many events: taken some at a time, over turns and restarts, each of them once.
import { expect, it } from 'vitest';
import { eventsPerTurnMax } from '../../../../actors/pipeline/events/deferred-events.ts';
import { formatId, parseId } from '../../../../runtime/ids.ts';
import { pack, unpack } from '../../../../runtime/packing.ts';
import { countRead } from '../../../support/count-read.ts';
import { payloads, plugins } from './cast.ts';
import { resultOf, Stage } from './stage.ts';

const flood = Array.from({ length: 2000 }, (_, n) => ({ type: 'found', payload: { n } }));
const pipelines = [
  { name: 'outer', steps: [{ uses: 'emit' }, { uses: 'echo' }, { uses: 'sink', join: 'all', collect: 'counts' }] },
  { name: 'each', on: 'found', steps: [{ uses: 'text' }] },
];

it('starts a bounded number of runs in one turn, and in the end one for every event', () => {
  const s = new Stage({ plugins, pipelines });
  s.submit('emit', { events: flood });
  s.work(1);
  expect(s.of('pipeline').length).toBe(0);
  s.turn();
  expect(s.of('pipeline').length).toBe(eventsPerTurnMax);
  s.finish();
  expect(s.of('pipeline').length).toBe(2000);
  expect(s.leftovers()).toBe(0);
});

it('goes on as one chain for each event, in their order, and comes together once', () => {
  const s = new Stage({ plugins, pipelines });
  const run = s.run('outer', { events: flood });
  expect(payloads(s.of('echo'))).toEqual(flood.map(({ payload }) => payload));
  expect(resultOf(run)).toEqual({ succeeded: 2000, failed: 0 });
});

it('is taken up where it was after a restart, with no event lost or doubled', () => {
  const s = new Stage({ plugins, pipelines });
  const id = s.start('outer', { events: flood });
  for (let turn = 0; s.waiting.length > 0 && turn < 100; turn++) {
    s.work(300);
    s.restart();
    s.turn();
  }
  s.finish();
  expect(payloads(s.of('echo'))).toEqual(flood.map(({ payload }) => payload));
  expect(s.of('text').length).toBe(2000);
  expect(resultOf(s.jobs.get(id)!)).toEqual({ succeeded: 2000, failed: 0 });
  expect(s.leftovers()).toBe(0);
});

it('leaves out events whose dedupe key was seen', () => {
  const s = new Stage({ plugins, pipelines });
  const events = flood.map((event, n) => ({ ...event, dedupe_key: `k${n % 1000}` }));
  const run = s.run('outer', { events });
  expect(resultOf(run)).toEqual({ succeeded: 1000, failed: 0 });
  expect(s.of('text').length).toBe(1000);
});

it('writes nothing in a turn whose events nobody waits for; after a restart they are taken again, and no other', () => {
  const s = new Stage({ plugins, pipelines });
  const awaited = [0, eventsPerTurnMax, 4 * eventsPerTurnMax - 1];
  const events = Array.from({ length: 5 * eventsPerTurnMax }, (_, n) => ({
    type: awaited.includes(n) ? 'found' : 'said',
  }));
  const turn = () => {
    s.turn();
    return [s.of('pipeline').length, s.written > 0];
  };
  s.submit('emit', { events });
  s.work(1);
  expect(turn()).toEqual([1, true]);
  expect([turn(), turn()]).toEqual([
    [2, true],
    [2, false],
  ]);
  s.restart();
  expect([turn(), turn()]).toEqual([
    [2, false],
    [3, true],
  ]);
  s.finish();
  expect(s.of('pipeline').length).toBe(3);
  expect(s.leftovers()).toBe(0);
});

it('is known as the fork before any of its events is taken', () => {
  const steps = [{ uses: 'emit' }, { uses: 'echo' }, { uses: 'sink', join: 'all', collect: 'counts' }];
  const s = new Stage({ plugins, pipelines: [{ name: 'nested', steps: [{ steps }] }] });
  for (let run = 0; run < 2; run++) s.start('nested', { events: flood });
  s.work();
  s.restart();
  s.turn();
  s.finish();
  expect(s.of('sink').map(job => formatId(job.group.parent!))).toEqual(s.of('emit').map(job => job.text));
});

it('ends runs that wait for their own floods, however many are open, and starts no more while they are', () => {
  const events = flood.slice(0, 300);
  const inner = { name: 'inner', steps: [{ uses: 'emit' }] };
  const caller = { name: 'caller', steps: [{ call: 'inner' }] };
  const openRunsMax = 4;
  for (const pipeline of ['inner', 'caller']) {
    const s = new Stage({ plugins, pipelines: [inner, caller, pipelines[1]], openRunsMax });
    const ids = Array.from({ length: 2 * openRunsMax }, () => s.start(pipeline, { events }));
    s.work();
    expect(s.of('text').length).toBe(0);
    s.restart();
    s.turn();
    s.finish();
    expect(ids.map(id => s.jobs.get(id)!.status)).toEqual(ids.map(() => 'succeeded'));
    expect(s.of('text').length).toBe(ids.length * 300);
    expect(s.leftovers()).toBe(0);
  }
});

it('is read once as long as it does not take too much memory; else it is read again when its turn comes', () => {
  for (const [large, isReadAgain] of [
    ['x', false],
    ['x'.repeat(33 * 2 ** 20), true],
  ] as const) {
    const [first, ...others] = flood.slice(0, 300);
    const emit = () => ({ events: [{ ...first, payload: { n: large } }, ...others] as never });
    const s = new Stage({ plugins: { ...plugins, emit }, pipelines, openRunsMax: 100 });
    for (let n = 0; n < 3; n++) s.submit('emit');
    s.finish();
    expect(s.of('text').length).toBe(900);
    expect(s.bodiesRead > 3).toBe(isReadAgain);
    expect(s.leftovers()).toBe(0);
  }
});

it('is not read by the first turn after a start, while it has to wait', () => {
  const s = new Stage({ plugins, pipelines, openRunsMax: 1 });
  for (let n = 0; n < 300; n++) s.submit('emit', { events: flood.slice(0, 1) });
  s.work();
  expect(s.openRuns).toBe(1);
  s.restart();
  const read = countRead(s.store, 'emissions');
  s.turn();
  expect(read()).toBe(0);
  s.finish();
  expect(s.of('text').length).toBe(300);
  expect(s.leftovers()).toBe(0);
});

it('of a run goes on where an earlier version left it: as one fan-out', () => {
  const s = new Stage({ plugins, pipelines: pipelines.slice(0, 1) });
  const id = s.start('outer', { events: flood });
  s.work(1);
  const [{ run, node, scope, path }, job] = [s.of('emit')[0]!.group.run!, s.of('emit')[0]!];
  const batch = s.store.batch();
  for (const key of [...s.store.keys('lists', {})]) batch.remove('lists', Buffer.from(key));
  const stored = unpack<unknown[]>(s.store.get('runs', run)!);
  batch.put('runs', run, pack(stored.with(10, [])));
  const place = { run, scope, node: node - 1, path };
  const { submittedBy, root, depth, context, hooked } = job.group;
  const origin = { job: parseId(job.text)!, plugin: 'emit', submittedBy, root, depth, context, hooked, place };
  const key = Buffer.concat([origin.job, Buffer.of(1)]);
  batch.put('emissions', key, pack(origin));
  batch.put('emissions', Buffer.concat([key, Buffer.of(0)]), pack({ index: 0, at: 3 }));
  s.store.commit(batch);
  s.restart();
  s.turn();
  s.finish();
  expect(payloads(s.of('echo'))).toEqual(flood.map(({ payload }) => payload));
  expect(resultOf(s.jobs.get(id)!)).toEqual({ succeeded: 2000, failed: 0 });
  expect(s.leftovers()).toBe(0);
});

it('each token that reaches the end of the run has the result of the job, not its events', () => {
  const emit = {
    ...plugins,
    emit: (payload: { events: never }) => ({ events: payload.events, result: { emitted: 1 } }),
  };
  const s = new Stage({ plugins: emit, pipelines: [{ name: 'p', steps: [{ uses: 'emit' }] }] });
  expect(resultOf(s.run('p', { events: flood.slice(0, 300) }))).toEqual(
    flood.slice(0, 300).map(() => ({ emitted: 1 })),
  );
});
