// The JSON Schema of pipelines for editors. The check at load (config/pipeline/check.ts) is stricter and says more.
import type { JsonObject } from '../../runtime/packing.ts';
import { hooks, operators } from '../pipeline/definition.ts';

const text = (description: string): JsonObject => ({ type: 'string', minLength: 1, description });
const reference = (name: string, description: string): JsonObject => ({
  $ref: `#/definitions/${name}`,
  description,
});
const closed = (properties: JsonObject, rest: JsonObject): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...rest,
});

const steps: JsonObject = { type: 'array', minItems: 1, items: { $ref: '#/definitions/step' } };

const step: JsonObject = closed(
  {
    id: text('The name of the step in trees and measurements. Default: its place, such as `2.1.1`.'),
    if: reference(
      'condition',
      'The condition of the step: where it is false, the step is passed over. Default: always true.',
    ),
    on_error: {
      enum: ['continue', 'fail'],
      description:
        'What a failed job of the step does: `fail` fails the run, `continue` ends its chain alone. Default: `fail`.',
    },
    join: {
      enum: ['all'],
      description:
        '`all` starts the step once, when everything before it has settled. Default: the step starts for each chain that reaches it.',
    },
    collect: {
      enum: ['results', 'counts'],
      description: 'What a join is given: all `results`, or `counts` alone. Default: `results`.',
    },
    uses: text('The plugin that the step runs, or `plugin.command`; the command is `handle` where none is named.'),
    call: text('Another pipeline, which runs whole; the step goes on with its result.'),
    split: {
      description: 'Branches that run side by side, in a map by name or in a list.',
      anyOf: [
        { type: 'array', minItems: 1, items: { $ref: '#/definitions/branch' } },
        { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/definitions/branch' } },
      ],
    },
    steps: { ...steps, description: 'A sequence of steps.' },
    foreach: text(
      'The path of a list; the step starts once for each element. Default: the step starts once. Example: `payload.packages`.',
    ),
    with: {
      type: 'object',
      description:
        'Values that are laid over the payload, with references in braces. Default: none. Example: `{ name: "{payload.item}" }`.',
    },
    baggage: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description:
        'Data that the chain carries on: the name, and the path it is read from. Default: `{}`. Example: `{ report.root: payload.root }`.',
    },
  },
  { oneOf: ['uses', 'call', 'split', 'steps'].map(key => ({ required: [key], properties: { [key]: true } })) },
);

const branch: JsonObject = {
  anyOf: [
    steps,
    { $ref: '#/definitions/step' },
    closed({ name: text('The name of the branch.'), steps }, { required: ['name', 'steps'] }),
  ],
};

const condition: JsonObject = {
  anyOf: [
    closed(
      {
        path: text('The path of the value that is tested, in `payload`, `context` or `config`.'),
        op: { enum: [...operators], description: 'How the value is tested.' },
        value: { description: 'What the value is compared with; required but for `exists`. Default: `true`.' },
      },
      { required: ['path', 'op'] },
    ),
    ...['all', 'any'].map(key =>
      closed({ [key]: { type: 'array', items: { $ref: '#/definitions/condition' } } }, { required: [key] }),
    ),
    closed({ not: { $ref: '#/definitions/condition' } }, { required: ['not'] }),
  ],
};

const pipeline: JsonObject = closed(
  {
    name: text('The name of the pipeline, which callers say.'),
    description: text('What the pipeline does, in a sentence for those who choose one. Default: none.'),
    input_schema: {
      type: 'object',
      description:
        'What the payload of a call or delivery must be: a JSON Schema, or a map from field to type. A payload that breaks it gets 400. Default: none, so a payload may be anything. Example: `{ people: array }`.',
    },
    on: text('The type of the events that start it. Default: none, so calls alone start it.'),
    on_hook: { enum: [...hooks], description: 'The end of a job or of a run that starts it. Default: none.' },
    execution_mode: {
      enum: ['synchronous', 'asynchronous', 'sync', 'async'],
      description: 'Whether a call waits for the result. Default: `asynchronous`.',
    },
    timeout_secs: {
      type: 'integer',
      minimum: 1,
      maximum: 86_400,
      description: 'How long a synchronous call waits, in seconds. Default: `30`.',
    },
    if: reference(
      'condition',
      'The condition of the pipeline: where it is false, an event starts no run, and a call gets one that has succeeded without a job. Default: always true.',
    ),
    steps: { ...steps, description: 'The steps, at least one.' },
  },
  { required: ['name', 'steps'] },
);

export const pipelinesSchema: JsonObject = {
  type: 'array',
  items: { $ref: '#/definitions/pipeline' },
  description: 'The pipelines. Default: `[]`.',
};
export const pipelineDefinitions: JsonObject = { pipeline, step, branch, condition };
