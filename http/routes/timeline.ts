// The timeline of a run, step by step (docs/pipelines.md#the-timeline-of-a-run).
import { statuses } from '../../actors/job/records/job.ts';
import { pathJobsMax } from '../../actors/job/views/critical-path.ts';
import { bucketCounts, bucketsDefault, bucketsMax, namedMax, stepsMax } from '../../actors/job/views/timeline.ts';
import { errorCharsMax } from '../../actors/job/views/timeline-reading.ts';
import { parseId } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { answerRead } from '../answer.ts';
import { counted, instant, instantOf, jobStatus, nullable, phaseSchema, uuid } from '../openapi/schemas.ts';
import { instant as instantParameter, integer, invalidQuery } from '../query.ts';
import { anyOf, route } from '../route.ts';
import { findJob, maySeeResults } from './jobs.ts';

const us = Type.Integer({ minimum: 0 });
const percentiles = Type.Object({ p50: us, p95: us, p99: us, max: us });

const stepName = {
  pipeline: nullable(Type.String()),
  step: nullable(Type.String()),
  phase: phaseSchema,
  plugin: nullable(Type.String()),
  command: nullable(Type.String()),
};

const stepSchema = Type.Object(
  {
    ...stepName,
    count: Type.Integer(),
    by_status: Type.Object(Object.fromEntries(statuses.map(status => [status, Type.Integer()]))),
    first_created: instant,
    last_created: instant,
    first_start: nullable(instant),
    last_end: nullable(instant),
    queue_us: percentiles,
    run_us: percentiles,
    buckets: Type.Array(Type.Array(Type.Integer(), { minItems: bucketCounts.length, maxItems: bucketCounts.length }), {
      description: `For each bucket, in order: how many jobs ${bucketCounts.join(', ')}.`,
    }),
    slowest: Type.Array(Type.Object({ job_id: uuid, status: jobStatus, started_at: instant, run_us: us }), {
      maxItems: namedMax,
    }),
    failed: Type.Array(
      Type.Object({
        job_id: uuid,
        status: jobStatus,
        completed_at: instant,
        error: Type.Optional(
          Type.String({ description: `The first line of the error, at most ${errorCharsMax} characters of it.` }),
        ),
      }),
      { maxItems: namedMax, description: 'The jobs that failed, timed out or are dead, the first to end first.' },
    ),
  },
  {
    description: `A step of the run, or of a run that it called. After ${stepsMax} steps, the jobs of all further ones are one step, with null for all names.`,
  },
);

const pathSchema = Type.Object(
  {
    ...stepName,
    job_id: uuid,
    status: jobStatus,
    jobs: Type.Integer({ minimum: 1 }),
    from: instant,
    to: instant,
    handing_out_us: us,
    waiting_us: us,
    running_us: us,
    retrying_us: us,
  },
  { description: 'Consecutive jobs of one step; `job_id` is the last of them.' },
);

const timelineSchema = Type.Object({
  job_id: uuid,
  plugin: Type.String(),
  command: Type.String(),
  status: jobStatus,
  from: instant,
  to: instant,
  duration_us: us,
  bucket_us: Type.Integer({ minimum: 1 }),
  buckets_from: Type.Optional(
    instantOf(
      'With `from` or `to`: when the first bucket begins. It has all that was before the part, and the last bucket all that came after it.',
    ),
  ),
  count: counted('The number of jobs in all steps.'),
  reused: Type.Optional(Type.Integer({ description: 'Jobs of the original run whose results this rerun reuses.' })),
  steps: Type.Array(stepSchema),
  critical_path: Type.Array(pathSchema, {
    description: 'The chain of jobs that leads to the job of the run that ended last.',
  }),
  critical_path_cut: Type.Optional(
    Type.Literal(true, { description: `The beginning is missing: the path has more than ${pathJobsMax} jobs.` }),
  ),
  gaps: Type.Object(
    { handing_out_us: us, waiting_us: us, retrying_us: us, commit_us: us },
    { description: 'The time on the critical path in which none of its jobs ran.' },
  ),
});

export const getTimeline = route({
  method: 'GET',
  path: '/job/{job_id}/timeline',
  section: 'Jobs',
  summary: 'Says where the time of a run went: counts, waiting and running times by step, and the critical path.',
  notes:
    'All jobs inside the run count, including those of runs that it called, but not those of runs that its events started. A job that is not a ' +
    'run has itself as its only step. `from` and `to` divide only this part of the time into buckets; all other figures are still those of ' +
    'the whole run. [pipelines.md](pipelines.md#the-timeline-of-a-run) describes the answer.',
  access: anyOf('jobs:tree:ro', 'jobs:ro', 'jobs:rw'),
  query: { buckets: integer(1, bucketsMax, bucketsDefault), from: instantParameter, to: instantParameter },
  problems: ['unknown_job', 'too_many_reads'],
  answers: { 200: { description: 'The timeline.', schema: timelineSchema } },
  find: findJob,
  handle(call) {
    const { buckets = bucketsDefault, from, to } = call.query;
    if (from !== undefined && to !== undefined && from >= to)
      return invalidQuery('the query parameter "from" must be before "to"');
    const id = parseId(call.found.jobId)!;
    const nowUs = call.nowMs() * 1000;
    const hasPart = from !== undefined || to !== undefined;
    const part = { fromUs: from ?? 0, toUs: to ?? Number.MAX_SAFE_INTEGER };
    const withErrors = maySeeResults(call.caller!);
    return answerRead(call, { kind: 'timeline', id, buckets, nowUs, withErrors, ...(hasPart && { part }) });
  },
});
