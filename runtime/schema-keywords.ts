// The keywords of JSON Schema by the kind of their value, and the keywords that drafts 6 and 7 ignore.
import { isObject } from './json-value.ts';
import type { Json, JsonObject } from './packing.ts';

/** Keywords by the kind of their value: one schema (`single`), a list of schemas, a map of schemas, or plain data (`values`). */
const single = ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'items', 'additionalItems']
  .concat(['contains', 'propertyNames', 'not', 'if', 'then', 'else', 'contentSchema'])
  .map(keyword => [keyword, 'schema'] as const);
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'].map(keyword => [keyword, 'schemas'] as const);
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'].map(
  keyword => [keyword, 'map'] as const,
);
const values = ['const', 'enum', 'default', 'examples', 'example', 'required', 'type', 'dependentRequired'].map(
  keyword => [keyword, 'value'] as const,
);
export const keywordContents: ReadonlyMap<string, 'schema' | 'schemas' | 'map' | 'value'> = new Map([
  ...single,
  ...lists,
  ...maps,
  ...values,
]);

/** Whether the schema names draft 6 or 7, in which some keywords have another meaning than in the drafts since 2019. */
export function isOldDraft({ $schema }: JsonObject): boolean {
  return typeof $schema === 'string' && /draft-0[67]/.test($schema);
}

/** Keywords that stay beside `$ref`: none of them restricts the value. */
const keptBesideRef = ['$ref', '$schema', '$id', '$comment', 'title', 'description', 'definitions', '$defs'];

/**
 * The schema without the keywords that its draft ignores: drafts 6 and 7 ignore those beside `$ref`. They are removed because ajv and the
 * drafts since 2019 apply them.
 */
export function withoutIgnoredKeywords(schema: JsonObject): JsonObject {
  return isOldDraft(schema) ? withReferencesAlone(schema) : schema;
}

function withReferencesAlone(schema: JsonObject): JsonObject {
  const within = (value: Json): Json => (isObject(value) ? withReferencesAlone(value) : value);
  const isReference = typeof schema['$ref'] === 'string';
  const entries = Object.entries(schema)
    .filter(([keyword]) => !isReference || keptBesideRef.includes(keyword))
    .map(([keyword, value]): [string, Json] => {
      const kind = keywordContents.get(keyword);
      if (kind === 'value') return [keyword, value];
      if (Array.isArray(value)) return [keyword, value.map(within)];
      if (kind !== 'map' || !isObject(value)) return [keyword, within(value)];
      return [keyword, Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(inner)]))];
    });
  return Object.fromEntries(entries);
}
