// One pipeline with its steps, branches and phases, for API tokens that may call plugins.

import { drawnPipeline } from '../../actors/pipeline/views/drawn-pipeline.ts';
import type { PipelineDefinition } from '../../config/pipeline/definition.ts';
import { type Schema, Type } from '../../runtime/schema-type.ts';
import { nullable, oneOfTexts } from '../openapi/schemas.ts';
import { anyOf, json, route } from '../route.ts';
import { findPipeline } from './execution.ts';

const text = (description: string) => Type.Optional(Type.String({ description }));
const ms = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
/** The steps inside a step. They have the form of the outer step, but a schema without references cannot express this. */
const inner = Type.Array(Type.Object({}), { description: 'Steps of this form.' });
const condition = text('The condition as text.');

const step = Type.Object({
  id: Type.String({ description: 'As in `step_id` of its jobs: the given id, or the position of the step.' }),
  kind: oneOfTexts(['uses', 'call', 'split', 'steps']),
  if: condition,
  join: Type.Optional(
    oneOfTexts(['results', 'counts'], {
      description: 'What a step with `join` collects.',
    }),
  ),
  on_error: Type.Optional(Type.Literal('continue')),
  plugin: text('With `uses`.'),
  command: text('With `uses`.'),
  pipeline: text('With `call`: the pipeline that it runs.'),
  foreach: text('The path of the list: a job, or a run, for each element.'),
  fail_fast: Type.Optional(Type.Literal(false)),
  timeout_ms: ms('Of one attempt; with `call`, of the run.'),
  branches: Type.Optional(
    Type.Array(Type.Object({ name: nullable(Type.String()), steps: inner }), {
      description: 'With `split`.',
    }),
  ),
  steps: Type.Optional({ ...inner, description: 'With `steps`: steps of this form.' }),
});

const pipelineSchema: Schema = Type.Object({
  name: Type.String(),
  description: text('Absent if the configuration has none.'),
  on: text('The type of the events that start it.'),
  on_hook: text('The hook that starts it.'),
  execution_mode: oneOfTexts(['synchronous', 'asynchronous'] satisfies PipelineDefinition['executionMode'][]),
  timeout_ms: Type.Integer({ minimum: 0, description: 'How long a synchronous call waits.' }),
  deadline_ms: ms('How long the steps of a run may take.'),
  phase_timeout_ms: ms('How long each phase may take.'),
  input_schema: Type.Optional(
    Type.Object({}, { description: 'JSON Schema of the payload; the short form is expanded.' }),
  ),
  if: condition,
  steps: Type.Array(step),
  on_failure: Type.Optional(Type.Array(step, { description: 'The steps that follow a failure.' })),
  finally: Type.Optional(Type.Array(step, { description: 'The steps that always follow.' })),
});

export const getPipeline = route({
  method: 'GET',
  path: '/pipeline/{pipeline}',
  section: 'Plugins',
  summary: 'Returns one pipeline with its steps, branches and phases, as it is drawn.',
  notes:
    'The values of `with` and `baggage` are left out. In a condition, the value that is compared is replaced if a key of its path ' +
    'names a secret, as in `GET /config/view`.',
  access: anyOf('plugin:ro', 'plugin:rw'),
  problems: ['unknown_pipeline'],
  answers: { 200: { description: 'The pipeline.', schema: pipelineSchema } },
  find: ({ config, params }) => findPipeline(config, params.pipeline),
  handle: ({ found }) => json(200, JSON.stringify(drawnPipeline(found))),
});
