// Checks bodies and payloads against JSON Schemas, with messages for callers.

import type { Config } from '../config/config.ts';
import {
  makeSchemaCompiler,
  type SchemaCheck,
  type SchemaCompiler,
  type SchemaMismatch,
} from '../runtime/json-schema.ts';
import { isObject } from '../runtime/json-value.ts';
import type { JsonObject } from '../runtime/packing.ts';
import type { BodyCheck } from './admission.ts';
import { perConfig } from './per-config.ts';
import { type ProblemItem, pointerPart, shownPointer } from './problem.ts';

const compile = makeSchemaCompiler();

/** The maximum number of known fields that a message lists. If there are more, the message lists none. */
const knownShown = 10;

/** Makes the check of a route's body. The schema is compiled on first use. */
export function makeBodyCheck(schema: object): BodyCheck {
  let check: SchemaCheck | null = null;
  return value => {
    check ??= compiled(compile, schema as JsonObject);
    return check(value).map(mismatch => itemOf(mismatch, ''));
  };
}

const checksOf = perConfig(() => ({ compile: makeSchemaCompiler(), bySchema: new Map<JsonObject, SchemaCheck>() }));

const fits: readonly ProblemItem[] = [];

/**
 * Checks a payload against the input schema of its command or pipeline. `base` is the payload's pointer in the body. A schema is
 * compiled on first use, once per configuration.
 */
export function checkPayload(
  config: Config,
  schema: JsonObject | null,
  payload: unknown,
  base: '/payload' | '',
): readonly ProblemItem[] {
  if (schema === null) return fits;
  const checks = checksOf(config);
  let check = checks.bySchema.get(schema);
  if (!check) {
    check = compiled(checks.compile, schema);
    checks.bySchema.set(schema, check);
  }
  const mismatches = check(payload);
  return mismatches.length === 0 ? fits : mismatches.map(mismatch => itemOf(mismatch, base));
}

/**
 * In a body or payload with at most this many values, up to `mismatchesMax` errors are reported, unless finding all would take too many
 * steps. In a larger one, the check stops at the first mismatch, to limit the cost. A text counts as one value, and as one more for each `charactersPerValue` characters.
 */
const valuesMax = 1_000;
const charactersPerValue = 50;
/** If a body or payload has a longer key, the check stops at the first mismatch too: each error below the key repeats it. */
const keyCharactersMax = 128;
const mismatchesMax = 32;

function compiled(compiler: SchemaCompiler, schema: JsonObject): SchemaCheck {
  const result = compiler(schema);
  if (!result.ok) throw new Error(`a schema does not compile: ${result.message}`);
  const { check, checkAll } = result;
  return value => {
    const mismatches = check(value);
    if (mismatches.length === 0) return mismatches;
    const found = (holdsAtMost(valuesMax, value) ? checkAll(value) : null) ?? mismatches;
    // `propertyNames` is left out, because another mismatch says what is wrong with the key.
    return found.filter(({ keyword }) => keyword !== 'propertyNames').slice(0, mismatchesMax);
  };
}

/**
 * Whether a value contains at most `max` values, and no key that is too long. The value itself counts, and long texts count several times
 * (`charactersPerValue`).
 */
function holdsAtMost(max: number, value: unknown): boolean {
  const waiting = [value];
  for (let seen = 1; waiting.length > 0; seen++) {
    const next = waiting.pop();
    if (typeof next === 'string') seen += next.length / charactersPerValue;
    if (seen + waiting.length > max) return false;
    if (typeof next !== 'object' || next === null) continue;
    const inside: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (seen + waiting.length + inside.length > max) return false;
    if (!Array.isArray(next) && Object.keys(next).some(key => key.length > keyCharactersMax)) return false;
    waiting.push(...inside);
  }
  return true;
}

function itemOf(mismatch: SchemaMismatch, base: string): ProblemItem {
  const item = fullItemOf(mismatch, base);
  const pointer = shownPointer(item.pointer);
  return pointer === item.pointer
    ? item
    : { pointer, message: `contains a value whose pointer is too long to be shown; the value ${item.message}` };
}

/**
 * Describes a mismatch for the caller. For a missing or unknown field, the pointer leads to this field and not to the object
 * around it.
 */
function fullItemOf({ pointer, message, keyword, params, schema, key }: SchemaMismatch, base: string): ProblemItem {
  const at = base + pointer;
  if (key !== null) return { pointer: `${at}/${pointerPart(key)}`, message: `is not a valid key: it ${message}` };
  switch (keyword) {
    case 'required':
      return { pointer: `${at}/${pointerPart(params['missingProperty'])}`, message: 'is required' };
    case 'additionalProperties': {
      const known = Object.keys(isObject(schema['properties']) ? schema['properties'] : {});
      const list = known.length === 0 || known.length > knownShown ? '' : `; known fields: ${known.join(', ')}`;
      return { pointer: `${at}/${pointerPart(params['additionalProperty'])}`, message: `is not a known field${list}` };
    }
    case 'unevaluatedProperties':
      return { pointer: `${at}/${pointerPart(params['unevaluatedProperty'])}`, message: 'is not a known field' };
    case 'enum':
      return { pointer: at, message: `must be one of ${JSON.stringify(params['allowedValues'])}` };
    case 'const':
      return { pointer: at, message: `must be ${JSON.stringify(params['allowedValue'])}` };
    default:
      return { pointer: at, message };
  }
}
