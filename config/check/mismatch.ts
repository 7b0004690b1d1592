// Compares a value with a schema of this project, and yields the mismatches. The schema is walked instead of compiled, because compiling would
// slow down every start.
import type { Json, JsonObject } from '../../runtime/packing.ts';
import type { NodePath } from '../source/tree.ts';

export type Mismatch = {
  /** The path to the value that does not fit. */
  readonly path: NodePath;
  readonly keyword: string;
  /** The schema that contains the keyword. */
  readonly schema: JsonObject;
  /**
   * The key that is unknown, missing, badly named, or present without another key that it requires. Null: the value itself is
   * wrong.
   */
  readonly key: string | null;
};

/** The schemas to which `$ref` refers, by name. */
export type Definitions = { readonly [name: string]: JsonObject };

type Break = (value: Json, wanted: never, definitions: Definitions) => boolean;

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

/** Checks the keywords that apply to a value as a whole, not to its keys or items. Each function returns whether the value breaks its keyword. */
const breaks: { readonly [keyword: string]: Break } = {
  type: (value, type: string) => !types[type]!(value),
  minimum: (value, least: number) => isNumber(value) && value < least,
  maximum: (value, most: number) => isNumber(value) && value > most,
  minLength: (value, least: number) => isText(value) && [...value].length < least,
  pattern: (value, pattern: string) => isText(value) && !new RegExp(pattern, 'u').test(value),
  minItems: (value, least: number) => Array.isArray(value) && value.length < least,
  maxItems: (value, most: number) => Array.isArray(value) && value.length > most,
  minProperties: (value, least: number) => isMap(value) && Object.keys(value).length < least,
  maxProperties: (value, most: number) => isMap(value) && Object.keys(value).length > most,
  const: (value, only: Json) => value !== only,
  enum: (value, choice: readonly Json[]) => !choice.includes(value),
  not: (value, unwanted: JsonObject, definitions) => isValid(value, unwanted, definitions),
  anyOf: (value, choice: readonly JsonObject[], definitions) => countValid(value, choice, definitions) === 0,
  oneOf: (value, choice: readonly JsonObject[], definitions) => countValid(value, choice, definitions) !== 1,
};

/** Keywords that `walk` and `walkKeys` check themselves, so they have no entry in `breaks`. */
const inner = ['required', 'dependencies', 'additionalProperties', 'properties', 'propertyNames', 'items'];
const annotations = ['definitions', 'description', 'expected', 'writeOnly'];
const silent = new Set([...inner, ...annotations]);

export function definitionsOf(schema: JsonObject): Definitions {
  return (schema['definitions'] ?? {}) as Definitions;
}

/** The schema itself or, if it is a `$ref`, the definition that it names. */
export function resolved(schema: JsonObject, definitions: Definitions): JsonObject {
  const { $ref: reference } = schema;
  return typeof reference === 'string' ? definitions[reference.slice('#/definitions/'.length)]! : schema;
}

export function isValid(value: Json, schema: JsonObject, definitions: Definitions): boolean {
  return walk(value, schema, definitions, []).next().done === true;
}

function countValid(value: Json, schemas: readonly JsonObject[], definitions: Definitions): number {
  return schemas.filter(schema => isValid(value, schema, definitions)).length;
}

/**
 * All mismatches of the value. A value that fits no alternative of a union counts as one mismatch; the mismatches of the
 * alternatives are left out.
 */
export function mismatchesOf(
  value: Json,
  schema: JsonObject,
  path: NodePath = [],
  definitions = definitionsOf(schema),
): Mismatch[] {
  return [...walk(value, schema, definitions, path)];
}

/**
 * Yields the mismatches of a value. The keys of a map are checked before its values, so that `isValid` can reject an
 * alternative by its keys alone.
 */
function* walk(value: Json, written: JsonObject, definitions: Definitions, path: NodePath): Generator<Mismatch> {
  const schema = resolved(written, definitions);
  for (const [keyword, wanted] of Object.entries(schema)) {
    if (silent.has(keyword)) continue;
    const isBroken = breaks[keyword];
    if (isBroken === undefined) throw new Error(`unknown keyword ${keyword} in a schema of this project`);
    if (isBroken(value, wanted as never, definitions)) yield { path, keyword, schema, key: null };
  }
  if (isMap(value)) {
    yield* walkKeys(value, schema, definitions, path);
    for (const [key, item] of Object.entries(value)) {
      const known = schemaOf(key, schema);
      if (typeof known === 'object') yield* walk(item, known, definitions, [...path, key]);
    }
  }
  const { items } = schema;
  if (!Array.isArray(value) || items === undefined) return;
  for (const [index, item] of value.entries()) yield* walk(item, items as JsonObject, definitions, [...path, index]);
}

function* walkKeys(
  value: JsonObject,
  schema: JsonObject,
  definitions: Definitions,
  path: NodePath,
): Generator<Mismatch> {
  const { required = [], dependencies = {}, propertyNames: names } = schema;
  const lacks = (key: string): boolean => !Object.hasOwn(value, key);
  for (const key of (required as string[]).filter(lacks)) yield { path, keyword: 'required', schema, key };
  for (const [key, needed] of Object.entries(dependencies as { readonly [key: string]: readonly string[] })) {
    if (!lacks(key) && needed.some(lacks)) yield { path, keyword: 'dependencies', schema, key };
  }
  for (const key of Object.keys(value)) {
    if (names !== undefined && !isValid(key, names as JsonObject, definitions))
      yield { path, keyword: 'propertyNames', schema, key };
    if (schemaOf(key, schema) === false) yield { path, keyword: 'additionalProperties', schema, key };
  }
}

/** The schema of a key's value; true if any value is allowed, false if the key is unknown. */
function schemaOf(key: string, { properties = {}, additionalProperties: others = true }: JsonObject) {
  return (Object.hasOwn(properties as JsonObject, key) ? (properties as JsonObject)[key] : others) as
    | JsonObject
    | boolean;
}
