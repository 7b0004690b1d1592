// Large gathered results are stored as values in parts, which refer to the single results. All readers see the same as with whole values.
import { describe, expect, it } from 'vitest';
import { besideAt, withEntries } from '../../../../actors/pipeline/join/join-payload.ts';
import { pack } from '../../../../runtime/packing.ts';
import { encodeParted, isParted, sectionsOf } from '../../../../runtime/parted.ts';
import { plugins } from './cast.ts';
import { errorOf, type Job, payloadOf, resultOf, Stage } from './stage.ts';

const fan = { id: 'fan', uses: 'echo', foreach: 'payload.list', with: { list: '{payload.item}' } };
const joined = { uses: 'sink', join: 'all' };
const list = ['a', { b: 1 }, 'c'.repeat(10_000), 4, [5]];

/** The steps after a fan-out, by the case that they test. */
const cases: { readonly [name: string]: readonly object[] } = {
  'a join': [joined],
  'a join with more entries': [{ ...joined, with: { more: 1, text: 'all of {payload.succeeded}' } }],
  'a join whose results are replaced': [{ ...joined, with: { results: 1, succeeded: '{payload.results.0}' } }],
  'a join that copies its results': [{ ...joined, with: { copy: '{payload.results}' } }],
  'a join that renders its results': [{ ...joined, with: { text: 'all: {payload.results}' } }],
  'a condition on what is beside the results': [{ ...joined, if: { path: 'payload.succeeded', op: 'gt', value: 9 } }],
  'a condition on a result': [{ ...joined, if: { path: 'payload.results.3.list', op: 'eq', value: 4 } }],
  'a fan-out of the results': [{ uses: 'sink', join: 'all', foreach: 'payload.results' }, joined],
  'branches that share them': [{ join: 'all', split: [[{ uses: 'sink' }], [{ uses: 'echo' }]] }],
  'a join of joins': [{ join: 'all', split: [[{ uses: 'sink' }], [{ uses: 'echo' }]] }, joined],
  'the end of a run': [],
  'a call': [{ call: 'called', join: 'all' }, { uses: 'sink' }],
  'a call whose result is a list': [{ call: 'listing', join: 'all' }, { uses: 'sink' }],
  'many calls': [{ call: 'called', join: 'all', foreach: 'payload.results' }, joined],
  'baggage of them': [{ ...joined, baggage: { kept: 'payload.results.0' } }],
};

function stageOf(steps: readonly object[], partedBytesMin: number, isSpent = () => false): Stage {
  return new Stage({
    plugins,
    partedBytesMin,
    isSpent,
    pipelines: [
      { name: 'p', steps: [fan, ...steps] },
      { name: 'called', steps: [{ uses: 'echo' }] },
      { name: 'listing', steps: [{ uses: 'echo', foreach: 'payload.results' }] },
    ],
  });
}

const shown = (job: Job) => [job.plugin, job.status, payloadOf(job), resultOf(job), errorOf(job)];
/** Sorted, because parked tokens change the order of jobs. */
const inOrder = (stage: Stage) => [...stage.jobs.values()].map(job => JSON.stringify(shown(job))).sort();

describe.each(Object.entries(cases))('%s', (_, steps) => {
  it('gives the same in parts as put together', () => {
    const [whole, parted] = [stageOf(steps, 2 ** 30), stageOf(steps, 0)];
    for (const stage of [whole, parted]) expect(stage.run('p', { list }).status).toBe('succeeded');
    expect(inOrder(parted)).toEqual(inOrder(whole));
    expect(whole.store.count('arrivals')).toBe(0);
  });

  it('gives the same where each evaluation takes many turns', () => {
    const [whole, slow] = [stageOf(steps, 2 ** 30), stageOf(steps, 0, () => true)];
    for (const stage of [whole, slow]) expect(stage.run('p', { list }).status).toBe('succeeded');
    expect(inOrder(slow)).toEqual(inOrder(whole));
    expect(slow.turns).toBeGreaterThan(whole.turns);
  });
});

it('writes no copy of what is joined: the job that gets it names it', () => {
  const stage = stageOf([joined], 5_000);
  stage.run('p', { list });
  const [sink] = stage.of('sink');
  expect([isParted(sink!.payload), sink!.payload.length < 500]).toEqual([true, true]);
  expect(payloadOf(sink!)).toMatchObject({ results: list.map(each => ({ list: each })), succeeded: 5, failed: 0 });
  stage.run('p', { list: ['small'] });
  expect(isParted(stage.of('sink')[1]!.payload)).toBe(false);
});

it('copies a small element of a list in parts, and names a large one, where each job gets a large value too', () => {
  const each = {
    uses: 'sink',
    join: 'all',
    foreach: 'payload.results',
    with: { n: '{payload.index}', all: '{payload.results}' },
  };
  const stage = stageOf([each], 5_000);
  const items = ['small', 'c'.repeat(10_000)];
  stage.run('p', { list: items });
  const sinks = stage.of('sink');
  const all = items.map((item, index) => ({ item, index, list: item }));
  expect(sinks.map(payloadOf)).toEqual(all.map((item, index) => ({ item, index, n: index, all })));
  // Where the parts of the payload are: all in the parts of this job, or also in those of the joined results.
  const places = sinks.map(
    ({ payload }) => new Set(sectionsOf(payload).map(each => 'base' in each && each.base.toString())),
  );
  expect(places.map(({ size }) => size)).toEqual([1, 2]);
});

it('finds what is named after a restart in between, with arrivals of several turns', () => {
  const stage = stageOf([joined, { uses: 'echo', foreach: 'payload.results' }], 0);
  const id = stage.start('p', { list });
  while (stage.isBusy) {
    stage.restart();
    stage.work(1);
  }
  expect(stage.jobs.get(id)!.status).toBe('succeeded');
  expect(resultOf(stage.jobs.get(id)!)).toHaveLength(5);
});

describe('a large result of a job', () => {
  const pipeline = [{ uses: 'echo' }, { uses: 'sink', with: { more: 1 } }];

  it('goes on in the turn after the one that writes it, also after a restart', () => {
    for (const restarts of [false, true]) {
      const stage = stageOf(pipeline, 2 ** 30);
      stage.reconfigure({ partedBytesMin: 100, pipelines: [{ name: 'p', steps: pipeline }] });
      stage.restart();
      const id = stage.start('p', { text: 'x'.repeat(1_000) });
      stage.turn();
      stage.work();
      expect([stage.of('echo').length, stage.of('sink').length, stage.store.count('lists')]).toEqual([1, 0, 1]);
      const [record] = stage.store.scan('lists', {});
      expect(record!.value.length).toBeLessThan(300);
      if (restarts) {
        stage.restart();
        stage.turn(() => {});
      }
      stage.finish();
      expect(resultOf(stage.jobs.get(id)!)).toEqual({ text: 'x'.repeat(1_000), more: 1 });
      expect(stage.leftovers()).toBe(0);
    }
  });
});

it('takes a value in parts that begins with less than the payload of a join for another value', () => {
  const list = encodeParted([Buffer.alloc(0), pack([1])]);
  expect(besideAt(list, 'succeeded')).toBe(null);
  expect(withEntries(list, [pack('index')], [pack(1)])).toBe(null);
});
