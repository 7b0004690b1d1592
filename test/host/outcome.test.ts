// What an attempt left behind, as bytes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bodyPart,
  decodeBody,
  encodeBody,
  failedBody,
  hasPart,
  isTelling,
  type Part,
  parts,
} from '../../runtime/host/outcome.ts';
import { pack, packedNull } from '../../runtime/packing.ts';

const bytes = fc.uint8Array({ maxLength: 80 }).map(part => Buffer.from(part));
const some = fc.record(Object.fromEntries(parts.map(part => [part, bytes])) as Record<Part, typeof bytes>, {
  requiredKeys: [],
});

it('gives back every part that was put in, and no other', () => {
  fc.assert(
    fc.property(some, given => {
      const body = encodeBody(given);
      for (const part of parts) {
        expect(hasPart(body, part)).toBe(given[part] !== undefined);
        const found = bodyPart(body, part);
        expect(found && Buffer.from(found)).toEqual(given[part]);
      }
      const decoded = Object.entries(decodeBody(body)).map(([part, value]) => [part, Buffer.from(value!)]);
      expect(Object.fromEntries(decoded)).toEqual(given);
    }),
  );
});

it('keeps what was said, but for the state updates, when it fails all the same', () => {
  const said = { logs: pack([{ level: 'info', message: 'm' }]), stderr: Buffer.from('trouble') };
  const failed = failedBody(encodeBody({ ...said, state_updates: pack({ n: 1 }) }), 'too much');
  expect(failed).toEqual(encodeBody({ ...said, error: Buffer.from('too much') }));
});

describe('whether a log tells something', () => {
  const spans = pack([{ name: 'a', dur_ns: 1 }]);
  const text = Buffer.from('x');
  it.each([
    ['nothing at all', {}, false],
    ['a result that is null', { result: packedNull }, false],
    ['times of spans', { spans }, false],
    ['times of spans, and a result that is null', { result: packedNull, spans }, false],
    ['a result', { result: pack({ n: 1 }) }, true],
    ['an empty result', { result: pack('') }, true],
    ['a result, and times of spans', { result: pack({ n: 1 }), spans }, true],
    ['a result that begins like null', { result: Buffer.concat([packedNull, packedNull]) }, true],
    ['an error beside a result that is null', { result: packedNull, error: text }, true],
    ['stderr', { stderr: text }, true],
  ])('%s', (_, given, tells) => {
    expect(isTelling(encodeBody(given))).toBe(tells);
  });
});
