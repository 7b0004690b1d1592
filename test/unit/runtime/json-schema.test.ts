// The schema compiler: recursive schemas compile, with and without `$id`; uniqueItems takes linear time; multipleOf is exact; steps of patterns
// and of references are limited.
import { describe, expect, test } from 'vitest';
import { makeSchemaCompiler } from '../../../runtime/json-schema.ts';
import type { Json, JsonObject } from '../../../runtime/packing.ts';
import { filterSchema, nestedFilter } from '../../support/nested-filters.ts';

describe('a schema that refers to itself', () => {
  const node = { type: 'object', additionalProperties: false } as const;
  test.each<[what: string, schema: JsonObject]>([
    ['whole', { ...node, properties: { child: { $ref: '#' } } }],
    [
      'whole, from a definition',
      { ...node, properties: { child: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#' } } },
    ],
    ['by a definition', { $ref: '#/$defs/a', $defs: { a: { ...node, properties: { child: { $ref: '#/$defs/a' } } } } }],
    ['under its own name', { $id: 'https://example.org/a', ...node, properties: { child: { $ref: '#' } } }],
    [
      'in draft 7',
      { $schema: 'http://json-schema.org/draft-07/schema#', ...node, properties: { child: { $ref: '#' } } },
    ],
  ])('%s', (_, schema) => {
    const compile = makeSchemaCompiler();
    // Compiled twice, because the second time must not be disturbed by the first.
    for (const compiled of [compile(schema), compile({ ...schema })]) {
      if (!compiled.ok) throw new Error(compiled.message);
      expect(compiled.check({ child: { child: {} } })).toEqual([]);
      expect(compiled.check({ child: { child: { a: 1 } } })).toMatchObject([{ pointer: '/child/child' }]);
    }
  });
});

test.each<JsonObject>([
  { $ref: '#' },
  { allOf: [{ $ref: '#' }] },
  { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
])('%j is refused: it fails of every value', schema => {
  expect(makeSchemaCompiler()(schema)).toEqual({ ok: false, message: 'its references are circular' });
});

describe('text that is too long for its patterns', () => {
  // A pattern of 605 instructions.
  const costly = { type: 'string', pattern: 'a[ab]{0,300}c$' };
  const refused = [{ pointer: '', keyword: 'pattern', message: 'has too much text to match against its patterns' }];
  const mismatches = (schema: JsonObject, value: Json) => {
    const compiled = makeSchemaCompiler()(schema);
    if (!compiled.ok) throw new Error(compiled.message);
    // The second check has the full number of steps, although a first one has used some.
    compiled.check(value);
    return compiled.check(value);
  };

  test.each<[what: string, schema: JsonObject, value: Json]>([
    ['one text', costly, 'ab'.repeat(500_000)],
    ['many texts', { items: costly }, Array<string>(20_000).fill('aaac'.repeat(10))],
    ['one below "not"', { not: costly }, 'ab'.repeat(500_000)],
    ['one text for a small pattern', { pattern: '^[a-z ]*$' }, 'a'.repeat(2_100_000)],
    ['a key', { propertyNames: costly }, { ['ab'.repeat(500_000)]: 1 }],
  ])('%s is refused', (_, schema, value) => expect(mismatches(schema, value)).toMatchObject(refused));

  test('what is just short enough is matched', () => {
    const text = 'aaac'.repeat(16_000);
    expect(mismatches(costly, text)).toEqual([]);
    expect(mismatches({ pattern: '^[a-z ]*$' }, 'a'.repeat(1_000_000))).toEqual([]);
    const uuid = '018bcfe5-6800-7000-8000-0000ffffffff';
    const pattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
    expect(mismatches({ items: { pattern } }, Array<string>(26_000).fill(uuid))).toEqual([]);
  });
});

describe('a schema that checks the same value again and again', () => {
  const compiledOf = (schema: JsonObject) => {
    const compiled = makeSchemaCompiler()(schema);
    if (!compiled.ok) throw new Error(compiled.message);
    return compiled;
  };
  const tooMany = { pointer: '', keyword: '$ref', message: 'takes too many steps to check against its schema' };

  test('reports all mismatches, or says that there would be too many', () => {
    const { check, checkAll } = compiledOf(filterSchema(false));
    expect(check(nestedFilter(30, 'a'))).toEqual([]);
    expect(checkAll(nestedFilter(2, 'a'))).toEqual([]);
    expect(checkAll(nestedFilter(2, 7))!.length).toBeGreaterThan(check(nestedFilter(2, 7)).length);
    expect(check(nestedFilter(30, 7)).length).toBeGreaterThan(0);
    expect(checkAll(nestedFilter(30, 7))).toBeNull();
  });

  test('refuses a value that would be checked too often', () => {
    const { check } = compiledOf(filterSchema(true));
    expect(check(nestedFilter(5, 'a'))).toEqual([]);
    expect(check(nestedFilter(30, 'a'))).toMatchObject([tooMany]);
    expect(check(nestedFilter(30, 7))).toMatchObject([tooMany]);
    // The size of the value counts: a small value is accepted at this depth.
    expect(check(nestedFilter(8, 'a'))).toEqual([]);
    expect(check(nestedFilter(8, 'a', Array<number>(100_000).fill(1)))).toMatchObject([tooMany]);
    expect(check(nestedFilter(8, 'a'.repeat(1_000_000)))).toMatchObject([tooMany]);
  });

  test.each<[what: string, schema: JsonObject]>([
    [
      'draft 7',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } },
    ],
    ['$dynamicRef', { $dynamicAnchor: 'a', items: { anyOf: [{ $dynamicRef: '#a' }, { $dynamicRef: '#a' }] } }],
    ['unevaluatedItems', { unevaluatedItems: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } }],
  ])('in %s', (_, schema) => {
    let value: Json = 'a';
    for (let i = 0; i < 40; i++) value = [value];
    const { check } = compiledOf({ ...schema, type: ['array', 'number'] });
    expect(check([[1]])).toEqual([]);
    expect(check(value)).toMatchObject([tooMany]);
  });

  test('a schema whose references take too many steps for every value is refused', () => {
    const names = Array.from({ length: 40 }, (_, i) => `d${i}`);
    const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
    const $defs = Object.fromEntries(names.map((name, i) => [name, i === 0 ? {} : twice(names[i - 1]!)]));
    const message = 'its references take too many steps to check even an empty object';
    expect(makeSchemaCompiler()({ ...twice('d39'), $defs })).toEqual({ ok: false, message });
  });

  test('a large value takes few steps for each of its values', () => {
    const point = { type: 'object', properties: { x: { $ref: '#/$defs/n' }, y: { $ref: '#/$defs/n' } } };
    const { check } = compiledOf({ items: { $ref: '#/$defs/point' }, $defs: { n: { type: 'number' }, point } });
    expect(check(Array.from({ length: 300_000 }, (_, x) => ({ x, y: x })))).toEqual([]);
    const tree = compiledOf({ type: 'array', items: { $ref: '#' } });
    expect(tree.check(Array.from({ length: 300_000 }, () => [[]]))).toEqual([]);
  });

  test('a value for which the references have no end is refused', () => {
    const { check } = compiledOf({ if: { maxProperties: 0 }, else: { $ref: '#' } });
    expect(check({})).toEqual([]);
    expect(check({ a: 1 })).toMatchObject([{ pointer: '', keyword: '$ref' }]);
  });
});

describe('multipleOf', () => {
  test.each<[of: number, multiples: readonly number[], others: readonly number[]]>([
    [0.01, [0, -0, 0.07, 0.3, 4.35, 19.99, -19.99, 123456789.01, 1e21, 1e300], [0.001, 19.999, 1e-7, 0.0100000001]],
    [0.1, [0.3, 0.7, 1.1], [0.35, 1.25]],
    [1e-7, [1.5e-6, 1], [1.5e-7, 5e-324]],
    [3, [9, -9, 0, 9007199254740990], [10, 9.5, 1e21]],
    [2.5, [5, 1e21], [3]],
    [1e21, [2e21], [1, 1.5e21]],
    [2 ** 50, [1e50, 1e300], [1e49]],
    [5e-324, [1e-323, 1e308], []],
    // 2^58 × 5^5, written with 21 digits.
    [900719925474099200000, [0, 1e58, 1e300, -1e300], [1e57, 1e20]],
  ])('%d: %j, and not %j', (multipleOf, multiples, others) => {
    const compiled = makeSchemaCompiler()({ items: { multipleOf } });
    if (!compiled.ok) throw new Error(compiled.message);
    expect(compiled.check(multiples)).toEqual([]);
    for (const other of others) {
      const message = `must be multiple of ${multipleOf}`;
      expect(compiled.check([other]), String(other)).toMatchObject([{ pointer: '/0', keyword: 'multipleOf', message }]);
    }
  });

  test('says nothing of what is no number, and no to what is too large for one', () => {
    const compiled = makeSchemaCompiler()({ multipleOf: 2 });
    if (!compiled.ok) throw new Error(compiled.message);
    expect(compiled.check('3')).toEqual([]);
    for (const text of ['1e999', '-1e999']) expect(compiled.check(JSON.parse(text))).toHaveLength(1);
  });
});

describe('uniqueItems', () => {
  const compiled = makeSchemaCompiler()({ type: 'array', uniqueItems: true });
  if (!compiled.ok) throw new Error(compiled.message);
  const { check } = compiled;

  test.each<[items: readonly Json[], equal: boolean]>([
    [[], false],
    [[1, '1', true, null, 'null', [], {}, [[]], [{}]], false],
    [[1, 2, 1.0], true],
    [[0, -0], true],
    [
      [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ],
      true,
    ],
    [
      [
        { a: 1, b: [2, 3] },
        { b: [3, 2], a: 1 },
      ],
      false,
    ],
    [[{ 'a":1,"b': 1 }, { a: 1, b: 1 }], false],
    [[['a', 'b'], ['a,b']], false],
  ])('%j has equal items: %s', (items, equal) => {
    expect(check(items).map(({ keyword }) => keyword)).toEqual(equal ? ['uniqueItems'] : []);
  });

  test('says which items are equal', () => {
    expect(check([{}, 1, {}])).toMatchObject([{ pointer: '', message: 'must not have equal items: 0 and 2 are' }]);
  });

  // Comparing each object with each other would take minutes.
  test('takes a hundred thousand objects', () => {
    const items = Array.from({ length: 100_000 }, (_, n) => ({ n: { n } }));
    expect(check(items)).toEqual([]);
    expect(check([...items, { n: { n: 7 } }])).toHaveLength(1);
  });

  test('false restricts nothing', () => {
    const free = makeSchemaCompiler()({ uniqueItems: false });
    expect(free.ok && free.check([1, 1])).toEqual([]);
  });
});
