// Packed values as JSON in pieces: together they are the text of the whole, and no piece is large.
import { expect, it } from 'vitest';
import { pack } from '../../../runtime/packing.ts';
import { chunkBytes, jsonChunks } from '../../../service/json/chunks.ts';
import { fc } from '../../support/seed.ts';

const long = 'é😀"x\n'.repeat(chunkBytes / 4);
const deep = (levels: number): unknown => (levels === 0 ? long : { [`in ${levels}`]: [levels, deep(levels - 1)] });
const many = <T>(make: (n: number) => T) => Array.from({ length: 20_000 }, (_, n) => make(n));

it.each([
  ['a list of many', many(n => ({ type: 'found', payload: { n, half: n / 2 } }))],
  ['a map of many', Object.fromEntries(many(n => [`key ${n}`, n % 3 === 0 ? null : n % 2 === 0]))],
  ['a long text', long],
  ['a long text among short ones', { a: ['b', long, 'c'], d: 1 }],
  ['a long key', { [long]: long, b: {} }],
  ['what is deep', deep(100)],
])('%s', (_, value) => {
  const pieces = [...jsonChunks([() => pack(value)])];
  expect(pieces.join('')).toBe(JSON.stringify(value));
  // An escaped character takes up to six, and a piece has a separator.
  for (const piece of pieces) expect(piece.length).toBeLessThan(6 * chunkBytes + 2);
});

it('a key that is not a text, as plugin code can pack it, becomes one', () => {
  const packed = pack(
    new Map<unknown, string>([
      [7, long],
      ['b', 'c'],
    ]),
  );
  expect([...jsonChunks([() => packed])].join('')).toBe(JSON.stringify({ 7: long, b: 'c' }));
});

it('is the text of any value', () => {
  const large = fc
    .jsonValue({ maxDepth: 4 })
    .map(value => ({ value, values: many(() => value).slice(0, 2_000), long }));
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), large, (small, more) => {
      for (const value of [small, more]) {
        const text = JSON.stringify(value);
        if (!text.includes('"__proto__":')) expect([...jsonChunks([() => pack(value)])].join('')).toBe(text);
      }
    }),
    { numRuns: 20 },
  );
});
