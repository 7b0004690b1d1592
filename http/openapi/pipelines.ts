// Makes the OpenAPI documents of pipelines, with one operation per pipeline.
import type { PipelineDefinition } from '../../config/pipeline/definition.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { jobSchema } from '../routes/jobs.ts';
import { waitParameter, waitSecondsMax } from '../wait.ts';
import { requestBody } from './document.ts';
import { answeredWith, byToken, component, type OpenapiSchemas, refusedWith, wholeDocument } from './parts.ts';
import { accepted, runFinished, runUnfinished } from './schemas.ts';

const waitQuery: JsonObject = {
  name: 'wait',
  in: 'query',
  required: false,
  description: `Delays the answer until the job has ended, for at most ${waitSecondsMax} s. The header \`Prefer: wait=30\` does the same.`,
  schema: waitParameter.schema as JsonObject,
};

export function pipelinesDocument(
  title: string,
  version: string,
  pipelines: readonly PipelineDefinition[],
): JsonObject {
  const schemas: OpenapiSchemas = {};
  const paths = pipelines.map(
    pipeline => [`/pipeline/${pipeline.name}`, { post: operation(pipeline, schemas) }] as const,
  );
  const waiting = { FinishedRun: runFinished, UnfinishedRun: runUnfinished };
  return wholeDocument(title, version, Object.fromEntries(paths), {
    ...schemas,
    AcceptedJob: accepted,
    Job: jobSchema,
    ...(pipelines.some(isSynchronous) && waiting),
  });
}

function isSynchronous({ executionMode }: PipelineDefinition): boolean {
  return executionMode === 'synchronous';
}

function operation(pipeline: PipelineDefinition, schemas: OpenapiSchemas): JsonObject {
  const { name, description, inputSchema } = pipeline;
  const operationId = `pipeline__${name}`;
  return {
    operationId,
    summary: description ?? `pipeline: ${name}`,
    tags: [name],
    parameters: [...(isSynchronous(pipeline) ? [waiting(pipeline)] : []), waitQuery],
    ...requestBody(inputSchema ?? null, operationId, schemas),
    responses: {
      ...answers(pipeline),
      '400': refusedWith('The body or its payload is invalid; nothing was started.'),
      '403': refusedWith('The token lacks the scope plugin:rw.'),
    },
    security: byToken,
  };
}

function waiting({ timeoutMs }: PipelineDefinition): JsonObject {
  const description = `true: the call is answered immediately. Otherwise it waits for the run, for at most ${timeoutMs / 1000} s.`;
  return { name: 'async', in: 'query', required: false, description, schema: { type: 'boolean' } };
}

function answers(pipeline: PipelineDefinition): JsonObject {
  if (!isSynchronous(pipeline)) {
    return {
      '200': answeredWith('With `wait`: the run has ended.', component('Job')),
      '202': answeredWith('The run is on disk; with `wait`: its current state.', {
        anyOf: [component('AcceptedJob'), component('Job')],
      }),
    };
  }
  const settled = { anyOf: [component('FinishedRun'), component('Job')] };
  const either = { anyOf: [component('AcceptedJob'), component('UnfinishedRun'), component('Job')] };
  return {
    '200': answeredWith('The run has settled; with `async` and `wait`, its job.', settled),
    '202': answeredWith('The run is on disk, or was not finished in time.', either),
  };
}
