// The schema compiler: what refers to itself compiles, with and without a name.
import { describe, expect, test } from 'vitest';
import { makeSchemaCompiler } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';

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
