// Single large values: the payload of an event, an element of a fan-out, a text. Work on them takes many short turns, and has the same result
// as on small values.
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { holds } from '../../../../actors/pipeline/expressions/condition.ts';
import { stepBytesMax, unlimited } from '../../../../actors/pipeline/expressions/evaluations.ts';
import { dataOf, Packed } from '../../../../actors/pipeline/tokens/token.ts';
import type { Condition, Operator } from '../../../../config/pipeline/definition.ts';
import { type Json, pack, packedEmpty } from '../../../../runtime/packing.ts';
import { largestCommit, payloads, plugins } from './cast.ts';
import { errorOf, payloadOf, resultOf, Stage, type StageOptions } from './stage.ts';

const numbers = Array.from({ length: 200_000 }, (_, n) => n);
const stepsOf = (value: Json) => pack(value).length / stepBytesMax;
const lacks = (path: string, value: number) => ({ not: { path, op: 'contains', value } });

function stageOf(pipelines: readonly object[], more: Partial<StageOptions> = {}): Stage {
  return new Stage({ plugins, pipelines, isSpent: () => true, ...more });
}

/** Runs the stage until nothing is left to do, with a restart after every `turns` turns. */
function finishWithRestarts(stage: Stage, turns: number): void {
  while (stage.isBusy) {
    stage.restart();
    for (let n = 0; n < turns; n++) stage.work();
  }
}

describe("a pipeline's own condition on a large payload", () => {
  const payload = { list: numbers };
  const steps = [{ uses: 'sink' }];
  const causes: { readonly [cause: string]: readonly [waits: object, path: string, begin: (stage: Stage) => unknown] } =
    {
      'of a call': [{}, 'payload.list', stage => stage.start('waiting', payload)],
      'of an event': [
        { on: 'found' },
        'payload.list',
        stage => stage.submit('emit', { events: [{ type: 'found', payload }] }),
      ],
      'of a hook': [{ on_hook: 'job.completed' }, 'payload.result.list', stage => stage.submit('echo', payload)],
      'of a step that calls it': [{}, 'payload.list', stage => stage.start('calling', payload)],
    };

  it.each(Object.entries(causes))('%s is evaluated step by step', (_, [waits, path, begin]) => {
    for (const [value, sinks] of [
      [-1, 1],
      [199_999, 0],
    ] as const) {
      const waiting = { name: 'waiting', ...waits, if: lacks(path, value), steps };
      const calling = { name: 'calling', steps: [{ call: 'waiting' }] };
      const stage = stageOf([waiting, calling]);
      begin(stage);
      stage.finish();
      expect(stage.turns).toBeGreaterThan(stepsOf(payload) / 2);
      expect([stage.of('sink').length, stage.openRuns, stage.leftovers()]).toEqual([sinks, 0, 0]);
    }
  });

  it('begins again after a restart in between', () => {
    const stage = stageOf([{ name: 'waiting', if: lacks('payload.list', -1), steps }]);
    const id = stage.start('waiting', payload);
    for (let n = 0; n < 3; n++) stage.turn();
    stage.restart();
    stage.turn();
    stage.finish();
    expect(isDeepStrictEqual(resultOf(stage.jobs.get(id)!), payload)).toBe(true);
    expect(stage.leftovers()).toBe(0);
  });
});

describe('a large event', () => {
  const text = 'x'.repeat(10_000);
  const events = [{ type: 'found', payload: { text } }];
  const waiting = ['a', 'b', 'c'].map(name => ({ name, on: 'found', steps: [{ uses: 'sink' }] }));

  it.each([false, true])('starts one run in a turn, and each once (restarts: %s)', restarts => {
    const stage = stageOf(waiting, { partedBytesMin: 1_000 });
    stage.submit('emit', { events });
    stage.work();
    expect(stage.of('pipeline')).toEqual([]);
    if (restarts) finishWithRestarts(stage, 5);
    else stage.finish();
    const runs = stage.of('pipeline');
    expect(runs.map(({ command }) => command).sort()).toEqual(['a', 'b', 'c']);
    expect(new Set(runs.map(({ createdAt }) => createdAt)).size).toBe(3);
    expect(payloads(stage.of('sink'))).toEqual([{ text }, { text }, { text }]);
    expect(stage.leftovers()).toBe(0);
  });

  it.each([false, true])('that goes on in its run becomes one job in a turn (restarts: %s)', restarts => {
    const split = ['a', 'b', 'c'].map(name => [{ id: name, uses: 'sink' }]);
    const stage = stageOf([{ name: 'p', steps: [{ uses: 'emit' }, { split }] }], { partedBytesMin: 1_000 });
    const id = stage.start('p', { events });
    if (restarts) finishWithRestarts(stage, 5);
    else stage.finish();
    const sinks = stage.of('sink');
    expect(sinks.map(payloadOf)).toEqual([{ text }, { text }, { text }]);
    expect(new Set(sinks.map(({ createdAt }) => createdAt)).size).toBe(3);
    expect([stage.jobs.get(id)!.status, stage.leftovers()]).toEqual(['succeeded', 0]);
  });

  it('that is the only event of its job divides no token: a later step may change the baggage', () => {
    const steps = [
      { uses: 'emit', baggage: { 'b.x': 'payload.n' } },
      { uses: 'sink', baggage: { 'b.x': 'payload.text' } },
      { uses: 'sink', join: 'all', with: { x: '{context.b.x}' } },
    ];
    const stage = stageOf([{ name: 'p', steps }], { partedBytesMin: 1_000 });
    stage.start('p', { n: 1, events });
    stage.finish();
    expect(payloads(stage.of('sink')).at(-1)).toMatchObject({ x: text });
  });

  it('before a step that looks into it is read again after a restart', () => {
    const steps = [
      { uses: 'emit' },
      { uses: 'sink', if: lacks('payload.list', -1), with: { last: '{payload.list.199999}' } },
    ];
    const stage = stageOf([{ name: 'p', steps }]);
    const id = stage.start('p', { events: [{ type: 'found', payload: { list: numbers } }] });
    const largest = largestCommit(stage);
    for (let n = 0; n < 10; n++) stage.work();
    stage.restart();
    stage.turn();
    stage.finish();
    expect([errorOf(stage.jobs.get(id)!), largest() < 10_000, stage.leftovers()]).toEqual(['', true, 0]);
    expect(payloadOf(stage.of('sink')[0]!)).toEqual({ list: numbers, last: 199_999 });
  });
});

describe('hooks and events for very many pipelines', () => {
  const names = Array.from({ length: 40 }, (_, n) => `p${n}`);
  const steps = [{ uses: 'sink' }];
  const on: { readonly [kind: string]: readonly [waits: object, begin: (stage: Stage) => unknown] } = {
    events: [{ on: 'found' }, stage => stage.submit('emit', { events: [{ type: 'found', payload: { n: 1 } }] })],
    'hooks of jobs': [{ on_hook: 'job.completed' }, stage => stage.submit('echo', { n: 1 })],
    'hooks of runs': [{ on_hook: 'pipeline.completed' }, stage => stage.start('simple', { n: 1 })],
  };

  it.each(Object.entries(on))('%s start their runs over several turns, each once', (_, [waits, begin]) => {
    for (const restarts of [false, true]) {
      const waiting = names.map(name => ({ name, ...waits, steps }));
      const stage = stageOf([...waiting, { name: 'simple', steps: [{ uses: 'echo' }] }]);
      begin(stage);
      if (restarts) finishWithRestarts(stage, 5);
      else stage.finish();
      const runs = stage.of('pipeline').filter(({ command }) => command !== 'simple');
      expect(runs.map(({ command }) => command).sort()).toEqual([...names].sort());
      expect(new Set(runs.map(({ createdAt }) => createdAt)).size).toBe(names.length);
      expect(new Set(stage.of('sink').map(job => JSON.stringify(withoutId(payloadOf(job))))).size).toBe(1);
      expect(stage.leftovers()).toBe(0);
    }
  });

  it('a hook of a run gets the same payload late as at once', () => {
    const last = (count: number) => {
      const waiting = names.slice(0, count).map(name => ({ name, on_hook: 'pipeline.failed', steps }));
      const stage = new Stage({ plugins, pipelines: [...waiting, { name: 'simple', steps: [{ uses: 'fail' }] }] });
      stage.run('simple', { n: 1 });
      return withoutId(payloadOf(stage.of('sink').at(-1)!));
    };
    expect(last(40)).toEqual(last(1));
    expect(last(1)).toMatchObject({
      pipeline: 'simple',
      status: 'failed',
      counts: { failed: 1 },
      submitted_by: 'test',
    });
  });
});

/** The payload without the job id, by which two otherwise equal jobs differ. */
function withoutId(payload: Json): Json {
  const { job_id: _, error, ...more } = payload as { job_id?: string; error?: string };
  return { ...more, ...(error && { error: error.replace(/\(.*?\)/, '') }) };
}

describe('a large element of a fan-out', () => {
  const big = Array.from({ length: 100_000 }, (_, n) => n % 100);
  const list = [1, big, { small: true }, big];
  const templates: { readonly [name: string]: readonly [step: object, made: (item: Json, index: number) => object] } = {
    'without `with`': [{}, () => ({})],
    'that `with` copies': [{ with: { copy: '{payload.item}' } }, item => ({ copy: item })],
    'that `with` replaces': [{ with: { item: ['{payload.item}'] } }, item => ({ item: [item] })],
    'that `with` writes as text': [
      { with: { text: '{payload.index}: {payload.item}' } },
      (item, index) => ({ text: `${index}: ${JSON.stringify(item)}` }),
    ],
    'beside a large value that all get': [
      { with: { at: '{payload.index}', all: ['{payload.big}'] } },
      (_, index) => ({ at: index, all: [big] }),
    ],
  };

  it.each(Object.entries(templates))('%s becomes a job step by step', (_, [step, made]) => {
    const expected = list.map((item, index) => ({ item, index, ...made(item, index) }));
    for (const more of [{}, { partedBytesMin: 25_000 }, { partedBytesMin: 25_000, isSpent: () => false }]) {
      const stage = stageOf([{ name: 'p', steps: [{ uses: 'sink', foreach: 'payload.list', ...step }] }], more);
      const run = stage.run('p', { list, big });
      expect([errorOf(run), isDeepStrictEqual(resultOf(run), expected), stage.leftovers()]).toEqual(['', true, 0]);
    }
  });

  it('is begun again after a restart in between, and makes one job', () => {
    const steps = [{ uses: 'sink', foreach: 'payload.list', with: { text: 'item {payload.item}' } }];
    const stage = stageOf([{ name: 'p', steps }], { partedBytesMin: 25_000 });
    const id = stage.start('p', { list });
    for (let n = 0; stage.of('sink').length < 2; n++) {
      if (n === 12 || n === 15) stage.restart();
      stage.turn();
    }
    stage.finish();
    const made = list.map((item, index) => ({ item, index, text: `item ${JSON.stringify(item)}` }));
    expect([errorOf(stage.jobs.get(id)!), stage.of('sink').length]).toEqual(['', 4]);
    expect(isDeepStrictEqual(resultOf(stage.jobs.get(id)!), made)).toBe(true);
  });

  it('of which too much would become baggage fails the run', () => {
    const steps = [{ id: 'each', uses: 'sink', foreach: 'payload.list', baggage: { kept: 'payload.item' } }];
    const run = stageOf([{ name: 'p', steps }]).run('p', { list: [Array.from({ length: 2 ** 20 + 1 }, () => 1)] });
    expect([run.status, errorOf(run)]).toEqual(['failed', 'step "each": more than 1 MiB of baggage']);
  });
});

describe('a condition on a large text', () => {
  const text = `${'äb'.repeat(50_000)}c`;
  const tests: readonly [Operator, Json][] = [
    ...(['äb', 'bä', 'c', 'äc', '', text, `${text}d`, 'b'.repeat(99), 5, ['äb']] as const).flatMap(value =>
      (['eq', 'neq', 'contains'] as const).map(op => [op, value as Json] as [Operator, Json]),
    ),
    ...['äb', 'äba', 'ä', '~', '', text, `${text}d`, text.slice(0, -1), 'bc', '\u{1f600}'].flatMap(value =>
      (['startswith', 'endswith', 'gt', 'gte', 'lt', 'lte'] as const).map(op => [op, value] as [Operator, Json]),
    ),
    ['gt', 5],
    ['exists', true],
    ['exists', false],
    ['in', [text, 1]],
    ['in', ['äb', [text]]],
    ['in', []],
    ['regex', 'c$'],
    ['regex', '^b'],
  ];

  it.each(tests.map(([op, value], n) => [op, n, value] as const))(
    '%s, case %i, holds as on any other text',
    (op, _, value) => {
      const condition: Condition = { kind: 'test', path: { root: 'payload', keys: ['text'] }, op, value };
      const held = [unlimited, { ...unlimited, wholeBytesMax: 2 ** 30 }].map(limits => {
        const payload = new Packed(pack({ text }), limits);
        return holds(condition, dataOf({ payload, context: new Packed(packedEmpty) }, null));
      });
      expect(held[0]).toBe(held[1]);
    },
  );
});
