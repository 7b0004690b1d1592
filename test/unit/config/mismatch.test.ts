// The check against the schemas of this project finds the same mismatches as ajv, for any value.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { type Definitions, definitionsOf, mismatchesOf, resolved } from '../../../config/check/mismatch.ts';
import { pipelineDefinitions, pipelinesField } from '../../../config/pipeline/schema.ts';
import { manifestSchema, openManifestSchema } from '../../../config/plugin/manifest-schema.ts';
import { settingsSchema } from '../../../config/section/settings.ts';
import type { Json, JsonObject } from '../../../runtime/packing.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';

const scalars = ['', 'a', 'echo', '__proto__', '30s', '1MB', '127.0.0.1:80', '/webhook/a', 'uws', 'read', '💥'];
const scalar = fc.oneof(
  fc.constantFrom<Json>(...scalars, null, true, false, -1, 0, 1, 2, 16, 1.5, 1e9, 2 ** 60),
  fc.string({ maxLength: 5 }),
);

/** Values that fit the schema in most places, and are anything in the others. Recursive definitions end when `depth` exceeds 2. */
function valueFor(written: JsonObject, definitions: Definitions, depth = 0): fc.Arbitrary<Json> {
  if (written['$ref'] !== undefined && depth > 2) return scalar;
  const schema = resolved(written, definitions);
  const inside = (inner: JsonObject) => valueFor(inner, definitions, depth + (written['$ref'] === undefined ? 0 : 1));
  const { properties = {}, additionalProperties: others, items } = schema;
  const known = Object.entries(properties as { [key: string]: JsonObject });
  let right: fc.Arbitrary<Json> = scalar;
  if (Array.isArray(schema['enum'])) right = fc.constantFrom(...(schema['enum'] as Json[]));
  if (Array.isArray(schema['anyOf'])) right = fc.oneof(...(schema['anyOf'] as JsonObject[]).map(inside));
  if (items !== undefined) right = fc.array(inside(items as JsonObject), { maxLength: 3 });
  if (schema['type'] === 'object') {
    const named = Object.fromEntries(known.map(([key, inner]) => [key, inside(inner)]));
    const free = typeof others === 'object' ? inside(others as JsonObject) : scalar;
    right = fc
      .tuple(fc.record(named, { requiredKeys: [] }), fc.dictionary(fc.constantFrom('echo', 'b c', ''), free))
      .map(([one, more]) => ({ ...more, ...one }) as Json);
  }
  return fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<Json> });
}

const common = ['type', 'enum', 'pattern', 'minimum', 'required'];
const pipelinesSchema = { ...pipelinesField, definitions: pipelineDefinitions };
/** Schemas, each with the keywords that the drawn values must violate. */
const schemas: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ['settingsSchema', settingsSchema, common],
  ['pipelinesSchema', pipelinesSchema, ['type', 'required', 'anyOf', 'oneOf', 'dependencies', 'minItems']],
  ['manifestSchema', manifestSchema, common],
  ['openManifestSchema', openManifestSchema, common],
];

describe.each(schemas)('%s', (_, schema, expected) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, ownProperties: true });
  const validate = ajv.compile(schema);
  const pointer = (path: readonly (string | number)[]) =>
    path.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

  /** Without what ajv tells of the alternatives of a union, and of the rule for a key that it names besides. */
  function byAjv(value: Json): string[] {
    validate(value);
    const errors = (validate.errors ?? []).filter(error => error.propertyName === undefined);
    const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
    const choices = errors.filter(({ keyword }) => keyword === 'oneOf');
    const isOfAlternative = (error: (typeof errors)[number]): boolean =>
      unions.some(union => union !== error && `${error.instancePath}/`.startsWith(`${union.instancePath}/`)) ||
      choices.some(choice => error.schemaPath.startsWith(`${choice.schemaPath}/`));
    return errors
      .filter(error => !isOfAlternative(error))
      .map(({ instancePath, keyword, params }) => {
        const needy = keyword === 'dependencies' ? params['property'] : undefined;
        const key =
          needy ?? params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName'] ?? null;
        return `${instancePath} ${keyword} ${key}`;
      });
  }

  test('has the mismatches that ajv tells', () => {
    const keywords = new Set<string>();
    fc.assert(
      fc.property(valueFor(schema, definitionsOf(schema)), value => {
        const found = mismatchesOf(value, schema);
        for (const { keyword } of found) keywords.add(keyword);
        expect(found.map(({ path, keyword, key }) => `${pointer(path)} ${keyword} ${key}`).sort()).toEqual(
          byAjv(value).sort(),
        );
      }),
      { numRuns: cyclesOf({ deep: 100, quick: 30 }) },
    );
    expect([...keywords]).toEqual(expect.arrayContaining([...expected]));
  });
});

test('nothing is wrong with an empty configuration', () => {
  expect(mismatchesOf({}, settingsSchema)).toEqual([]);
});

test('a keyword that is not known here is no keyword that is ignored', () => {
  expect(() => mismatchesOf('a', { type: 'string', format: 'date' })).toThrow('format');
});
