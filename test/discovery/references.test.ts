// Schemas that move into a document: every reference still leads to what it led to.
import { describe, expect, test } from 'vitest';
import { embedSchema, hasReferences } from '../../http/openapi/references.ts';
import type { JsonObject } from '../../runtime/packing.ts';

const place = '#/components/schemas/p__c';

describe('a reference', () => {
  test.each<[what: string, schema: JsonObject, embedded: JsonObject]>([
    ['to the whole', { items: { $ref: '#' } }, { items: { $ref: place } }],
    [
      'to a field, which is called like a keyword',
      { properties: { $ref: { type: 'string' }, a: { $ref: '#/properties/$ref' } } },
      { properties: { $ref: { type: 'string' }, a: { $ref: `${place}/properties/$ref` } } },
    ],
    [
      'to a key with escapes',
      { properties: { 'a/b~ %#é': { type: 'string' }, c: { $ref: '#/properties/a~1b~0%20%25%23%C3%A9' } } },
      {
        properties: {
          'a/b~ %#é': { type: 'string' },
          c: { $ref: `${place}/properties/a~1b~0%20%25%23%C3%A9` },
        },
      },
    ],
    [
      'to a definition whose name no tool takes',
      { $defs: { 'a b': { type: 'string' }, a_b: {} }, items: { $ref: '#/$defs/a%20b' } },
      { $defs: { a_b_2: { type: 'string' }, a_b: {} }, items: { $ref: `${place}/$defs/a_b_2` } },
    ],
    [
      'by anchor',
      { $defs: { a: { $anchor: 'x', type: 'string' } }, items: { $ref: '#x' } },
      { $defs: { a: { type: 'string' } }, items: { $ref: `${place}/$defs/a` } },
    ],
    [
      'into a schema with an $id of its own, from within and from without',
      {
        $id: 'https://example.org/a/root.json',
        $defs: { b: { $id: 'b.json', $defs: { c: {} }, items: { $ref: '#/$defs/c' } } },
        items: { $ref: 'b.json#/$defs/c' },
        contains: { $ref: '/a/b.json' },
        not: { $ref: '#/$defs/b/$defs/c' },
      },
      {
        $defs: { b: { $defs: { c: {} }, items: { $ref: `${place}/$defs/b/$defs/c` } } },
        items: { $ref: `${place}/$defs/b/$defs/c` },
        contains: { $ref: `${place}/$defs/b` },
        not: { $ref: `${place}/$defs/b/$defs/c` },
      },
    ],
    [
      'of draft 7: what stands beside it does not count, and lists of items have another name',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        definitions: { a: { $id: '#x', maxLength: 3 } },
        items: [{ $ref: '#x', minLength: 9 }, { $ref: '#/items/0' }],
        additionalItems: { $ref: '#/definitions/a' },
      },
      {
        definitions: { a: { maxLength: 3 } },
        prefixItems: [{ $ref: `${place}/definitions/a` }, { $ref: `${place}/prefixItems/0` }],
        items: { $ref: `${place}/definitions/a` },
      },
    ],
    [
      'to another document stays',
      { $ref: 'https://json-schema.org/draft/2020-12/schema' },
      { $ref: 'https://json-schema.org/draft/2020-12/schema' },
    ],
  ])('%s', (_, schema, embedded) => {
    expect(embedSchema(schema, place)).toEqual(embedded);
    expect(hasReferences(schema)).toBe(true);
  });

  test('that is a value is none', () => {
    const schema = { const: { $ref: '#/a' }, enum: [{ $ref: '#/b' }], default: { $ref: '#' }, maximum: 3 };
    expect([embedSchema(schema, place), hasReferences(schema)]).toEqual([schema, false]);
  });

  test('that no URI can be changes nothing and throws nothing', () => {
    const schema = { $id: 'http://[', items: { $ref: 'http://[' }, properties: { '\ud800': { $ref: '#%' } } };
    const { $id: _, ...rest } = schema;
    expect(embedSchema(schema, place)).toEqual(rest);
  });
});
