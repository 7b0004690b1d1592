// Generates a small payload for an input schema.
import { isObject } from '../../runtime/json-value.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** The depth in the schema beyond which `{}` is generated, because a schema may refer to itself. */
const depthMax = 20;
/**
 * The depth beyond which objects get only required fields. Otherwise a schema with many references to itself could take
 * hours.
 */
const optionalDepthMax = 5;
/** The maximum size of a sample, in generated values and characters. Values beyond it are `{}`, because a schema may require billions of items. */
const sizeMax = 100_000;

/** What all levels of a sample share. `left`: the part of `sizeMax` that is not used. */
type Whole = { readonly root: JsonObject; left: number };

/**
 * Generates a payload. At each level of the schema, `const`, `default`, the first example or the first value of `enum` is taken
 * as it is. The payload may not fit the schema: patterns, for example, are ignored, and `sizeMax` limits it.
 */
export function sampleOf(schema: JsonObject): Json {
  return sample(schema, { root: schema, left: sizeMax }, 0);
}

function sample(schema: Json, whole: Whole, depth: number): Json {
  whole.left--;
  if (!isObject(schema) || depth > depthMax || whole.left < 0) return {};
  const { $ref, examples, allOf, anyOf, oneOf } = schema;
  const firstOf = (list: Json | undefined) => (Array.isArray(list) ? list[0] : undefined);
  const known = [schema['const'], schema['default'], firstOf(examples), firstOf(schema['enum'])];
  // A known value may be null, so only undefined values are skipped.
  const value = known.find(each => each !== undefined);
  if (value !== undefined) {
    whole.left -= JSON.stringify(value).length;
    return value;
  }
  if (typeof $ref === 'string') return sample(resolve(whole.root, $ref), whole, depth + 1);
  const [choice] = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  const parts = [...(Array.isArray(allOf) ? allOf : []), ...(choice === undefined ? [] : [choice])];
  const own = ofType(schema, whole, depth);
  const others = parts.map(part => sample(merge(schema, part), whole, depth + 1));
  return others.every(isObject) && isObject(own) ? Object.assign({}, own, ...others) : (others[0] ?? own);
}

/**
 * A member of `allOf`, `anyOf` or `oneOf`, with the keywords of the schema around it added. `required`, `allOf`, `anyOf` and
 * `oneOf` of that schema are not added.
 */
function merge(schema: JsonObject, part: Json): JsonObject {
  if (!isObject(part)) return {};
  const { allOf: _a, anyOf: _b, oneOf: _c, required: _r, ...rest } = schema;
  const properties = {
    ...(rest['properties'] as JsonObject | undefined),
    ...(part['properties'] as JsonObject | undefined),
  };
  return { ...rest, ...part, properties };
}

function ofType(schema: JsonObject, whole: Whole, depth: number): Json {
  const { type, properties, required, items, minItems, minLength, minimum, exclusiveMinimum } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return 'x'.repeat(taken(whole, Math.max(1, Number(minLength ?? 1))));
    case 'integer':
    case 'number':
      return Number(minimum ?? (exclusiveMinimum === undefined ? 1 : Number(exclusiveMinimum) + 1));
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: taken(whole, Number(minItems ?? 0)) }, () => sample(items ?? {}, whole, depth + 1));
    default: {
      // If the schema requires no fields, all fields are generated (down to `optionalDepthMax`). Plugins with short
      // schemas often need fields that these schemas do not require.
      const all = isObject(properties) ? properties : {};
      const shown = depth > optionalDepthMax ? [] : Object.keys(all);
      const names = Array.isArray(required) && required.length > 0 ? required.map(String) : shown;
      return Object.fromEntries(names.map(name => [name, sample(all[name] ?? {}, whole, depth + 1)]));
    }
  }
}

/** Takes this many values or characters from `left`, or as many as there are. */
function taken(whole: Whole, wanted: number): number {
  const count = Math.min(wanted, Math.max(0, whole.left));
  whole.left -= count;
  return count;
}

function resolve(root: JsonObject, ref: string): Json {
  if (!ref.startsWith('#')) return {};
  const names = ref
    .slice(1)
    .split('/')
    .slice(1)
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<Json>((at, name) => (isObject(at) ? (at[name] ?? {}) : {}), root);
}
