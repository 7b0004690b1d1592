// Makes a delayed job or run, or a job that waits for its next attempt, due now (docs/engine.md#run-now).
import { headgatePlugin, pipelinePlugin } from '../../actors/job/records/job.ts';
import { parseId } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { bodyOf, oneOfTexts, uuid } from '../openapi/schemas.ts';
import { problem } from '../problem.ts';
import { refusalDetails } from '../refusal.ts';
import { anyOf, json, route } from '../route.ts';
import { alreadySettled, findJob, isSettled } from './jobs.ts';

const answerSchema = Type.Object({
  job_id: uuid,
  status: oneOfTexts(['queued', 'running']),
  rescheduled: Type.Boolean({ description: 'False: it was due already, or it waits in the queue of its schedule.' }),
});

export const runJobNow = route({
  method: 'POST',
  path: '/job/{job_id}/run-now',
  section: 'Jobs',
  summary: 'Makes a job that waits for its next attempt, or a delayed job or run, run at once.',
  notes:
    'The attempt counts as usual. The `run_at` of a delayed job becomes the present time. A job that is already due or running is ' +
    'left as it is, so the call can be repeated.',
  access: anyOf('jobs:rw'),
  body: bodyOf({}),
  problems: ['unknown_job', 'already_settled', 'not_waiting', 'unavailable', 'disk_full', 'stopping'],
  answers: { 200: { description: 'The job is due or running.', schema: answerSchema } },
  find: findJob,
  async handle({ engine, found: job }) {
    const { jobId, plugin, status } = job;
    if (isSettled(job)) return alreadySettled(status);
    if (plugin === headgatePlugin)
      return problem(
        'not_waiting',
        'this job is an action over many jobs; only delayed jobs, and jobs that wait for their next attempt, can be run now',
        { jobStatus: status },
      );
    if (plugin === pipelinePlugin && status === 'running')
      return problem(
        'not_waiting',
        'this run has begun; only delayed jobs and runs, and jobs that wait for their next attempt, can be run now: name one of its jobs',
        { jobStatus: status },
      );
    const reply = await engine.runNow(parseId(jobId)!);
    if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
    return json(200, JSON.stringify({ job_id: jobId, status, rescheduled: reply.wasWaiting }));
  },
});
