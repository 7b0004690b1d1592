// The walk over this project's schemas finds what ajv finds, for whatever value.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { mismatchesOf } from '../../config/check/mismatch.ts';
import { manifestSchema, openManifestSchema } from '../../config/plugin/manifest-schema.ts';
import { settingsSchema } from '../../config/section/settings.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';
import { fc } from '../seed.ts';

const scalars = ['', 'a', 'echo', '__proto__', '30s', '1MB', '127.0.0.1:80', '/webhook/a', 'uws', 'read', '💥'];
const scalar = fc.oneof(
  fc.constantFrom<Json>(...scalars, null, true, false, -1, 0, 1, 2, 16, 1.5, 1e9, 2 ** 60),
  fc.string({ maxLength: 5 }),
);

/** Values that are right in most places, and anything at all in the others. */
function valueFor(schema: JsonObject): fc.Arbitrary<Json> {
  const { properties = {}, additionalProperties: others, items } = schema;
  const known = Object.entries(properties as { [key: string]: JsonObject });
  let right: fc.Arbitrary<Json> = scalar;
  if (Array.isArray(schema['enum'])) right = fc.constantFrom(...(schema['enum'] as Json[]));
  if (items !== undefined) right = fc.array(valueFor(items as JsonObject), { maxLength: 3 });
  if (schema['type'] === 'object') {
    const named = Object.fromEntries(known.map(([key, inner]) => [key, valueFor(inner)]));
    const free = typeof others === 'object' ? valueFor(others as JsonObject) : scalar;
    right = fc
      .tuple(fc.record(named, { requiredKeys: [] }), fc.dictionary(fc.constantFrom('echo', 'b c', ''), free))
      .map(([one, more]) => ({ ...more, ...one }) as Json);
  }
  return fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<Json> });
}

const schemas = { settingsSchema, manifestSchema, openManifestSchema };

describe.each(Object.entries(schemas))('%s', (_, schema) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, ownProperties: true });
  const validate = ajv.compile(schema);
  const pointer = (path: readonly (string | number)[]) =>
    path.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

  /** Without what ajv tells of the branches of a union, and of the rule for a key that it names besides. */
  function byAjv(value: Json): string[] {
    validate(value);
    const errors = (validate.errors ?? []).filter(error => error.propertyName === undefined);
    const unions = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => schemaPath));
    const isBranch = (path: string) => [...unions].some(union => path.startsWith(`${union}/`));
    return errors
      .filter(({ schemaPath }) => !isBranch(schemaPath))
      .map(({ instancePath, keyword, params }) => {
        const key = params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName'] ?? null;
        return `${instancePath} ${keyword} ${key}`;
      });
  }

  test('has the mismatches that ajv tells', () => {
    const keywords = new Set<string>();
    fc.assert(
      fc.property(valueFor(schema), value => {
        const found = mismatchesOf(value, schema);
        for (const { keyword } of found) keywords.add(keyword);
        expect(found.map(({ path, keyword, key }) => `${pointer(path)} ${keyword} ${key}`).sort()).toEqual(
          byAjv(value).sort(),
        );
      }),
      { numRuns: 300 },
    );
    expect([...keywords]).toEqual(expect.arrayContaining(['type', 'enum', 'pattern', 'minimum', 'required']));
  });
});

test('nothing is wrong with an empty configuration', () => {
  expect(mismatchesOf({}, settingsSchema)).toEqual([]);
});

test('a keyword that is not known here is no keyword that is ignored', () => {
  expect(() => mismatchesOf('a', { type: 'string', format: 'date' })).toThrow('format');
});
