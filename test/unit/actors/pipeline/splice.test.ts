// Splicing packed bytes gives the same as packing whole values.

import { expect, it } from 'vitest';
import { overlayMap } from '../../../../runtime/overlay.ts';
import { pack, unpack } from '../../../../runtime/packing.ts';
import {
  contentsOf,
  listCount,
  listHead,
  mapCount,
  mapHead,
  skipValue,
  spanAt,
  textAt,
  writeUint,
} from '../../../../runtime/splice.ts';
import { fc } from '../../../support/seed.ts';

/** Packing does not take `__proto__` for a key, and the edge refuses it. */
const json = fc.jsonValue({ maxDepth: 4 }).filter(value => !JSON.stringify(value).includes('"__proto__":'));

it('skips exactly one value of any kind', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const first = pack(a);
      expect(skipValue(Buffer.concat([first, pack(b)]), 0)).toBe(first.length);
    }),
  );
  for (const value of [new Date(0), 2n ** 60n, Buffer.alloc(70_000), 1.5, 'x'.repeat(70_000), 'é'.repeat(40), -129]) {
    expect(skipValue(pack(value), 0)).toBe(pack(value).length);
  }
});

it('refuses bytes that end too early', () => {
  expect(() => skipValue(pack([1, 'abc']).subarray(0, 4), 0)).toThrow(RangeError);
});

it('walks large lists and maps by their heads', () => {
  for (const count of [0, 15, 16, 65_535, 65_536]) {
    const list = pack(Array.from({ length: count }, (_, i) => i));
    expect(listCount(list)).toBe(count);
    expect(list.subarray(0, contentsOf(list))).toEqual(Buffer.from(listHead(count)));
    const map = pack(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i])));
    expect(mapCount(map)).toBe(count);
    expect(map.subarray(0, contentsOf(map))).toEqual(Buffer.from(mapHead(count)));
    expect(skipValue(map, 0)).toBe(map.length);
  }
  expect([listCount(pack({})), mapCount(pack([])), mapCount(pack(null))]).toEqual([-1, -1, -1]);
});

it('finds what keys lead to, in maps by name and in lists by place', () => {
  const value = { a: [1, { b: 'x' }], é: null, ['k'.repeat(40)]: 7 };
  const bytes = pack(value);
  const found = (...keys: string[]) => {
    const span = spanAt(bytes, keys);
    return span && unpack(bytes.subarray(span.from, span.to));
  };
  expect(found()).toEqual(value);
  expect(found('a', '1', 'b')).toBe('x');
  expect(found('k'.repeat(40))).toBe(7);
  expect(spanAt(bytes, ['é'])).not.toBeNull();
  for (const keys of [['a', '2'], ['a', '01'], ['a', 'length'], ['b'], ['a', '0', 'x'], ['a', '-1']]) {
    expect(spanAt(bytes, keys)).toBeNull();
  }
});

it('writes whole numbers as packing does, and reads texts', () => {
  for (const value of [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1]) {
    const bytes = Buffer.alloc(8);
    const end = writeUint(bytes, 0, value);
    expect(bytes.subarray(0, end)).toEqual(Buffer.from(pack(value)));
  }
  for (const text of ['', 'abc', 'é'.repeat(50), 'x'.repeat(300), 'x'.repeat(70_000)]) {
    expect(textAt(pack(text), 0)).toBe(text);
  }
  expect(textAt(pack(1), 0)).toBeNull();
});

it('lays entries over a map as a spread does', () => {
  const map = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'é', 'item'), json, { noNullPrototype: true });
  fc.assert(
    fc.property(map, map, (under, over) => {
      const laid = overlayMap(pack(under), pack(over));
      expect(unpack(laid)).toEqual(JSON.parse(JSON.stringify({ ...under, ...over })));
    }),
  );
});

it('lays very many keys over others, in whatever order they are', () => {
  const count = 5_000;
  const names = Array.from({ length: count }, (_, n) => `key ${n}`);
  const shuffled = names.toSorted((a, b) => Buffer.from(a).reverse().compare(Buffer.from(b).reverse()));
  const entriesOf = (keys: readonly string[], value: number) => Object.fromEntries(keys.map(key => [key, value]));
  const under = entriesOf(names, 1);
  const rest = names.filter((_, n) => n % 3 === 0);
  for (const over of [
    names,
    shuffled,
    rest,
    names.map(key => `${key}!`),
    [...rest, ...shuffled.map(key => `${key}!`)],
  ]) {
    expect(unpack(overlayMap(pack(under), pack(entriesOf(over, 2))))).toEqual({ ...under, ...entriesOf(over, 2) });
  }
});
