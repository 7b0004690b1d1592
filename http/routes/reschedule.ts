// Gives a delayed job or run another time (docs/engine.md#delayed-jobs).
import { parseId } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { bodyOf, instant, uuid } from '../openapi/schemas.ts';
import { optionMembers, type RawOptions, readOptions } from '../options.ts';
import { isProblem, problem } from '../problem.ts';
import { refusalDetails } from '../refusal.ts';
import { anyOf, json, route } from '../route.ts';
import { alreadySettled, findJob, isSettled } from './jobs.ts';

const { run_at, delay } = optionMembers;
const answerSchema = Type.Object({ job_id: uuid, status: Type.Literal('queued'), run_at: instant });

export const rescheduleJob = route({
  method: 'POST',
  path: '/job/{job_id}/reschedule',
  section: 'Jobs',
  summary: 'Gives a delayed job or run another time.',
  notes:
    'One of `run_at` and `delay` is required; a time that has passed makes the job due at once. Its `expires` and `deadline` count ' +
    'from the new time. A job that does not wait for its time gets 409 `not_waiting`.',
  access: anyOf('jobs:rw'),
  body: bodyOf({ run_at, delay }),
  problems: ['unknown_job', 'already_settled', 'not_waiting', 'unavailable', 'disk_full', 'stopping'],
  answers: { 200: { description: 'The job runs at this time.', schema: answerSchema } },
  find: findJob,
  async handle(call) {
    const { engine, found: job, body } = call;
    const options = readOptions(body as RawOptions | undefined, call.nowMs());
    if (isProblem(options)) return options;
    const { runAtUs, delayMs } = options ?? {};
    const to = runAtUs !== undefined ? { runAtUs } : delayMs !== undefined ? { delayMs } : null;
    if (to === null) return problem('invalid_request', '/run_at (a time) or /delay (a duration) is required');
    const { jobId, status } = job;
    if (isSettled(job)) return alreadySettled(status);
    const reply = await engine.reschedule(parseId(jobId)!, to);
    if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
    if (reply.runAtUs === null) return problem('not_waiting', notDelayed, { jobStatus: status });
    return json(200, JSON.stringify({ job_id: jobId, status: 'queued', run_at: timestamp(reply.runAtUs) }));
  },
});

const notDelayed = 'the job does not wait for its time (waits_for.reason run_at), so it cannot be rescheduled';
