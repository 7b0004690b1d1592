// Reading packed values in steps: it finds what decoding finds, and no step takes more than its bytes.
import { describe, expect, it } from 'vitest';
import { entriesWithout, equalTo, jsonInSteps, someElement, spanInSteps } from '../../../runtime/packed-steps.ts';
import { type Json, pack, unpack } from '../../../runtime/packing.ts';
import {
  bytesOf,
  encodeParted,
  joinedSections,
  type Section,
  sectionsWithin,
  wholeOf,
} from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { contentsOf, mapHead, skipInSteps } from '../../../runtime/splice.ts';

/** Runs sliced work; returns the number of its steps, and its result. */
function run<T>(work: Sliced<T>): { readonly steps: number; readonly found: T } {
  for (let steps = 1; ; steps++) {
    const step = work.next();
    if (step.done) return { steps, found: step.value };
  }
}

const numbers = Array.from({ length: 2_000 }, (_, n) => n);
const values: readonly Json[] = [
  null,
  '',
  'a text with "quotes" and ü',
  1.5,
  -7,
  true,
  [],
  {},
  [[], [[]], {}],
  { a: 1, b: [1, 2, { c: null }], 'a key with "quotes"': 'x'.repeat(300) },
  numbers,
  numbers.map(n => ({ n, text: `${n}`.repeat(n % 20) })),
  Object.fromEntries(numbers.map(n => [`k${n}`, [n, [n]]])),
  { large: numbers, small: 1, larger: [numbers, numbers] },
  'x'.repeat(5_000),
];
const stepBytes = [0, 1, 64, 2 ** 20];

describe.each(stepBytes)('in steps of %d bytes', bytes => {
  it('the JSON text is that of the decoded value', () => {
    for (const value of values) {
      const { found } = run(jsonInSteps(pack(value), bytes));
      expect(Buffer.concat(found).toString()).toBe(JSON.stringify(value));
    }
  });

  it('a path finds what it finds in the decoded value', () => {
    const packed = pack(values);
    const at = (...keys: string[]) => {
      const { found } = run(spanInSteps(packed, keys, bytes));
      return found && unpack(packed.subarray(found.from, found.to));
    };
    for (const [n, value] of values.entries()) expect(at(String(n))).toEqual(value);
    expect(at('9', 'b', '2')).toEqual({ c: null });
    expect(at('12', 'k1999', '1', '0')).toBe(1999);
    for (const keys of [['15'], ['9', 'c'], ['9', 'b', 'x'], ['10', '-1'], ['1', 'a']]) expect(at(...keys)).toBe(null);
  });

  it('entries are left out by their keys', () => {
    const map = { a: 1, b: numbers, c: { d: 1 }, e: 5 };
    const packed = pack(map);
    for (const left of [[], ['a'], ['b', 'c'], ['e', 'x'], ['a', 'b', 'c', 'e']]) {
      const { spans, count } = run(entriesWithout(packed, left.map(pack), bytes)).found;
      const kept = Buffer.concat([mapHead(count), ...spans.map(({ from, to }) => packed.subarray(from, to))]);
      expect(unpack(kept)).toEqual(Object.fromEntries(Object.entries(map).filter(([key]) => !left.includes(key))));
    }
  });

  it('elements and keys are tested one by one', () => {
    const has = (value: Json, wanted: Json) => {
      const packed = pack(value);
      return run(someElement(packed, at => equalTo(wanted)(packed, at) >= 0, bytes)).found;
    };
    expect(has(numbers, 1_999)).toBe(true);
    expect(has(numbers, 2_000)).toBe(false);
    expect(has({ a: 'b', c: 'd' }, 'c')).toBe(true);
    expect(has({ a: 'b', c: 'd' }, 'd')).toBe(false);
  });
});

it('a step takes no more than its bytes, which decides how many steps are needed', () => {
  const packed = pack(numbers);
  const least = Math.floor(packed.length / 128);
  expect(run(jsonInSteps(packed, 64)).steps).toBeGreaterThan(least);
  expect(run(skipInSteps(packed, 0, 1, 64)).steps).toBeGreaterThan(least);
  expect(run(spanInSteps(packed, ['1999'], 64)).steps).toBeGreaterThan(least);
  expect(run(someElement(packed, () => false, 64)).steps).toBeGreaterThan(least);
  const map = pack(Object.fromEntries(numbers.map(n => [`k${n}`, n])));
  expect(run(entriesWithout(map, [], 64)).steps).toBeGreaterThan(least);
});

it('equality is that of the values', () => {
  for (const [i, value] of values.entries()) {
    const packed = pack([value, 'behind']);
    for (const [j, wanted] of values.entries()) {
      const end = equalTo(wanted)(packed, contentsOf(packed));
      expect(end, `${i} and ${j}`).toBe(i === j ? packed.length - pack('behind').length : -1);
    }
  }
  expect(equalTo({ b: 2, a: 1 })(pack({ a: 1, b: 2 }), 0)).toBeGreaterThan(0);
  expect(equalTo({ a: 1, c: 2 })(pack({ a: 1, b: 2 }), 0)).toBe(-1);
});

describe('sections', () => {
  const stored = new Map([
    ['k\0\0\0\x01', Buffer.from('0123456789')],
    ['k\0\0\0\x02', Buffer.from('abcdef')],
  ]);
  const text = (key: Uint8Array) => Buffer.from(key).toString('latin1');
  const parts = { get: (key: Uint8Array) => stored.get(text(key)), has: (key: Uint8Array) => stored.has(text(key)) };
  const sections: readonly Section[] = [
    Buffer.from('<<'),
    { base: Buffer.from('k'), at: [1, 2, 8, 2, 0, 3] },
    Buffer.from('>>'),
  ];
  const whole = '<<234567abc>>';

  it('are cut anywhere', () => {
    for (let from = 0; from <= whole.length; from++) {
      for (let to = from; to <= whole.length; to++) {
        const parted = encodeParted(sectionsWithin(sections, from, to));
        expect(Buffer.from(wholeOf(parts, parted)).toString()).toBe(whole.slice(from, to));
      }
    }
  });

  it('are put together and divided by their length', () => {
    const given = ['ab', 'c', 'defgh', 'i'].map(each => Buffer.from(each));
    expect([...joinedSections(given, 4)].map(each => Buffer.from(each as Uint8Array).toString())).toEqual([
      'abcd',
      'efgh',
      'i',
    ]);
    const mixed = [...joinedSections([given[0]!, ...sections, given[1]!], 100)];
    expect(mixed.map(each => (each instanceof Uint8Array ? each.length : 'named'))).toEqual([4, 'named', 3]);
    expect(bytesOf(mixed)).toBe(bytesOf(sections) + 3);
  });
});
