// The JSON Schema of a plugin's manifest.yaml.

import type { JsonObject } from '../../runtime/packing.ts';
import { sandboxKinds } from '../../runtime/processes/sandbox.ts';
import { Type } from '../../runtime/schema-type.ts';
import * as field from '../section/field.ts';
import { concurrencyField } from './concurrency.ts';

const { optional } = field;

const texts = (description: string) => field.listOf(Type.String({ expected: 'a text' }), description);

const emission = field.closedMap(
  {
    event: field.text({ expected: 'the type of an event', description: 'The type of the event.' }),
    values: optional(texts('The paths in its payload that have a value. Default: `[]`. Example: `[payload.path]`.')),
  },
  'An event that the command emits.',
);

const command = field.closedMap(
  {
    name: field.name(
      'The name of the command: callers say it, and the file of a worker plugin exports a function of this name.',
    ),
    type: optional(
      field.oneOf(
        ['read', 'write'],
        'Whether a caller needs the scope `plugin:ro` (`read`) or `plugin:rw` (`write`). Default: `write`.',
      ),
    ),
    description: optional(
      Type.String({ expected: 'a text', description: 'What the command does, for people and agents. Default: none.' }),
    ),
    input_schema: optional(
      field.freeMap(
        'What the payload must be: a JSON Schema, or the short form that names a type for each field. Default: any payload. Example: `{ name: string }`.',
      ),
    ),
    output_schema: optional(
      field.freeMap(
        'What the result is, for callers; it is not checked. A JSON Schema or the short form. Default: none.',
      ),
    ),
    idempotent: optional(field.flag('Whether running it twice does no harm, for callers. Default: `false`.')),
    retry_safe: optional(field.flag('Whether a failed job of it may run again by itself. Default: `true`.')),
    concurrency: optional(
      concurrencyField(
        'How many jobs of it may be under way at once in one thread or persistent process; commands with more than 1 have threads and processes of their own. Default: `1`. Example: `64`.',
      ),
    ),
    values: optional(
      field.closedMap(
        {
          consume: optional(texts('The paths of the payload that it reads. Default: `[]`. Example: `[payload.path]`.')),
          emit: optional(
            field.listOf(emission, 'The events that it emits. Default: `[]`. Example: `[{ event: image.resized }]`.'),
          ),
        },
        'What it reads and emits, for the topology.',
      ),
    ),
  },
  'A command.',
);

export const manifestSchema = field.closedMap(
  {
    manifest_spec: field.oneOf(['headgate.plugin', 'ductile.plugin'], 'The dialect of this file.'),
    manifest_version: optional(field.count(1, 'The version of the dialect. Default: `1`.', 1)),
    name: field.name('The name of the plugin.'),
    version: Type.Union([Type.String({ minLength: 1 }), Type.Number()], {
      expected: 'a version such as 1.2.0',
      description: 'The version of the plugin. Example: `1.2.0`.',
    }),
    protocol: field.count(2, 'The version of the requests and responses, which is 2.', 2),
    runtime: optional(
      field.oneOf(
        ['worker', 'process'],
        'Whether it runs on a thread (`worker`) or as a program (`process`). Default: `worker` for entrypoints that end in .js, .mjs or .ts, else `process`.',
      ),
    ),
    mode: optional(
      field.oneOf(
        ['persistent'],
        '`persistent` keeps a process of the plugin for many jobs. Default: a process for each attempt.',
      ),
    ),
    max_jobs: optional(
      field.count(1, 'How many jobs a persistent process has before another takes its place. Default: no limit.'),
    ),
    max_age: optional(
      field.duration('How old a persistent process gets before another takes its place. Default: no limit.'),
    ),
    sandbox: optional(
      field.oneOf(
        sandboxKinds,
        'What its processes run in at least: nothing, limits of the kernel, or also namespaces of bubblewrap. Default: `none`.',
      ),
    ),
    entrypoint: field.text({
      expected: "the path of a file in the plugin's directory",
      description: 'The file that runs, in the directory of this one. Example: `index.mjs`.',
    }),
    description: optional(
      Type.String({ expected: 'a text', description: 'What the plugin does, for people and agents. Default: none.' }),
    ),
    concurrency_safe: optional(
      field.flag('Whether several of its jobs may run at once, counted over all its instances. Default: `true`.'),
    ),
    commands: Type.Array(command, {
      minItems: 1,
      expected: 'a list of at least one command',
      description: 'The commands, at least one.',
    }),
    config_keys: optional(
      field.closedMap(
        {
          required: optional(texts('The keys that its config must have. Default: `[]`.')),
          optional: optional(texts('The keys that its config may have. Default: `[]`.')),
        },
        'The keys of its config.',
      ),
    ),
  },
  'The manifest of a plugin.',
);

// Of this dialect alone: to another they are keys like any unknown one.
const ownKeys = ['runtime', 'mode', 'max_jobs', 'max_age', 'concurrency'];

/** The same without the ban on unknown keys, for `ductile.plugin`. */
export const openManifestSchema = withUnknownKeys(manifestSchema);

function withUnknownKeys(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if ((key === 'additionalProperties' && value === false) || ownKeys.includes(key)) return [];
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [[key, isNested ? withUnknownKeys(value as JsonObject) : value] as const];
  });
  return Object.fromEntries(entries);
}
