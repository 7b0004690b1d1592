// Schemas that move into a document: every reference still leads to what it led to.
import { describe, expect, test } from 'vitest';
import { type Embedded, embedSchema } from '../../../http/openapi/references.ts';
import type { JsonObject } from '../../../runtime/packing.ts';

const root = '#/components/schemas/p__c';
const embed = (schema: JsonObject) => embedSchema(schema, 'p__c');
const itself = { $ref: root };

describe('a reference', () => {
  test.each<[what: string, schema: JsonObject, embedded: Embedded]>([
    ['to the whole', { items: { $ref: '#' } }, { schema: itself, components: { p__c: { items: { $ref: root } } } }],
    [
      'to a definition, which becomes a component; one that nothing refers to goes',
      {
        $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { $ref: '#/$defs/a' }, c: { $ref: '#/$defs/d' }, d: {} },
        items: { $ref: '#/$defs/a' },
      },
      {
        schema: { items: { $ref: `${root}.a` } },
        components: { 'p__c.a': { items: { $ref: `${root}.b` } }, 'p__c.b': { $ref: `${root}.a` } },
      },
    ],
    [
      'to a field, which is called like a keyword',
      { properties: { $ref: { type: 'string' }, a: { $ref: '#/properties/$ref' } } },
      {
        schema: itself,
        components: { p__c: { properties: { $ref: { type: 'string' }, a: { $ref: `${root}/properties/$ref` } } } },
      },
    ],
    [
      'to a key with escapes',
      { properties: { 'a/b~ %#é': { type: 'string' }, c: { $ref: '#/properties/a~1b~0%20%25%23%C3%A9' } } },
      {
        schema: itself,
        components: {
          p__c: {
            properties: { 'a/b~ %#é': { type: 'string' }, c: { $ref: `${root}/properties/a~1b~0%20%25%23%C3%A9` } },
          },
        },
      },
    ],
    [
      'to definitions whose names no tool takes, and that are only true or false',
      { $defs: { 'a b': true, a_b: false }, items: { $ref: '#/$defs/a%20b' }, not: { $ref: '#/$defs/a_b' } },
      {
        schema: { items: { $ref: `${root}.a_b` }, not: { $ref: `${root}.a_b_2` } },
        components: { 'p__c.a_b': {}, 'p__c.a_b_2': { not: {} } },
      },
    ],
    [
      'by anchor, also a dynamic one',
      {
        $defs: { a: { $anchor: 'x', type: 'string' }, b: { $dynamicAnchor: 'y' } },
        items: { $ref: '#x' },
        not: { $dynamicRef: '#y' },
      },
      {
        schema: { items: { $ref: `${root}.a` }, not: { $ref: `${root}.b` } },
        components: { 'p__c.a': { type: 'string' }, 'p__c.b': {} },
      },
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
        schema: { items: { $ref: `${root}.b.c` }, contains: { $ref: `${root}.b` }, not: { $ref: `${root}.b.c` } },
        components: { 'p__c.b': { items: { $ref: `${root}.b.c` } }, 'p__c.b.c': {} },
      },
    ],
    [
      'of draft 7, in which lists of items have another name',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        definitions: { a: { $id: '#x', maxLength: 3 } },
        items: [{ $ref: '#x' }, { $ref: '#/items/0' }],
        additionalItems: { $ref: '#/definitions/a' },
      },
      {
        schema: itself,
        components: {
          p__c: {
            prefixItems: [{ $ref: `${root}.a` }, { $ref: `${root}/prefixItems/0` }],
            items: { $ref: `${root}.a` },
          },
          'p__c.a': { maxLength: 3 },
        },
      },
    ],
    [
      'to another document stays',
      { $ref: 'https://json-schema.org/draft/2020-12/schema' },
      { schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' }, components: {} },
    ],
  ])('%s', (_, schema, embedded) => {
    expect(embed(schema)).toEqual(embedded);
  });

  test('that is a value is none', () => {
    const schema = { const: { $ref: '#/a' }, enum: [{ $ref: '#/b' }], default: { $ref: '#' }, maximum: 3 };
    expect(embed(schema)).toEqual({ schema, components: {} });
  });

  test('that no URI can be changes nothing and throws nothing', () => {
    const schema = { $id: 'http://[', items: { $ref: 'http://[' }, properties: { '\ud800': { $ref: '#%' } } };
    const { $id: _, ...rest } = schema;
    expect(embed(schema)).toEqual({ schema: rest, components: {} });
  });

  test('leads to components with names that the document does not have yet', () => {
    const schema = { items: { $ref: '#' }, not: { $ref: '#/$defs/a' }, $defs: { a: { type: 'string' } } };
    const { components } = embedSchema(schema, 'p__c', { p__c: {}, 'p__c_2.a': {} });
    expect(components).toEqual({
      p__c_2: { items: { $ref: `${root}_2` }, not: { $ref: `${root}_2.a_2` } },
      'p__c_2.a_2': { type: 'string' },
    });
  });
});
