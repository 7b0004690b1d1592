// The JSON Schema of a plugin's manifest.yaml.

import type { JsonObject } from '../../runtime/packing.ts';
import { sandboxKinds } from '../../runtime/processes/sandbox.ts';
import { Type } from '../../runtime/schema-type.ts';
import * as field from '../section/field.ts';
import { concurrencyMax } from './concurrency.ts';

const anyText = (description: string) => Type.String({ expected: 'a string', description });
const texts = (description: string) => field.listOf(Type.String({ expected: 'a string' }), description);

const emission = field.closedMap(
  {
    event: field.text('the type of an event', 'The type of the event.'),
    values: texts('The paths in its payload that are set. Default: `[]`. Example: `[payload.path]`.'),
  },
  'An event that the command emits.',
  { required: ['event'] },
);

const command = field.closedMap(
  {
    name: field.name(
      'The name of the command. Callers use it, and the file of a worker plugin exports a function with this name.',
    ),
    type: field.oneOf(
      ['read', 'write'],
      'The scope that callers need: `plugin:ro` (`read`) or `plugin:rw` (`write`). Default: `write`.',
    ),
    description: anyText('What the command does, for people and agents. Default: none.'),
    input_schema: field.freeMap(
      'The schema of the payload: a JSON Schema, or the short form with a type for each field. Default: any payload. Example: `{ name: string }`.',
    ),
    output_schema: field.freeMap(
      'The schema of the result, for callers; it is not enforced. A JSON Schema or the short form. Default: none.',
    ),
    idempotent: field.flag('Tells callers whether running the command twice is harmless. Default: `false`.'),
    retry_safe: field.flag('Whether its jobs may be retried automatically. Default: `true`.'),
    concurrency: field.count(
      1,
      'The maximum number of its jobs in flight in one thread or persistent process; commands with more than 1 have their own threads and processes. Default: `1`. Example: `64`.',
      concurrencyMax,
    ),
    values: field.closedMap(
      {
        consume: texts('The paths of the payload that it reads. Default: `[]`. Example: `[payload.path]`.'),
        emit: field.listOf(emission, 'The events that it emits. Default: `[]`. Example: `[{ event: image.resized }]`.'),
      },
      'The values that it reads and the events that it emits, for the topology.',
    ),
  },
  'A command.',
  { required: ['name'] },
);

export const manifestSchema = field.closedMap(
  {
    manifest_spec: field.oneOf(['headgate.plugin', 'ductile.plugin'], 'The dialect of this file.'),
    manifest_version: field.count(1, 'The version of the dialect. Default: `1`.', 1),
    name: field.name('The name of the plugin.'),
    version: Type.Union([Type.String({ minLength: 1 }), Type.Number()], {
      expected: 'a text such as 1.2.0',
      description: 'The version of the plugin, which is only shown. Example: `1.2.0`.',
    }),
    protocol: field.count(2, 'The version of the plugin protocol, which is 2.', 2),
    runtime: field.oneOf(
      ['worker', 'process'],
      'Whether it runs on a thread (`worker`) or as a program (`process`). Default: `worker` for entrypoints that end in .js, .mjs or .ts, else `process`.',
    ),
    mode: field.oneOf(['persistent'], '`persistent` keeps a process for many jobs. Default: one process per attempt.'),
    max_jobs: field.count(1, 'The number of jobs after which a persistent process is replaced. Default: no limit.'),
    max_age: field.duration('The age at which a persistent process is replaced. Default: no limit.'),
    cancel: field.flag(
      'Whether a persistent process reads `{"cancel": id}` lines; it then has 5 s to answer the cancelled request. Default: `false`, so the process is ended.',
    ),
    sandbox: field.oneOf(
      sandboxKinds,
      'The minimum sandbox of its processes: none, kernel limits, or also bubblewrap namespaces. Default: `none`.',
    ),
    entrypoint: field.text(
      "the path of a file in the plugin's directory",
      'The file to run, in the directory of the manifest. Example: `index.mjs`.',
    ),
    description: anyText('What the plugin does, for people and agents. Default: none.'),
    concurrency_safe: field.flag(
      'Whether several of its jobs may run at once, over all its instances. Default: `true`.',
    ),
    commands: Type.Array(command, {
      minItems: 1,
      expected: 'a list of at least one command',
      description: 'The commands; at least one.',
    }),
    config_keys: field.closedMap(
      {
        required: texts('The keys that its config must have. Default: `[]`.'),
        optional: texts(
          'The keys that its config may have. If any key is listed, others get a warning. Default: `[]`.',
        ),
      },
      'The keys of its config.',
    ),
  },
  'The manifest of a plugin.',
  { required: ['manifest_spec', 'name', 'version', 'protocol', 'entrypoint', 'commands'] },
);

// Keys of the dialect `headgate.plugin`. In `ductile.plugin` they are unknown keys.
const ownKeys = ['runtime', 'mode', 'max_jobs', 'max_age', 'cancel', 'concurrency'];

/** The schema for `ductile.plugin`, which allows unknown keys. */
export const openManifestSchema = withUnknownKeys(manifestSchema);

function withUnknownKeys(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if ((key === 'additionalProperties' && value === false) || ownKeys.includes(key)) return [];
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [[key, isNested ? withUnknownKeys(value as JsonObject) : value] as const];
  });
  return Object.fromEntries(entries);
}
