// A schema for filters that contain filters, and deeply nested filters. Each filter is compared with four forms, three of which check the
// filters inside it.
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** `isArgsFirst`: the inner filters are checked before `op`, which says whether the form is the right one. */
export function filterSchema(isArgsFirst: boolean): JsonObject {
  const forms = ['and', 'or', 'not'].map(op => outer(op, isArgsFirst));
  return {
    type: 'object',
    properties: { filter: { $ref: '#/$defs/filter' } },
    $defs: { filter: { oneOf: [...forms, leaf] } },
  };
}

const leaf: JsonObject = {
  type: 'object',
  required: ['op', 'field'],
  properties: { op: { const: 'eq' }, field: { type: 'string' }, value: { items: { type: 'number' } } },
  additionalProperties: false,
};

function outer(op: string, isArgsFirst: boolean): JsonObject {
  const args = { type: 'array', items: { $ref: '#/$defs/filter' } };
  return {
    type: 'object',
    required: ['op', 'args'],
    properties: isArgsFirst ? { args, op: { const: op } } : { op: { const: op }, args },
    additionalProperties: false,
  };
}

/** A payload with a filter inside `depth` others. A `field` that is not a text makes it invalid. */
export function nestedFilter(depth: number, field: Json, value: Json = []): JsonObject {
  let filter: JsonObject = { op: 'eq', field, value };
  for (let i = 0; i < depth; i++) filter = { op: 'not', args: [filter] };
  return { filter };
}
