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
    id: text('Its name in the tree; made from its place when left out.'),
    if: reference('condition', 'When false, the step is passed over.'),
    on_error: { enum: ['continue', 'fail'], description: 'Default fail.' },
    join: { enum: ['all'], description: 'Runs once, when everything before it has settled.' },
    collect: { enum: ['results', 'counts'], description: 'What a join gets; default results.' },
    uses: text('plugin, or plugin.command; the command is handle when left out.'),
    call: text('Another pipeline, which runs whole.'),
    split: {
      description: 'Branches that run in parallel, named or listed.',
      anyOf: [
        { type: 'array', minItems: 1, items: { $ref: '#/definitions/branch' } },
        { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/definitions/branch' } },
      ],
    },
    steps: { ...steps, description: 'A sequence.' },
    foreach: text('The path of a list: one job per element.'),
    with: { type: 'object', description: 'Templates that are laid over the payload.' },
    baggage: { type: 'object', additionalProperties: { type: 'string' }, description: 'Target -> path.' },
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
        path: text('What is tested, from payload, context or config.'),
        op: { enum: [...operators], description: 'The operator.' },
        value: { description: 'What it is compared with.' },
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
    name: text('What callers say.'),
    on: text('The type of the event that starts it.'),
    on_hook: { enum: [...hooks], description: 'Starts when a job ends so.' },
    execution_mode: { enum: ['synchronous', 'asynchronous', 'sync', 'async'], description: 'Default asynchronous.' },
    timeout_secs: { type: 'integer', minimum: 1, maximum: 86_400, description: 'How long a call waits; default 30.' },
    if: reference('condition', 'When false, a call does nothing.'),
    steps: { ...steps, description: 'The steps.' },
  },
  { required: ['name', 'steps'] },
);

export const pipelinesSchema: JsonObject = {
  type: 'array',
  items: { $ref: '#/definitions/pipeline' },
  description: 'The pipelines.',
};
export const pipelineDefinitions: JsonObject = { pipeline, step, branch, condition };
