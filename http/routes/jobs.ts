// Jobs (interface, 4.2): one job, and the tree below it.

import type { JobView } from '../../actors/job/job-view.ts';
import { statuses } from '../../actors/job/record.ts';
import type { Scope } from '../../config/section/scope.ts';
import { type JobId, parseId } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { type Caller, may } from '../auth.ts';
import type { Engine } from '../engine.ts';
import { jobParts, treeJobParts } from '../job-json.ts';
import type { JsonPart } from '../json-pieces.ts';
import { outputSchema } from '../openapi/schemas.ts';
import { inPieces } from '../pieces.ts';
import { type Problem, problem } from '../problem.ts';
import { anyOf, type Route, route } from '../route.ts';

export const resultScopes: readonly Scope[] = ['jobs:result:ro', 'jobs:ro', 'jobs:rw'];

/** Whether `result`, `last_error` and `stderr` are shown. */
export function maySeeResults(caller: Caller): boolean {
  return may(caller, resultScopes);
}

const nullable = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()]);
const instant = Type.String({ format: 'date-time' });
const uuid = Type.String({ format: 'uuid' });
const status = Type.Union(statuses.map(name => Type.Literal(name)));
const output = Type.Optional(Type.Union([outputSchema, Type.Null()]));

const jobSchema = Type.Object({
  job_id: uuid,
  status,
  plugin: Type.String(),
  command: Type.String(),
  parent_job_id: nullable(uuid),
  submitted_by: Type.String(),
  attempt: Type.Integer(),
  created_at: instant,
  started_at: nullable(instant),
  completed_at: nullable(instant),
  result: output,
  last_error: Type.Optional(Type.String()),
});

const treeJobSchema = Type.Object({
  job_id: uuid,
  parent_job_id: nullable(uuid),
  plugin: Type.String(),
  command: Type.String(),
  status,
  started_at: nullable(instant),
  completed_at: nullable(instant),
  result: output,
});

const getJob = route({
  method: 'GET',
  path: '/job/{job_id}',
  section: 'Jobs',
  summary: 'One job.',
  access: anyOf('jobs:status:ro', 'jobs:ro', 'jobs:rw'),
  query: {},
  body: null,
  problems: ['unknown_job'],
  answers: { 200: { description: 'The job.', schema: jobSchema } },
  find({ engine, params }): JobView | Problem {
    const id = parseId(params.job_id);
    return (id && engine.job(id)) ?? unknownJob(params.job_id);
  },
  handle: ({ found, caller }) => inPieces(jobParts(found, maySeeResults(caller!))),
});

type Pages = NonNullable<ReturnType<Engine['treePages']>>;

const getTree = route({
  method: 'GET',
  path: '/job/{job_id}/tree',
  section: 'Jobs',
  summary: 'A job and all jobs below it, streamed, parents before children.',
  access: anyOf('jobs:tree:ro', 'jobs:ro', 'jobs:rw'),
  query: {},
  body: null,
  problems: ['unknown_job'],
  answers: { 200: { description: 'The jobs.', schema: Type.Array(treeJobSchema) } },
  find({ engine, params }): { readonly pages: Pages } | Problem {
    const id: JobId | undefined = parseId(params.job_id);
    const pages = id && engine.treePages(id);
    return pages ? { pages } : unknownJob(params.job_id);
  },
  handle: ({ found, caller }) => inPieces(treeParts(found.pages, maySeeResults(caller!))),
});

export const jobRoutes: readonly Route[] = [getJob, getTree];

function* treeParts(pages: Pages, withResult: boolean): Iterable<JsonPart> {
  let separator = '[';
  for (let page = pages.next(); page.length > 0; page = pages.next()) {
    for (const job of page) {
      yield separator;
      yield* treeJobParts(job, withResult);
      separator = ',';
    }
  }
  yield separator === '[' ? '[]' : ']';
}

function unknownJob(id: string): Problem {
  return problem('unknown_job', `there is no job ${JSON.stringify(id)}`);
}
