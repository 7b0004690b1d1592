// Builds JSON Schemas in code, with a function for each kind of value. The results are plain JSON.
import type { Json, JsonObject } from './packing.ts';

export type Schema = JsonObject;
export type Properties = { readonly [name: string]: Schema };

/** The schemas that `Optional` has marked. The mark does not appear in the schema. */
const optional = new WeakSet<Schema>();

function kind(type: string): (options?: Schema) => Schema {
  return (options = {}) => ({ ...options, type });
}

/** The argument `options` has further keywords, such as `description` or `minimum`. */
export const Type = {
  String: kind('string'),
  Integer: kind('integer'),
  Number: kind('number'),
  Boolean: kind('boolean'),
  Null: kind('null'),

  Unknown: (options: Schema = {}): Schema => ({ ...options }),

  Literal: (value: string | number | boolean, options: Schema = {}): Schema => ({
    ...options,
    const: value,
    type: typeof value,
  }),

  Array: (items: Schema, options: Schema = {}): Schema => ({ ...options, type: 'array', items }),

  /** A value that matches at least one of these schemas. */
  Union: (schemas: readonly Schema[], options: Schema = {}): Schema => ({ ...options, anyOf: schemas }),

  /** Properties are required unless they are wrapped in `Optional`. */
  Object(properties: Properties, options: Schema = {}): Schema {
    const required = Object.keys(properties).filter(name => !optional.has(properties[name]!));
    return { ...options, type: 'object', ...(required.length > 0 ? { required } : {}), properties };
  },

  /** An object with arbitrary keys. All its values match the schema `values`. */
  Map: (values: Schema, options: Schema = {}): Schema => ({
    ...options,
    type: 'object',
    additionalProperties: values as Json,
  }),

  Optional(schema: Schema): Schema {
    const marked = { ...schema };
    optional.add(marked);
    return marked;
  },
};
