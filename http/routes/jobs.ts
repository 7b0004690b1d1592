// Reads one job and the tree below it, and cancels jobs (docs/contract.md#jobs).

import { type Waits, waitReasons } from '../../actors/job/protocol.ts';
import { isHosted, type Status } from '../../actors/job/records/job.ts';
import { rerunsCountedMax, rerunsListedMax } from '../../actors/job/records/reruns.ts';
import type { JobView } from '../../actors/job/views/job-view.ts';
import type { ApiScope } from '../../config/section/scope.ts';
import { formatId, type JobId, parseId } from '../../runtime/ids.ts';
import { type Schema, Type } from '../../runtime/schema-type.ts';
import { isLongToShow, type JobDetail, jobParts, shownValueBytesMax } from '../../service/json/job.ts';
import { type Answer, answerRead, smallAnswer } from '../answer.ts';
import { type Caller, may } from '../auth.ts';
import {
  bodyOf,
  countsSchema,
  instant,
  instantOf,
  jobStatus,
  nullable,
  oneOfTexts,
  outputSchema,
  phaseSchema,
  reasonSchema,
  reusedSchema,
  uuid,
} from '../openapi/schemas.ts';
import { type HttpProblem, problem } from '../problem.ts';
import { flag, oneOf } from '../query.ts';
import { refusalDetails } from '../refusal.ts';
import { anyOf, type HttpCall, json, type Route, route } from '../route.ts';
import { jobTagsSchema } from '../tags.ts';
import { waitedAnswer, waitNotes, waitOf, waitParameter } from '../wait.ts';
import { waitFor } from './waiting.ts';

export const resultScopes: readonly ApiScope[] = ['jobs:result:ro', 'jobs:ro', 'jobs:rw'];

/** Whether the caller may see results: the input and output of jobs, their errors and `stderr`. */
export function maySeeResults(caller: Caller): boolean {
  return may(caller, resultScopes);
}

const output = Type.Optional(nullable(outputSchema));

const waitsSchema = Type.Object(
  {
    reason: oneOfTexts(waitReasons),
    detail: Type.String(),
    since: instant,
    until: Type.Optional(instant),
  },
  {
    description: 'Why an unsettled job is not running; left out if the ledger does not answer within 100 ms.',
  },
);

const envelopeSchema = Type.Object(
  {
    type: Type.String(),
    event_id: Type.String(),
    timestamp: instant,
    source: Type.String(),
    dedupe_key: Type.Optional(Type.String()),
    headers: Type.Optional(
      Type.Object({}, { description: 'For a webhook delivery: the headers that its endpoint names.' }),
    ),
    schedule: Type.Optional(
      Type.Object(
        { id: Type.String(), due_at: nullable(instant), fired_at: instant, missed: Type.Integer() },
        { description: 'For a job that a schedule started: the occurrence, as the plugin gets it.' },
      ),
    ),
  },
  { description: 'For `handle`: the event envelope, whose payload is in `payload`.' },
);

export const jobSchema = Type.Object({
  job_id: uuid,
  status: jobStatus,
  plugin: Type.String(),
  command: Type.String(),
  parent_job_id: nullable(uuid),
  submitted_by: Type.String(),
  attempt: Type.Integer(),
  created_at: instant,
  started_at: nullable(instant),
  completed_at: nullable(instant),
  tags: jobTagsSchema,
  counts: countsSchema,
  run_at: Type.Optional(
    instantOf(
      'When the job runs, or was to run: its `run_at`, or the end of its `delay`. For a job that has waited in the queue of a schedule, ' +
        'the end of that wait.',
    ),
  ),
  expires_at: Type.Optional(instantOf('When the job ends `cancelled` unless it has started.')),
  deadline_at: Type.Optional(
    instantOf('When the job ends `timed_out` unless it has ended; for a run, when its steps are stopped.'),
  ),
  schedule: Type.Optional(
    Type.Object(
      { id: Type.String(), due_at: nullable(instant) },
      { description: 'The schedule that started the job; `due_at` is null if it was run by hand.' },
    ),
  ),
  rerun_of: Type.Optional(Type.String({ format: 'uuid', description: 'The job that this one runs again.' })),
  rerun_from: Type.Optional(oneOfTexts(['start', 'failed'])),
  rerun_reason: Type.Optional(Type.String()),
  reruns: Type.Optional(
    Type.Array(uuid, { description: `The jobs that run this one again, newest first, at most ${rerunsListedMax}.` }),
  ),
  rerun_count: Type.Optional(Type.Integer({ description: `At most ${rerunsCountedMax}.` })),
  cancelling: Type.Optional(
    Type.Union([Type.Literal(true), Type.Integer()], {
      description: 'The job was cancelled and is being stopped. For a run: how many of its jobs have not ended.',
    }),
  ),
  phase_error: Type.Optional(
    Type.String({ description: 'For a run that succeeded: what went wrong in `on_failure` or `finally`.' }),
  ),
  cancel: Type.Optional(
    Type.Object(
      { by: Type.String(), at: instant, reason: Type.Optional(Type.String()) },
      { description: 'Who cancelled the job or its run. Also present if the job succeeded all the same.' },
    ),
  ),
  waits_for: Type.Optional(waitsSchema),
  pipeline: Type.Optional(nullable(Type.String())),
  run_id: Type.Optional(nullable(uuid)),
  step_id: Type.Optional(nullable(Type.String())),
  phase: phaseSchema,
  index: Type.Optional(nullable(Type.Integer())),
  event: Type.Optional(nullable(envelopeSchema)),
  payload: Type.Optional(Type.Unknown()),
  context: Type.Optional(Type.Object({})),
  omitted: Type.Optional(
    Type.Array(oneOfTexts(['payload', 'context', 'result']), {
      description: `Values of more than ${shownValueBytesMax / 1024} KiB; ?include=payload includes them.`,
    }),
  ),
  result: output,
  last_error: Type.Optional(Type.String()),
});

/** The answers of a call that makes a job: its document if the call has waited, otherwise `made`. */
export function jobAnswers(made: Schema, job = 'job') {
  const onDisk = `The ${job} is on disk; with \`wait\`: the ${job} in its current state.`;
  return {
    200: { description: `With \`wait\`: the ${job}, which has ended.`, schema: jobSchema },
    202: { description: onDisk, schema: Type.Union([made, jobSchema]) },
  };
}

const treeJobSchema = Type.Object({
  job_id: uuid,
  parent_job_id: nullable(uuid),
  plugin: Type.String(),
  command: Type.String(),
  status: jobStatus,
  started_at: nullable(instant),
  completed_at: nullable(instant),
  counts: countsSchema,
  phase: phaseSchema,
  reused: reusedSchema,
  result: output,
});

const getJob = route({
  method: 'GET',
  path: '/job/{job_id}',
  section: 'Jobs',
  summary: 'Returns one job.',
  access: anyOf('jobs:status:ro', 'jobs:ro', 'jobs:rw'),
  query: { include: oneOf(['payload']), result: oneOf(['short']), wait: waitParameter },
  notes: `With \`?result=short\`, a result of more than ${shownValueBytesMax / 1024} KiB is left out, and named in \`omitted\`. ${waitNotes}`,
  problems: ['unknown_job', 'too_many_reads'],
  answers: {
    200: { description: 'The job.', schema: jobSchema },
    202: { description: 'With `wait`: the job, which has not ended yet.', schema: jobSchema },
  },
  find: findJob,
  async handle(call) {
    const { found } = call;
    const { include, result } = call.query;
    const shown = include === 'payload' ? 'whole' : result === 'short' ? 'short' : 'plain';
    const wait = waitOf(call);
    if (wait === null) return answerJob(call, call.caller!, found, shown);
    const id = parseId(found.jobId)!;
    const how = isSettled(found) ? 'settled' : await waitFor(call, wait.ms, id);
    if (call.callerNow() === undefined) return problem('unauthorized', 'the token lost its access during the wait');
    return waitedAnswer(await answerAsItStands(call, id, shown), wait, how);
  },
});

/** The detail of a job for callers that may see results. */
type ShownDetail = Exclude<JobDetail, 'bare'>;

/** `caller`: undefined if the caller's token has lost its access. */
function answerJob(
  call: Pick<HttpCall, 'engine' | 'onGone'>,
  caller: Caller | undefined,
  job: JobView,
  shown: ShownDetail,
  status = 200,
) {
  const { engine } = call;
  const id = parseId(job.jobId)!;
  const detail = caller && maySeeResults(caller) ? shown : 'bare';
  const answer = (waits: Waits | null) =>
    isLongToShow(job, detail)
      ? answerRead(call, { kind: 'job', id, detail, waits }, status)
      : smallAnswer(jobParts(job, detail, waits), status);
  // Only the ledger knows why the job waits. Runs and actions wait while their status is `running`.
  const isAsked = job.status === 'queued' || (job.status === 'running' && !isHosted(job.plugin));
  return isAsked ? engine.waits(id).then(answer) : answer(null);
}

/**
 * Answers with the job document for a caller that has waited: 200 if the job has settled, else 202; 404 if it is no longer stored. The
 * document shows what the token may read now, after the wait.
 */
export async function answerAsItStands(
  call: Pick<HttpCall, 'engine' | 'callerNow' | 'onGone'>,
  id: JobId,
  shown: ShownDetail = 'plain',
): Promise<Answer> {
  const job = call.engine.job(id);
  if (!job) return unknownJob(formatId(id));
  return answerJob(call, call.callerNow(), job, shown, isSettled(job) ? 200 : 202);
}

export function isSettled({ status }: Pick<JobView, 'status'>): boolean {
  return status !== 'queued' && status !== 'running';
}

const getTree = route({
  method: 'GET',
  path: '/job/{job_id}/tree',
  section: 'Jobs',
  summary: 'Streams a job and all its descendants, parents before children.',
  access: anyOf('jobs:tree:ro', 'jobs:ro', 'jobs:rw'),
  problems: ['unknown_job', 'too_many_reads'],
  answers: { 200: { description: 'The jobs.', schema: Type.Array(treeJobSchema) } },
  find: findJob,
  handle(call) {
    const id = parseId(call.found.jobId)!;
    return answerRead(call, { kind: 'tree', id, withResult: maySeeResults(call.caller!) });
  },
});

const cancelBody = bodyOf({
  reason: reasonSchema('Shown with the job.'),
  detached: Type.Optional(
    Type.Boolean({
      description:
        'For a run: also cancels the runs that events of its jobs have started, and in turn those that their events have started.',
      default: false,
    }),
  ),
});

const cancelJob = route({
  method: 'POST',
  path: '/job/{job_id}/cancel',
  section: 'Jobs',
  summary: 'Cancels a job, or a run with everything in it.',
  notes:
    'After the answer no attempt of the job, and no job of the run, starts any more. A waiting job has ended; a running one is being ' +
    'stopped. If its code succeeds first, the job ends `succeeded`; otherwise it ends `cancelled` and is not retried. A run ends with ' +
    'its last job. Runs that events of its jobs have started continue, unless `detached` is true. A repeated call returns the current ' +
    'state. The phase `finally` of a run is stopped only with `force`; without it, the answer is 409 `ending` unless the run was ' +
    'cancelled before.',
  access: anyOf('jobs:rw'),
  body: cancelBody,
  query: { force: flag },
  problems: ['unknown_job', 'already_settled', 'ending', 'unavailable', 'disk_full', 'stopping'],
  answers: {
    200: {
      description: 'The job is cancelled.',
      schema: Type.Object({ job_id: uuid, status: Type.Literal('cancelled') }),
    },
    202: {
      description: 'The job is being stopped.',
      schema: Type.Object({ job_id: uuid, status: jobStatus, cancelling: Type.Literal(true) }),
    },
  },
  find: findJob,
  async handle({ engine, found: { jobId }, body, caller, query }) {
    const { reason = null, detached = false } = (body ?? {}) as {
      readonly reason?: string;
      readonly detached?: boolean;
    };
    const { force = false } = query;
    const reply = await engine.cancel({ id: parseId(jobId)!, by: caller!.origin, reason, detached, force });
    if (reply === null) return problem('unavailable', 'the ledger does not answer right now');
    if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
    const { status: stands, isEnding } = reply;
    if (isEnding) return problem('ending', inFinally);
    if (stands === null) return unknownJob(jobId);
    if (stands === 'cancelled') return json(200, `{"job_id":"${jobId}","status":"cancelled"}`);
    if (stands === 'queued' || stands === 'running')
      return json(202, `{"job_id":"${jobId}","status":"${stands}","cancelling":true}`);
    return alreadySettled(stands);
  },
});

const inFinally = 'the run is in its phase "finally" and ends soon; ?force=true stops it';

export const jobRoutes: readonly Route[] = [getJob, getTree, cancelJob];

type JobPath = Pick<HttpCall<{ readonly job_id: string }>, 'engine' | 'params'>;

/** The job in the path, or 404. */
export function findJob({ engine, params }: JobPath): JobView | HttpProblem {
  const id = parseId(params.job_id);
  return (id && engine.job(id)) ?? unknownJob(params.job_id);
}

export function alreadySettled(status: Status): HttpProblem {
  return problem('already_settled', `the job has ended already: ${status}`, { jobStatus: status });
}

export function unknownJob(id: string): HttpProblem {
  return problem('unknown_job', `there is no job ${JSON.stringify(id)}`);
}
