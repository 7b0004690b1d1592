// Plain schemas are not checked against the metaschema, which must accept each of them.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeSchemaCompiler, metaschemaProblem, schemaProblem } from '../../../runtime/json-schema.ts';
import type { JsonObject } from '../../../runtime/packing.ts';
import { isPlainSchema } from '../../../runtime/plain-schema.ts';
import { fc } from '../../support/seed.ts';

const keywords = [
  ...[
    'type',
    'title',
    'description',
    'format',
    'pattern',
    'required',
    'enum',
    'const',
    'default',
    'minimum',
    'maximum',
  ],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', '$ref', 'oneOf', 'multipleOf', 'unheard-of'],
];
const value = fc.oneof(
  fc.constantFrom('string', 'object', 'integer', 'any', '', true, false, null, 0, 3, -1, 1.5),
  fc.array(fc.constantFrom('string', 'a', 'b', 1, {}), { maxLength: 3 }),
  fc.constant({}),
);
const { schema } = fc.letrec<{ schema: unknown; object: unknown }>(tie => ({
  schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), tie('object'), value),
  object: fc
    .tuple(
      fc.dictionary(fc.constantFrom(...keywords), value, { maxKeys: 3 }),
      fc.dictionary(fc.constantFrom('items', 'additionalProperties'), tie('schema'), { maxKeys: 1 }),
      fc.dictionary(fc.constantFrom('anyOf', 'allOf'), fc.array(tie('schema'), { maxLength: 2 }), { maxKeys: 1 }),
      fc.option(fc.dictionary(fc.constantFrom('a', 'type', '$ref'), tie('schema'), { maxKeys: 2 }), { nil: undefined }),
    )
    .map(([simple, nested, lists, properties]) => ({
      ...simple,
      ...nested,
      ...lists,
      ...(properties && { properties }),
    })),
}));

test('the metaschema accepts every plain schema', () => {
  let plain = 0;
  fc.assert(
    fc.property(schema, one => {
      if (typeof one !== 'object' || one === null || Array.isArray(one) || !isPlainSchema(one)) return;
      plain++;
      expect([one, metaschemaProblem(one as JsonObject)]).toEqual([one, null]);
    }),
    { numRuns: 3_000 },
  );
  expect(plain).toBeGreaterThan(100);
});

test.each<JsonObject>([
  { type: 'text' },
  { type: ['string'] },
  { title: 1 },
  { required: ['a', 'a'] },
  { required: 'a' },
  { minLength: -1 },
  { minimum: '1' },
  { uniqueItems: 1 },
  { properties: [] },
  { properties: { a: { type: 'text' } } },
  { items: [{ type: 'string' }] },
  { additionalProperties: 'no' },
  { oneOf: [] },
  { anyOf: [{ type: 'text' }] },
  { $ref: '#' },
  { $schema: 'http://json-schema.org/draft-07/schema#' },
])('%j is left to the metaschema', one => {
  expect(isPlainSchema(one)).toBe(false);
  expect(schemaProblem(one)).toBe(metaschemaProblem(one));
});

test.each([
  ['http://json-schema.org/draft-06/schema#', null],
  ['http://json-schema.org/draft-07/schema', null],
  ['https://json-schema.org/draft/2020-12/schema', null],
  [
    'https://json-schema.org/draft/2019-09/schema',
    '$schema must name draft 6, 7 or 2020-12, not "https://json-schema.org/draft/2019-09/schema"',
  ],
  ['draft 8', '$schema must name draft 6, 7 or 2020-12, not "draft 8"'],
])('a schema of the draft %s: %s', ($schema, problem) => {
  expect(schemaProblem({ $schema, properties: { a: { exclusiveMinimum: 1 } } })).toBe(problem);
  if (problem === null) {
    expect(schemaProblem({ $schema, type: 'text' })).toMatch(
      /^schema\/type must be equal to one of the allowed values/,
    );
    expect(makeSchemaCompiler()({ $schema, type: 'object' })).toMatchObject({ ok: true });
  }
});

test('nesting is bounded', () => {
  let nested: JsonObject = {};
  for (let depth = 0; depth < 10_000; depth++) nested = { items: nested };
  expect(isPlainSchema(nested)).toBe(false);
});

test('the schemas of the bundled plugins are plain', () => {
  const root = new URL('../../../plugins/', import.meta.url);
  const manifests = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(path =>
    path.endsWith('manifest.yaml'),
  );
  const schemas = manifests.flatMap(path => {
    const { commands } = parse(readFileSync(new URL(path, root), 'utf8')) as { commands: { input_schema?: object }[] };
    return commands.flatMap(({ input_schema }) => input_schema ?? []);
  });
  expect(schemas.length).toBeGreaterThanOrEqual(5);
  expect(schemas.filter(one => !isPlainSchema(one))).toEqual([]);
});
