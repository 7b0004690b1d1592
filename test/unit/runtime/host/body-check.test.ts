// Whatever bytes a host sends as the body of an attempt: they are refused, or all readers find what they expect.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkBody, checkedBytesMax } from '../../../../runtime/host/wire/body-check.ts';
import { deflatedBytesMin } from '../../../../runtime/host/wire/deflate.ts';
import {
  type BodyParts,
  decodeBody,
  encodeBody,
  encodeDeflated,
  partsBytes,
} from '../../../../runtime/host/wire/outcome.ts';
import { spansMax } from '../../../../runtime/host/wire/packed-spans.ts';
import { pack } from '../../../../runtime/packing.ts';
import { skipValue } from '../../../../runtime/splice.ts';
import { cyclesOf } from '../../../support/deep.ts';

const value = fc.jsonValue({ maxDepth: 3 }).map(pack);
const text = fc.string({ unit: 'binary', maxLength: 40 }).map(said => Buffer.from(said));
const duration = fc.oneof(fc.nat(), fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }));
const said = fc.record<BodyParts>(
  {
    result: fc.oneof(
      value,
      fc.nat(4 * deflatedBytesMin).map(bytes => pack('so much '.repeat(bytes / 8))),
    ),
    events: fc.array(fc.jsonValue({ maxDepth: 2 })).map(pack),
    state_updates: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map(pack),
    logs: fc.array(fc.jsonValue({ maxDepth: 1 })).map(pack),
    spans: fc.array(fc.record({ name: fc.string(), dur_ns: duration }), { maxLength: spansMax }).map(pack),
    error: text,
    stderr: text,
  },
  { requiredKeys: [] },
);

it('takes no value in parts, however long it is: it would name what it likes', () => {
  for (const length of [3, checkedBytesMax + 1]) {
    const body = encodeBody({ result: Buffer.alloc(length, 0xc1) });
    expect(() => checkBody(body)).toThrow('result is not one packed value');
  }
});

it('takes all that hosts make', () => {
  fc.assert(
    fc.property(said, parts => {
      checkBody(encodeBody(parts));
      checkBody(encodeDeflated(parts, partsBytes(parts)));
    }),
  );
});

it('finds any change that would lead a reader astray', () => {
  const change = fc.record({ at: fc.nat(), to: fc.nat(255), cut: fc.option(fc.nat(), { freq: 4 }) });
  fc.assert(
    fc.property(said, change, (parts, { at, to, cut }) => {
      const body = Buffer.from(encodeBody(parts));
      body[at % body.length] = to;
      const changed = cut === null ? body : body.subarray(0, cut % body.length);
      try {
        checkBody(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        return;
      }
      // Of a deflated part, only the length is checked, so bodies with one are left out.
      const heads = Array.from({ length: 7 }, (_, place) => 1 + 4 * place + 3).filter(top => top < changed.length);
      if (heads.some(top => changed[top]! >= 0x80)) return;
      const { error, stderr, ...packed } = decodeBody(changed);
      for (const each of Object.values(packed)) expect(skipValue(each!, 0)).toBe(each!.length);
    }),
    { numRuns: cyclesOf({ deep: 1_000, quick: 300 }) },
  );
});

const span = { name: 'a', dur_ns: 0.5 };

it.each([
  ['of no bytes', Buffer.alloc(0)],
  ['with a part that there is not', Buffer.of(128)],
  ['whose lengths are cut', Buffer.of(1, 1, 0)],
  ['that goes on behind its parts', Buffer.of(0, 0)],
  ['whose result is no value', encodeBody({ result: Buffer.of(0xc1) })],
  ['whose result is two values', encodeBody({ result: Buffer.of(1, 1) })],
  ['whose result is no byte', encodeBody({ result: Buffer.alloc(0) })],
  ['whose state updates are a list', encodeBody({ state_updates: pack([]) })],
  ['whose events are a map', encodeBody({ events: pack({}) })],
  ['whose spans are a number', encodeBody({ spans: pack(7) })],
  ['with more spans than are kept', encodeBody({ spans: pack(Array.from({ length: spansMax + 1 }, () => span)) })],
  ['with a span without a duration', encodeBody({ spans: pack([{ name: 'a' }]) })],
  ['with a span whose name is a number', encodeBody({ spans: pack([{ ...span, name: 1 }]) })],
  ['with a span whose duration is a text', encodeBody({ spans: pack([{ ...span, dur_ns: '1' }]) })],
  ['with a span whose duration is negative', encodeBody({ spans: pack([{ ...span, dur_ns: -0.5 }]) })],
  ['with a span whose duration is no number', encodeBody({ spans: pack([{ ...span, dur_ns: NaN }]) })],
  ['with a span of 64 bits', encodeBody({ spans: pack([{ ...span, dur_ns: 1n }]) })],
  ['whose spans are cut', encodeBody({ spans: pack([span]).subarray(0, -1) })],
  ['whose error is deflated', Buffer.of(16, 1, 0, 0, 0x80, 65)],
])('refuses a body %s', (_, body) => {
  expect(() => checkBody(body)).toThrow(RangeError);
});

it('does not walk what is large: its length and its kind are all that is checked', () => {
  const large = Buffer.alloc(checkedBytesMax + 1, 0xd9);
  checkBody(encodeBody({ result: large }));
  expect(() => checkBody(encodeBody({ events: large }))).toThrow('events is not a list');
});
