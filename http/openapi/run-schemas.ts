// The answers of a pipeline call that waits for its run.
import { statuses } from '../../actors/job/records/job.ts';
import { Type } from '../../runtime/schema-type.ts';
import { treeJobsMax } from '../../service/json/job.ts';
import { countsSchema } from '../routes/jobs.ts';
import { outputSchema } from './schemas.ts';

export const runFinished = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  status: Type.Union(statuses.map(name => Type.Literal(name))),
  duration_ms: Type.Integer(),
  counts: countsSchema,
  result: Type.Union([outputSchema, Type.Null()]),
  tree: Type.Array(
    Type.Object({
      job_id: Type.String({ format: 'uuid' }),
      plugin: Type.String(),
      command: Type.String(),
      status: Type.Union(statuses.map(name => Type.Literal(name))),
      counts: countsSchema,
      result: Type.Union([outputSchema, Type.Null()]),
    }),
    { description: `At most ${treeJobsMax} jobs.` },
  ),
  tree_truncated: Type.Optional(Type.Literal(true)),
});

export const runUnfinished = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  // Other than running: the run has settled, but could not be read at that moment.
  status: Type.Union(statuses.map(name => Type.Literal(name))),
  timeout_exceeded: Type.Boolean({
    description: 'false: the service is stopping, or the run has settled but cannot be read now',
  }),
  message: Type.String(),
});
