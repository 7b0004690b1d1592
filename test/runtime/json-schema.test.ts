// The schema compiler: what refers to itself compiles, with and without a name; uniqueItems takes linear time.
import { describe, expect, test } from 'vitest';
import { makeSchemaCompiler } from '../../runtime/json-schema.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';

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
    // Twice: the second must not trip over the first.
    for (const compiled of [compile(schema), compile({ ...schema })]) {
      if (!compiled.ok) throw new Error(compiled.message);
      expect(compiled.check({ child: { child: {} } })).toEqual([]);
      expect(compiled.check({ child: { child: { a: 1 } } })).toMatchObject([{ pointer: '/child/child' }]);
    }
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

  // Compared each with each this takes minutes.
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
