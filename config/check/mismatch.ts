// Where a value breaks a schema of this project. Such a check runs once or twice in the life of a process: walking the schema
// takes a millisecond, compiling it would take a fifth of a second at every start.
import type { Json, JsonObject } from '../../runtime/packing.ts';
import type { NodePath } from '../source/tree.ts';

export type Mismatch = {
  /** Where the value is. */
  readonly path: NodePath;
  readonly keyword: string;
  /** The schema that holds the keyword. */
  readonly schema: JsonObject;
  /** The key that is unknown, missing or not a name; null where the value is wrong. */
  readonly key: string | null;
};

type Break = (value: Json, wanted: never) => boolean;

const isText = (value: Json): value is string => typeof value === 'string';
const isNumber = (value: Json): value is number => typeof value === 'number';
const isMap = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const types: { readonly [type: string]: (value: Json) => boolean } = {
  string: isText,
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  array: Array.isArray,
  object: isMap,
};

/** Keywords that say something of the value itself: whether it breaks them. */
const breaks: { readonly [keyword: string]: Break } = {
  type: (value, type: string) => !types[type]!(value),
  minimum: (value, least: number) => isNumber(value) && value < least,
  maximum: (value, most: number) => isNumber(value) && value > most,
  minLength: (value, least: number) => isText(value) && [...value].length < least,
  pattern: (value, pattern: string) => isText(value) && !new RegExp(pattern, 'u').test(value),
  minItems: (value, least: number) => Array.isArray(value) && value.length < least,
  maxItems: (value, most: number) => Array.isArray(value) && value.length > most,
  const: (value, only: Json) => value !== only,
  enum: (value, choice: readonly Json[]) => !choice.includes(value),
  not: (value, unwanted: JsonObject) => mismatchesOf(value, unwanted).length === 0,
  anyOf: (value, choice: readonly JsonObject[]) => choice.every(schema => mismatchesOf(value, schema).length > 0),
};

/** Keywords that say something of what the value holds. */
const inner = ['required', 'additionalProperties', 'properties', 'propertyNames', 'items'];
const annotations = ['description', 'expected', 'restart', 'restartToSwitch', 'writeOnly'];
const silent = new Set([...inner, ...annotations]);

/** Every mismatch; of a union it tells none of the branches. */
export function mismatchesOf(value: Json, schema: JsonObject, path: NodePath = []): Mismatch[] {
  const found: Mismatch[] = [];
  for (const [keyword, wanted] of Object.entries(schema)) {
    if (silent.has(keyword)) continue;
    const isBroken = breaks[keyword];
    if (isBroken === undefined) throw new Error(`the keyword ${keyword} is not known in schemas of this project`);
    if (isBroken(value, wanted as never)) found.push({ path, keyword, schema, key: null });
  }
  if (isMap(value)) found.push(...insideMap(value, schema, path));
  const { items } = schema;
  if (Array.isArray(value) && items !== undefined)
    found.push(...value.flatMap((item: Json, index) => mismatchesOf(item, items as JsonObject, [...path, index])));
  return found;
}

function insideMap(value: JsonObject, schema: JsonObject, path: NodePath): Mismatch[] {
  const { required = [], properties = {}, additionalProperties: others = true, propertyNames: names } = schema;
  const missing = (required as string[]).filter(key => !Object.hasOwn(value, key));
  const found: Mismatch[] = missing.map(key => ({ path, keyword: 'required', schema, key }));
  for (const [key, item] of Object.entries(value)) {
    if (names !== undefined && mismatchesOf(key, names as JsonObject).length > 0)
      found.push({ path, keyword: 'propertyNames', schema, key });
    const known = Object.hasOwn(properties as JsonObject, key) ? (properties as JsonObject)[key] : others;
    if (known === false) found.push({ path, keyword: 'additionalProperties', schema, key });
    else if (known !== true) found.push(...mismatchesOf(item, known as JsonObject, [...path, key]));
  }
  return found;
}
