// The pure functions of the dialect: how events get the result, and commands whose updates replace the whole state.

import { describe, expect, test } from 'vitest';
import { answerOfDuctile, payloadForDuctile } from '../../../runtime/host/wire/ductile.ts';
import { resultOfAnswer } from '../../../runtime/host/wire/response.ts';
import { FrameState } from '../../../runtime/host/wire/state.ts';
import { type Json, type JsonObject, pack } from '../../../runtime/packing.ts';
import { loaded } from '../../unit/config/sandbox.ts';

test.each<[what: string, answer: unknown, events: unknown]>([
  [
    'an event without a payload gets one',
    { result: 'r', events: [{ type: 'a' }] },
    [{ type: 'a', payload: { result: 'r' } }],
  ],
  [
    'a payload without a result gets it',
    { result: { n: 1 }, events: [{ payload: { x: 1 } }] },
    [{ payload: { x: 1, result: { n: 1 } } }],
  ],
  [
    'a result of its own stays, also null',
    { result: 'r', events: [{ payload: { result: null } }] },
    [{ payload: { result: null } }],
  ],
  [
    'a payload that is no object stays',
    { result: 'r', events: [{ payload: [1] }, { payload: 'x' }] },
    [{ payload: [1] }, { payload: 'x' }],
  ],
  ['what is no event stays, to be refused', { result: 'r', events: [null, 3] }, [null, 3]],
  ['no result, nothing to take over', { events: [{ type: 'a' }] }, [{ type: 'a' }]],
  ['events that are no list stay, to be refused', { result: 'r', events: {} }, {}],
])('%s', (_, answer, events) => {
  expect(answerOfDuctile(answer)).toEqual({ ...(answer as object), events });
});

test.each<[what: string, context: JsonObject, payload: Json, seen: Json]>([
  ['baggage stands beside the data', { depth: 1, tenant: 'acme' }, { n: 1 }, { tenant: 'acme', n: 1 }],
  ['data stands before baggage', { depth: 1, n: 2 }, { n: 1 }, { n: 1 }],
  ['data that is no object stays', { depth: 1, tenant: 'acme' }, [1], [1]],
  [
    'what headgate says of the job is no baggage',
    { pipeline: 'p', step_id: 's', depth: 1, schedule: { id: 'nightly', missed: 0 } },
    { n: 1 },
    { n: 1 },
  ],
])('the data of an event: %s', (_, context, payload, seen) => {
  expect(payloadForDuctile(context, payload)).toEqual(seen);
});

test('an answer that is no object stays as it is', () => {
  for (const answer of [null, 3, 'text', [1]]) expect(answerOfDuctile(answer)).toBe(answer);
});

describe('fact_outputs', () => {
  const manifest = (facts: string) => `manifest_spec: ductile.plugin
name: a
version: 1
protocol: 2
entrypoint: run
commands: [{ name: poll }, { name: handle }]
fact_outputs: ${facts}
`;
  const replacing = (facts: string): string[] => {
    const config = loaded({ 'config.yaml': '', 'plugins/a/manifest.yaml': manifest(facts), 'plugins/a/run*': '' });
    return config.plugins['a']!.manifest.commands.filter(({ replacesState }) => replacesState).map(({ name }) => name);
  };

  test.each<[what: string, facts: string, commands: string[]]>([
    [
      'a rule that mirrors',
      '[{ when: { command: poll }, from: state_updates, compatibility_view: mirror_object }]',
      ['poll'],
    ],
    [
      'a rule that names no view',
      '[{ when: { command: poll }, from: state_updates, fact_type: a.snapshot }]',
      ['poll'],
    ],
    ['a rule for each command', '[{ when: { command: poll } }, { when: { command: handle } }]', ['poll', 'handle']],
    ['a view that is not known', '[{ when: { command: poll }, compatibility_view: reduce }]', []],
    ['another source', '[{ when: { command: poll }, from: facts }]', []],
    ['rules in another shape', '{ poll: mirror_object }', []],
    ['a rule without a command', '[{ from: state_updates }, text]', []],
  ])('%s', (_, facts, commands) => {
    expect(replacing(facts)).toEqual(commands);
  });
});

test('the tasks of a frame see a state that was replaced, and one that was laid over', () => {
  for (const [replaces, seen] of [
    [true, { b: 2 }],
    [false, { a: 1, b: 2 }],
  ] as const) {
    const state = new FrameState(pack({ a: 1 }), replaces);
    state.settle(resultOfAnswer({ status: 'ok', state_updates: { b: 2 } }, true));
    expect(state.fresh()).toEqual(seen);
  }
});
