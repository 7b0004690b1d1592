// Evaluations on large data take several turns, and their results are written in parts in these turns.
import { describe, expect, it } from 'vitest';
import { stepBytesMax } from '../../../../../actors/pipeline/expressions/evaluations.ts';
import { bytesPerTurnMax } from '../../../../../actors/pipeline/run-table.ts';
import { type Json, pack } from '../../../../../runtime/packing.ts';
import { isParted } from '../../../../../runtime/parted.ts';
import { largestCommit, plugins } from '../cast.ts';
import { errorOf, payloadOf, resultOf, Stage, type StageOptions } from '../stage.ts';

const numbers = Array.from({ length: 100_000 }, (_, n) => n);

function stageOf(steps: readonly object[], more: Partial<StageOptions> = {}): Stage {
  return new Stage({ plugins, pipelines: [{ name: 'p', steps }], isSpent: () => true, ...more });
}

const evaluations: { readonly [name: string]: readonly [step: object, payload: Json] } = {
  'a text of a list': [{ with: { text: 'all: {payload.list}' } }, { text: `all: ${JSON.stringify(numbers)}` }],
  'a reference behind a list': [{ with: { copy: '{payload.last}' } }, { copy: 1 }],
  'a list with a reference': [{ with: { copy: ['{payload.list}'] } }, { copy: [numbers] }],
  'a condition on each element': [{ if: { not: { path: 'payload.list', op: 'contains', value: -1 } } }, {}],
  'a condition behind a list': [{ if: { path: 'payload.last', op: 'eq', value: 1 } }, {}],
};

describe.each(Object.entries(evaluations))('%s', (_, [step, added]) => {
  const payload = { list: numbers, last: 1 };

  it('takes no more than a step of each turn that is spent', () => {
    const stage = stageOf([{ uses: 'sink', ...step }]);
    const before = stage.turns;
    const run = stage.run('p', payload);
    expect(stage.turns - before).toBeGreaterThan(pack(numbers).length / stepBytesMax / 2);
    expect(resultOf(run)).toEqual({ ...payload, ...(added as object) });
    expect(stage.leftovers()).toBe(0);
  });

  it('begins again after a restart in between', () => {
    const stage = stageOf([{ uses: 'sink', ...step }]);
    const id = stage.start('p', payload);
    for (let n = 0; n < 3; n++) stage.turn();
    stage.restart();
    stage.turn();
    stage.finish();
    expect(resultOf(stage.jobs.get(id)!)).toEqual({ ...payload, ...(added as object) });
  });
});

it('what `with` makes is written in parts, some of them in each turn', () => {
  const stage = stageOf([{ uses: 'sink', with: { text: 'all: {payload.list}', copy: '{payload.list}' } }], {
    partedBytesMin: 50_000,
  });
  stage.start('p', { list: numbers });
  const largest = largestCommit(stage);
  while (stage.of('sink').length === 0) stage.turn();
  const [sink] = stage.of('sink');
  expect([isParted(sink!.payload), payloadOf(sink!)]).toEqual([
    true,
    { list: numbers, text: `all: ${JSON.stringify(numbers)}`, copy: numbers },
  ]);
  expect(largest()).toBeLessThan(2 * 50_000 + 10_000);
  stage.finish();
  expect(stage.leftovers()).toBe(0);
});

it('more than four evaluations take turns: each ends', () => {
  const stage = stageOf([{ uses: 'sink', with: { text: 'all: {payload.list}' } }]);
  const runs = Array.from({ length: 7 }, () => stage.start('p', { list: numbers }));
  stage.finish();
  for (const id of runs) expect(stage.jobs.get(id)!.status).toBe('succeeded');
  expect(stage.leftovers()).toBe(0);
});

it('a job fails whose `with` would make more than 64 MiB', () => {
  const stage = stageOf([{ uses: 'sink', with: { text: '{payload.big}'.repeat(70) } }]);
  const run = stage.run('p', { big: 'x'.repeat(2 ** 20) });
  expect(errorOf(run)).toContain('with: more than 64 MiB');
  expect(stage.leftovers()).toBe(0);
});

it.each([
  ['does not mention the element', '{payload.big}'.repeat(70)],
  ['mentions the element', `{payload.item}${'{payload.big}'.repeat(70)}`],
])('a run fails whose `with` would make more than 64 MiB for each element of a fan-out: it %s', (_, text) => {
  const stage = stageOf([{ uses: 'sink', foreach: 'payload.list', with: { text } }]);
  const run = stage.run('p', { list: [1, 2], big: 'x'.repeat(2 ** 20) });
  expect(errorOf(run)).toContain('with: more than 64 MiB');
  expect(stage.of('sink')).toEqual([]);
  expect(stage.leftovers()).toBe(0);
});

it('a fan-out of large elements makes a limited number of bytes of jobs in a turn', () => {
  const stage = stageOf([{ uses: 'sink', foreach: 'payload.list' }], { isSpent: () => false });
  stage.start('p', { list: numbers.slice(0, 20).map(() => 'x'.repeat(2 ** 20)) });
  stage.finish();
  expect(stage.of('sink')).toHaveLength(20);
  for (const { createdAt: turn } of stage.of('sink')) {
    const jobs = stage.of('sink').filter(({ createdAt }) => createdAt === turn);
    expect(jobs.length).toBeLessThanOrEqual(bytesPerTurnMax / 2 ** 20 + 1);
  }
});

describe('a hook on a job with a large result', () => {
  const pipelines = [{ name: 'hooked', on_hook: 'job.completed', steps: [{ uses: 'sink' }] }];

  it.each([false, true])(
    'begins its run in the turn after the one that writes it (restart in between: %s)',
    restarts => {
      const stage = stageOf([], { pipelines, isSpent: () => false, partedBytesMin: 1_000 });
      const job = stage.submit('echo', { text: 'x'.repeat(10_000) });
      stage.work();
      expect([job.status, stage.of('pipeline').length, stage.store.count('emissions')]).toEqual(['succeeded', 0, 1]);
      if (restarts) stage.restart();
      stage.turn();
      expect([stage.of('pipeline').length, stage.of('sink').length]).toEqual([1, 0]);
      stage.turn();
      expect(payloadOf(stage.of('sink')[0]!)).toMatchObject({
        job_id: job.text,
        status: 'succeeded',
        result: payloadOf(job),
      });
      stage.finish();
      expect([stage.of('pipeline').length, stage.leftovers()]).toEqual([1, 0]);
    },
  );
});
