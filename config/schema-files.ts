// The JSON Schemas for editors, shipped in config/schema/ and printed by `headgate config schema`. They are derived
// from the schemas with which headgate checks each file that it loads.

import type { Json, JsonObject } from '../runtime/packing.ts';
import { manifestSchema, openManifestSchema } from './plugin/manifest-schema.ts';
import { restartSettings } from './section/restart.ts';
import { settingsSchema } from './section/settings.ts';

const draft = 'http://json-schema.org/draft-07/schema#';
const scalarTypes: readonly Json[] = ['string', 'integer', 'number', 'boolean'];

/** The schema of configuration files. It allows text with a variable, `${NAME}`, in place of scalars. */
export function configSchema(): JsonObject {
  const settings = forFiles(withReload(settingsSchema, ''), true) as JsonObject;
  return { $schema: draft, title: 'headgate configuration', ...settings };
}

/** The schema of a plugin's manifest.yaml. Manifests with `manifest_spec: ductile.plugin` may have further keys. */
export function manifestFileSchema(): JsonObject {
  const isDuctile = { properties: { manifest_spec: { const: 'ductile.plugin' } }, required: ['manifest_spec'] };
  return {
    $schema: draft,
    title: 'headgate plugin manifest',
    type: 'object',
    if: isDuctile,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: forFiles(openManifestSchema, false),
    else: forFiles(manifestSchema, false),
  };
}

/**
 * Marks each setting as `live` (a reload applies it) or as `restart` (only the next start applies it). The description
 * of a `restart` setting says so.
 */
function withReload(schema: JsonObject, path: string): JsonObject {
  const properties = schema['properties'] as { readonly [key: string]: JsonObject } | undefined;
  const restart = restartSettings.find(({ key }) => key === path);
  if (restart !== undefined) {
    const what = restart.isSwitch ? 'Switching it on or off needs a restart.' : 'Needs a restart.';
    const description = `${schema['description']} ${what}`;
    return { ...schema, description, 'x-reload': 'restart' };
  }
  if (properties === undefined || schema['additionalProperties'] !== false) return { ...schema, 'x-reload': 'live' };
  const inner = Object.entries(properties).map(
    ([key, value]) => [key, withReload(value, path === '' ? key : `${path}.${key}`)] as const,
  );
  return { ...schema, properties: Object.fromEntries(inner) };
}

/**
 * Removes `expected`, the text for messages. With `hasVariables`, a scalar may also be text with a variable, because the scalar
 * itself is checked after interpolation.
 */
function forFiles(schema: Json, hasVariables: boolean): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => forFiles(item, hasVariables));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema as JsonObject).filter(([key]) => key !== 'expected');
  const inner = entries.map(([key, value]) => {
    const isKeyRule = key === 'propertyNames' || key === 'anyOf' || key === 'not';
    return [key, forFiles(value, hasVariables && !isKeyRule)] as const;
  });
  const result: JsonObject = Object.fromEntries(inner);
  const isScalar = scalarTypes.includes(result['type'] ?? null) || 'anyOf' in result;
  const isFree = result['type'] === 'string' && !('enum' in result) && !('pattern' in result);
  if (!hasVariables || !isScalar || isFree) return result;
  const { description, 'x-reload': reload, ...rest } = result;
  const variable = { type: 'string', pattern: '\\$\\{' };
  const said = { ...(description === undefined ? {} : { description }), ...(reload && { 'x-reload': reload }) };
  return { ...said, anyOf: [rest, variable] };
}
