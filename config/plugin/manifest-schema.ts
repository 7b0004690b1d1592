// The JSON Schema of a plugin's manifest.yaml.

import { sandboxKinds } from '../../runtime/host/sandbox.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import * as field from '../section/field.ts';

const { optional } = field;

const texts = (description: string) => field.listOf(Type.String({ expected: 'a text' }), description);

const emission = field.closedMap(
  {
    event: field.text({ expected: 'the type of an event', description: 'The type of the event.' }),
    values: optional(texts('Paths into its payload.')),
  },
  'An event that the command emits.',
);

const command = field.closedMap(
  {
    name: field.name('What callers say, and the name of the exported function.'),
    type: optional(field.oneOf(['read', 'write'], 'Which scope a caller needs; default write.')),
    description: optional(Type.String({ expected: 'a text', description: 'What it does.' })),
    input_schema: optional(field.freeMap('JSON Schema of the payload, or the short form { field: type }.')),
    output_schema: optional(field.freeMap('JSON Schema of the result, or the short form { field: type }.')),
    idempotent: optional(field.flag('Running it twice does no harm; default false.')),
    retry_safe: optional(field.flag('false: never retried by itself; default true.')),
    values: optional(
      field.closedMap(
        {
          consume: optional(texts('Paths that it reads.')),
          emit: optional(field.listOf(emission, 'Events that it emits.')),
        },
        'What it reads and emits.',
      ),
    ),
  },
  'A command.',
);

export const manifestSchema = field.closedMap(
  {
    manifest_spec: field.oneOf(['headgate.plugin', 'ductile.plugin'], 'The dialect of this file.'),
    manifest_version: optional(field.count(1, 'The version of the dialect.', 1)),
    name: field.name('The name of the plugin.'),
    version: Type.Union([Type.String({ minLength: 1 }), Type.Number()], {
      expected: 'a version such as 1.2.0',
      description: 'The version of the plugin.',
    }),
    protocol: field.count(2, 'The version of the protocol: 2.', 2),
    runtime: optional(field.oneOf(['worker', 'process'], 'worker for .js, .mjs and .ts, else process.')),
    mode: optional(field.oneOf(['persistent'], 'Process plugins: keep processes alive for many jobs.')),
    max_jobs: optional(field.count(1, 'Persistent: a process ends after so many jobs.')),
    max_age: optional(field.duration('Persistent: a process ends after so long.')),
    sandbox: optional(field.oneOf(sandboxKinds, 'Process plugins: what they run in at least; default none.')),
    entrypoint: field.text({
      expected: "the path of a file in the plugin's directory",
      description: 'The file that runs, in the directory of this one.',
    }),
    description: optional(Type.String({ expected: 'a text', description: 'What the plugin does.' })),
    concurrency_safe: optional(field.flag('false: never two jobs of it at once; default true.')),
    commands: Type.Array(command, {
      minItems: 1,
      expected: 'a list of at least one command',
      description: 'Commands.',
    }),
    config_keys: optional(
      field.closedMap(
        {
          required: optional(texts('Keys that its config must have.')),
          optional: optional(texts('Keys that its config may have.')),
        },
        'What it reads of its config.',
      ),
    ),
  },
  'The manifest of a plugin.',
);

// Of this dialect alone: to another they are keys like any unknown one.
const ownKeys = ['runtime', 'mode', 'max_jobs', 'max_age'];

/** The same without the ban on unknown keys, for `ductile.plugin`. */
export const openManifestSchema = withUnknownKeys({
  ...manifestSchema,
  properties: Object.fromEntries(
    Object.entries(manifestSchema['properties'] as JsonObject).filter(([key]) => !ownKeys.includes(key)),
  ),
});

function withUnknownKeys(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if (key === 'additionalProperties' && value === false) return [];
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [[key, isNested ? withUnknownKeys(value as JsonObject) : value] as const];
  });
  return Object.fromEntries(entries);
}
