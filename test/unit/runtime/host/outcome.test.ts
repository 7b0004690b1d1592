// What an attempt left behind, as bytes.

import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deflatedBytesMax, deflatedBytesMin } from '../../../../runtime/host/wire/deflate.ts';
import {
  type BodyPart,
  type BodyParts,
  bodyPart,
  decodeBody,
  encodeBody,
  encodeDeflated,
  failedBody,
  hasDeflated,
  hasPart,
  hasText,
  inflateBody,
  parts,
  partsBytes,
} from '../../../../runtime/host/wire/outcome.ts';
import { pack, packedNull } from '../../../../runtime/packing.ts';

const bytes = fc.uint8Array({ maxLength: 80 }).map(part => Buffer.from(part));
const some = fc.record(Object.fromEntries(parts.map(part => [part, bytes])) as Record<BodyPart, typeof bytes>, {
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

describe('with large parts deflated', () => {
  const text = (bytes: number) => Buffer.alloc(bytes, 'so much of it, again and again; ');
  const noise = Buffer.from(
    fc.sample(fc.uint8Array({ minLength: 2 ** 17, maxLength: 2 ** 17 }), { numRuns: 1, seed: 1 })[0]!,
  );
  const value = fc.oneof(bytes, fc.integer({ min: 0, max: 3 * deflatedBytesMin }).map(text));
  const large = fc.record(Object.fromEntries(parts.map(part => [part, value])) as Record<BodyPart, typeof value>, {
    requiredKeys: [],
  });

  it('gives back every part, and becomes what it would have been', () => {
    fc.assert(
      fc.property(large, given => {
        const body = encodeDeflated(given, partsBytes(given));
        for (const part of parts) {
          expect(hasPart(body, part)).toBe(given[part] !== undefined);
          const found = bodyPart(body, part);
          expect(found === undefined ? found : Buffer.compare(found, given[part]!)).toBe(given[part] && 0);
        }
        expect(Buffer.compare(inflateBody(body), encodeBody(given))).toBe(0);
        const { state_updates: _, ...kept } = given;
        const failed = inflateBody(failedBody(body, 'too much'));
        expect(Buffer.compare(failed, encodeBody({ ...kept, error: Buffer.from('too much') }))).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['a large result', { result: text(deflatedBytesMin) }, true],
    ['large events beside small parts', { result: packedNull, events: text(deflatedBytesMax), error: text(9) }, true],
    ['large logs', { logs: text(2 * deflatedBytesMin) }, true],
    ['a smaller result', { result: text(deflatedBytesMin - 1), logs: text(9) }, false],
    ['one that would take too long to inflate', { result: text(deflatedBytesMax + 1) }, false],
    ['one that does not shrink', { result: noise }, false],
    [
      'what the ledger reads itself',
      { state_updates: text(2 * deflatedBytesMin), error: text(2 * deflatedBytesMin) },
      false,
    ],
  ])('%s', (_, given: BodyParts, isSmaller) => {
    const [body, plain] = [encodeDeflated(given, partsBytes(given)), encodeBody(given)];
    expect(hasDeflated(body)).toBe(isSmaller);
    expect(hasDeflated(plain)).toBe(false);
    if (isSmaller) expect(body.length).toBeLessThan(plain.length / 20);
    else expect(Buffer.compare(body, plain)).toBe(0);
  });

  it('refuses what is no deflated value, or becomes too large a one', () => {
    const wrong = encodeDeflated({ result: text(deflatedBytesMin) }, deflatedBytesMin);
    wrong.fill(255, 5);
    expect(() => bodyPart(wrong, 'result')).toThrow(/invalid/);
    const bomb = deflateRawSync(text(deflatedBytesMax + 1));
    const body = encodeBody({ result: bomb });
    body[4]! |= 0x80;
    expect(() => bodyPart(body, 'result')).toThrow(/larger than/);
  });
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
    expect(hasText(encodeBody(given))).toBe(tells);
  });
});
