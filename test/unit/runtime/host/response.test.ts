// How a plugin's answer, or what it threw, becomes an outcome in any runtime.

import { expect, test } from 'vitest';
import { Mask } from '../../../../runtime/host/wire/mask.ts';
import { type BodyPart, bodyPart, decodeBody, hasDeflated } from '../../../../runtime/host/wire/outcome.ts';
import { responseBytesMax, resultOfAnswer, resultOfError } from '../../../../runtime/host/wire/response.ts';
import { FrameState } from '../../../../runtime/host/wire/state.ts';
import { type JsonObject, pack, unpack } from '../../../../runtime/packing.ts';

const tooMuch = 'x'.repeat(responseBytesMax);
/** The texts of the parts `error` and `stderr`, and the names of the other parts. */
const shown = ({ error, stderr, ...parts }: ReturnType<typeof decodeBody>) => [
  error && Buffer.from(error).toString(),
  stderr && Buffer.from(stderr).toString(),
  ...Object.keys(parts),
];

test.each([
  ['its result', { status: 'ok', result: tooMuch }, {}],
  ['what it emits', { status: 'ok', result: 'done' }, { events: [{ type: 'a', payload: tooMuch }] }],
  ['the name of a span', { status: 'error', error: 'bad' }, { spans: [{ name: tooMuch, dur_ns: 1 }] }],
])('a response that is too large by %s fails for good: another attempt would say as much', (_, answer, said) => {
  const settled = resultOfAnswer(answer, true, { ...said, stderr: 'trouble' });
  expect(settled).toMatchObject({ verdict: 'error', permanent: true, stateUpdates: null });
  const reason = /^invalid response: it has 1048\d+ bytes; the limit is 10485760$/;
  expect(shown(decodeBody(settled.body))).toEqual([expect.stringMatching(reason), 'trouble']);
});

test('an event whose type or dedupe_key is too long fails the attempt, with its place', () => {
  const longest = { type: 't'.repeat(256), payload: {}, dedupe_key: 'k'.repeat(4096) };
  const settled = (event: object) => resultOfAnswer({ status: 'ok', events: [longest, event] }, true);
  expect(settled(longest)).toMatchObject({ verdict: 'ok' });
  for (const [event, problem] of [
    [{ ...longest, type: 't'.repeat(257) }, 'events[1].type has 257 characters; at most 256'],
    [{ ...longest, dedupe_key: 'k'.repeat(4097) }, 'events[1].dedupe_key has 4097 characters; at most 4096'],
  ] as const) {
    expect(settled(event)).toMatchObject({ verdict: 'error', permanent: false });
    expect(shown(decodeBody(settled(event).body))[0]).toBe(`invalid response: ${problem}`);
  }
});

test('of a handler that throws, the reason is kept, and what it had said besides if that is not too much', () => {
  const event = { type: 'a', payload: {} };
  const thrown = (payload: JsonObject) => resultOfError(new Error('no luck'), { events: [{ ...event, payload }] });
  expect(shown(decodeBody(thrown({}).body))).toEqual(['no luck', undefined, 'events']);
  const much = thrown({ tooMuch });
  expect(much).toMatchObject({ verdict: 'error', permanent: false });
  expect(shown(decodeBody(much.body))).toEqual(['no luck', undefined]);
});

test('what is large in a response, or in what failed with it, is deflated', () => {
  const large = { text: 'again and again; '.repeat(10_000) };
  const aside = { events: [{ type: 'a', payload: large }] };
  for (const { body } of [
    resultOfAnswer({ status: 'ok', result: large }, true),
    resultOfAnswer({ status: 'ok' }, true, aside),
    resultOfError(new Error('no luck'), aside),
  ]) {
    expect(hasDeflated(body)).toBe(true);
    expect(body.length).toBeLessThan(10_000);
  }
});

test('half of a surrogate pair, for which UTF-8 has no form, is replaced in every part; nothing else is', () => {
  const given = 'a\ud83d | \udc00b | \ud83d\ude00 | \\ud83d | \\\ud83d | \u001f';
  const kept = 'a\ufffd | \ufffdb | \ud83d\ude00 | \\ud83d | \\\ufffd | \u001f';
  const said = (text: string) => ({
    result: { [text]: [text, { text }] },
    events: [{ type: text, payload: { text }, dedupe_key: text }],
    state_updates: { [text]: text },
    logs: [{ level: text, message: text }],
    spans: [{ name: text, dur_ns: 1 }],
  });
  const error = { status: 'error', error: given };
  for (const mask of [null, new Mask([['key', 'a-secret-value']])]) {
    const { body } = resultOfAnswer({ status: 'ok', ...said(given) }, true, {}, mask);
    for (const [part, value] of Object.entries(said(kept))) {
      const packed = bodyPart(body, part as BodyPart)!;
      expect(packed, part).toEqual(pack(value));
      expect(unpack(packed), part).toEqual(value);
    }
    expect(shown(decodeBody(resultOfAnswer(error, true, {}, mask).body))).toEqual([kept, undefined]);
  }
});

test('a BigInt of a worker becomes text in every part, with one warning; its numbers stay as they are', () => {
  const answer = {
    result: { n: 10n, rounded: 2 ** 60, list: [1n] },
    state_updates: { n: -3n },
    events: [{ type: 'a', payload: { n: 2n } }],
    logs: [{ level: 'info', message: 'said' }],
  };
  for (const mask of [null, new Mask([['key', 'a-secret-value']])]) {
    const settled = resultOfAnswer(answer, false, {}, mask);
    expect(settled).toMatchObject({ verdict: 'ok', stateUpdates: { n: '-3' } });
    const [result, events, logs] = (['result', 'events', 'logs'] as const).map(part =>
      unpack(bodyPart(settled.body, part)!),
    );
    expect(result).toEqual({ n: '10', rounded: 2 ** 60, list: ['1'] });
    expect(events).toEqual([{ type: 'a', payload: { n: '2' } }]);
    expect(logs).toEqual([
      { level: 'warn', message: expect.stringMatching(/^\[4 integers .* became text\]$/) },
      { level: 'info', message: 'said' },
    ]);
    expect(Object.keys(decodeBody(resultOfAnswer({ result: { n: 1 } }, false, {}, mask).body))).toEqual(['result']);
  }
});

test.each([false, true])('empty updates leave the state as it is (replaced by updates: %s)', replaces => {
  const state = new FrameState(pack({ seen: 5 }), replaces);
  state.settle(resultOfAnswer({ state_updates: {} }, false));
  expect(state.fresh()).toEqual({ seen: 5 });
});
