// Expands the schemas of payloads and results, which are full JSON Schemas or the short form `{ field: type }`.
import type { Json, JsonObject } from '../../runtime/packing.ts';
import { hint } from '../check/suggestion.ts';

const typeNames = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null', 'any'] as const;

const isTypeName = (value: Json): boolean => (typeNames as readonly Json[]).includes(value);

// Keywords whose value can be a string. A map of strings that has only these keys may be a full schema.
const textKeywords = [
  '$schema',
  '$id',
  '$ref',
  '$comment',
  '$anchor',
  'type',
  'title',
  'description',
  'format',
  'pattern',
];

export type ExpandedSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly key: string; readonly message: string };

/** The schema as a full JSON Schema. The fields of the short form are optional, and other fields are allowed. */
export function expandSchema(written: JsonObject, dialect: 'headgate' | 'ductile'): ExpandedSchema {
  if (!isShort(written)) return { ok: true, schema: written };
  const properties: { [field: string]: JsonObject } = {};
  for (const [key, type] of Object.entries(written) as [string, string][]) {
    if (isTypeName(type)) {
      properties[key] = type === 'any' ? {} : { type };
    } else if (dialect === 'ductile') {
      // Plugins for ductile must run without changes, so an unknown type accepts every value.
      properties[key] = { description: type };
    } else {
      const message = `is ${JSON.stringify(type)}, which is not a type${hint(type, typeNames, 'types')}`;
      return { ok: false, key, message };
    }
  }
  return { ok: true, schema: { type: 'object', properties } };
}

/**
 * Whether a schema has the short form. A payload is always an object, so `{ type: string }` can only be a field named `type`. But
 * `{ type: array }` is probably a mistake: it counts as a full schema, which `readSchema` refuses for a payload.
 */
function isShort(written: JsonObject): boolean {
  const entries = Object.entries(written);
  if (entries.length === 0 || entries.some(([, value]) => typeof value !== 'string')) return false;
  if (entries.some(([key]) => !textKeywords.includes(key))) return true;
  if ('$ref' in written || '$schema' in written) return false;
  const type = written['type'];
  return type === undefined ? entries.every(([, value]) => isTypeName(value)) : type !== 'object' && type !== 'array';
}
