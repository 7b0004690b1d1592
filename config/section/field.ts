// The building blocks of the JSON Schemas for configuration files and manifests. `expected` completes "it must
// be …" in messages. `description` is for editors and the reference.
import { type Properties, type Schema, Type } from '../../runtime/schema-type.ts';
import { durationPattern, listenPattern, sizePattern } from '../quantity.ts';

const namePattern = '^[A-Za-z0-9_-]{1,128}$';
const nameExpected = 'a name of letters, digits, "_" and "-", at most 128 of them';
/**
 * The rule for names of plugins, instances and commands, and for ids of schedules. `__proto__` is refused, because
 * names become keys of plain objects.
 */
export const nameRule = { pattern: namePattern, not: { const: '__proto__' }, expected: nameExpected };

export function text(expected: string, description: string, more: Schema = {}) {
  return Type.String({ minLength: 1, ...more, expected, description });
}

/** The schema of a secret text, which messages do not show. */
export function secretText(expected: string, description: string, more: Schema = {}) {
  return text(expected, description, { ...more, writeOnly: true });
}

export function name(description: string) {
  return Type.String({ ...nameRule, description });
}

export function flag(description: string) {
  return Type.Boolean({ expected: 'true or false', description });
}

export function count(minimum: number, description: string, maximum = Number.MAX_SAFE_INTEGER) {
  const limit = maximum === Number.MAX_SAFE_INTEGER ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`;
  const expected = minimum === maximum ? String(minimum) : `a whole number${limit}`;
  return Type.Integer({ minimum, maximum, expected, description });
}

export function oneOf(values: readonly string[], description: string) {
  const expected = values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.join(', ')}`;
  return Type.String({ enum: [...values], expected, description });
}

export function duration(description: string) {
  const expected = 'a duration such as 250ms, 30s, 5m, 24h or 7d';
  return Type.String({ pattern: durationPattern, expected, description });
}

export function time(description: string) {
  const pattern = '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$';
  return text('a time such as 2027-01-01T00:00:00Z', description, { pattern });
}

/** The schema of a duration, or of 0 for no limit. */
export function durationOrZero(description: string) {
  const zero = Type.Integer({ minimum: 0, maximum: 0 });
  const expected = 'a duration such as 12h or 90d, or 0';
  return Type.Union([zero, Type.String({ pattern: durationPattern })], { expected, description });
}

export function size(description: string) {
  const number = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
  const expected = 'a size such as 512KB, 1MB or 1GB, at most 999999999GB, or a number of bytes';
  return Type.Union([number, Type.String({ pattern: sizePattern })], { expected, description });
}

export function listen(description: string) {
  const expected = 'a host and a port such as 127.0.0.1:8080 or "[::1]:8080"';
  return Type.String({ pattern: listenPattern, expected, description });
}

export function freeMap(description: string, expected = 'a map') {
  return Type.Object({}, { additionalProperties: true, expected, description });
}

/** The schema of a map with known keys only. The keys in `required` must be present. */
export function closedMap<P extends Properties>(
  properties: P,
  description: string,
  { required = [], ...more }: Schema & { readonly required?: readonly (keyof P & string)[] } = {},
): Schema {
  const map = { additionalProperties: false, expected: 'a map of settings', description, ...more, type: 'object' };
  return { ...map, ...(required.length > 0 && { required }), properties };
}

/** The value of the keyword `oneOf` for a map with exactly one of these keys. */
export function eitherOf(keys: readonly string[]) {
  return keys.map(key => ({ required: [key] }));
}

/** The schema of a map from names to values of one kind. `keys`: the rule for the names. */
export function mapOf(value: Schema, description: string, keys?: typeof nameRule): Schema {
  const propertyNames = keys === undefined ? {} : { propertyNames: keys };
  return Type.Object({}, { additionalProperties: value, expected: 'a map', description, ...propertyNames });
}

export function listOf(items: Schema, description: string): Schema {
  return Type.Array(items, { expected: 'a list', description });
}
