// From what a plugin answered, or threw, to an outcome, whatever its runtime.
import { expect, test } from 'vitest';
import { decodeBody } from '../../runtime/host/outcome.ts';
import { responseBytesMax, settleAnswer, settleThrown } from '../../runtime/host/response.ts';
import type { JsonObject } from '../../runtime/packing.ts';

const tooMuch = 'x'.repeat(responseBytesMax);
/** The parts that are texts, and those that there are. */
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
  const settled = settleAnswer(answer, true, { ...said, stderr: 'trouble' });
  expect(settled).toMatchObject({ verdict: 'error', permanent: true, stateUpdates: null });
  const reason = /^invalid response: it has 671\d+ bytes; at most 67108864 are taken$/;
  expect(shown(decodeBody(settled.body))).toEqual([expect.stringMatching(reason), 'trouble']);
});

test('of a handler that throws, the reason is kept, and what it had said besides if that is not too much', () => {
  const event = { type: 'a', payload: {} };
  const thrown = (payload: JsonObject) => settleThrown(new Error('no luck'), { events: [{ ...event, payload }] });
  expect(shown(decodeBody(thrown({}).body))).toEqual(['no luck', undefined, 'events']);
  const much = thrown({ tooMuch });
  expect(much).toMatchObject({ verdict: 'error', permanent: false });
  expect(shown(decodeBody(much.body))).toEqual(['no luck', undefined]);
});
