// Recognizes simple schemas that are certainly valid. Every other schema is checked with the metaschema of its draft. Compiling the
// metaschema, at the first such check, takes tens of milliseconds.
import { isObject } from './json-value.ts';

type Test = (value: unknown) => boolean;

/** The maximum depth of a schema that `isPlainSchema` judges. A deeper schema is checked with the metaschema. */
const depthMax = 50;

const types: readonly unknown[] = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'];

/** The keywords whose value is a list of schemas. */
const lists: readonly string[] = ['allOf', 'anyOf', 'oneOf'];

const isText: Test = value => typeof value === 'string';
const isFlag: Test = value => typeof value === 'boolean';
const isNumber: Test = value => Number.isFinite(value);
const isCount: Test = value => Number.isInteger(value) && (value as number) >= 0;
const areNames: Test = value => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;

/** The keywords without inner schemas that a simple schema may have. Each has a test that accepts only valid values of the keyword. */
const simple: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['type', value => types.includes(value)],
  ['title', isText],
  ['description', isText],
  ['format', isText],
  ['pattern', isText],
  ['required', areNames],
  ['enum', Array.isArray],
  ['const', () => true],
  ['default', () => true],
  ['minimum', isNumber],
  ['maximum', isNumber],
  ['minLength', isCount],
  ['maxLength', isCount],
  ['minItems', isCount],
  ['maxItems', isCount],
  ['uniqueItems', isFlag],
]);

/** True: the schema is valid. False: only the metaschema can decide. */
export function isPlainSchema(schema: unknown, depth = 0): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isObject(schema) || depth > depthMax) return false;
  const isPlain: Test = inner => isPlainSchema(inner, depth + 1);
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === 'properties') return isObject(value) && Object.values(value).every(isPlain);
    if (keyword === 'items' || keyword === 'additionalProperties') return isPlain(value);
    if (lists.includes(keyword)) return Array.isArray(value) && value.length > 0 && value.every(isPlain);
    return simple.get(keyword)?.(value) === true;
  });
}
