// The JSON Schemas that are shipped in config/schema/, for editors: what the checks at load use, made fit for files.
import type { Json, JsonObject } from '../runtime/packing.ts';
import { manifestSchema, openManifestSchema } from './plugin/manifest-schema.ts';
import { pipelineDefinitions, pipelinesSchema } from './section/pipeline-schema.ts';
import { settingsSchema } from './section/settings.ts';

const draft = 'http://json-schema.org/draft-07/schema#';
const scalarTypes: readonly Json[] = ['string', 'integer', 'number', 'boolean'];

/** Of configuration files, with pipelines, and with `${NAME}` wherever a value can stand. */
export function configSchema(): JsonObject {
  const settings = forFiles(settingsSchema, true) as JsonObject;
  const properties = { ...(settings['properties'] as JsonObject), pipelines: pipelinesSchema };
  return { $schema: draft, title: 'headgate configuration', ...settings, properties, definitions: pipelineDefinitions };
}

/** Of a plugin's manifest.yaml: manifests of the other dialect have keys of their own. */
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

/** File name -> content, as they lie in config/schema/. */
export function schemaFiles(): { readonly [name: string]: string } {
  const format = (schema: JsonObject): string => `${JSON.stringify(schema, null, 2)}\n`;
  return { 'config.json': format(configSchema()), 'manifest.json': format(manifestFileSchema()) };
}

/** Without our own keyword; values that are checked after interpolation may be variables before it. */
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
  const { description, ...rest } = result;
  const variable = { type: 'string', pattern: '\\$\\{' };
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, variable] };
}
