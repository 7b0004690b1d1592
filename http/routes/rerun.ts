// Runs a settled job again (docs/contract.md#rerun). The old job and its records stay as they are.

import { headgatePlugin, pipelinePlugin, type RerunFrom } from '../../actors/job/records/job.ts';
import type { JobView } from '../../actors/job/views/job-view.ts';
import { deliveredEvent, rerunRequest } from '../../actors/job/views/rerun-request.ts';
import type { Config } from '../../config/config.ts';
import { type JsonObject, pack } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import type { OnJobEnd } from '../../service/job-waiters.ts';
import { forbidden } from '../admission.ts';
import { type Caller, may } from '../auth.ts';
import { idempotencyOf } from '../idempotency.ts';
import { acceptedMembers, bodyOf, reasonSchema, uuid } from '../openapi/schemas.ts';
import { ofRun, optionMembers, type RawOptions, readOptions } from '../options.ts';
import { checkPayload } from '../payload.ts';
import { type HttpProblem, isProblem, mismatchProblem, problem } from '../problem.ts';
import { anyOf, route } from '../route.ts';
import { waitNotes, waitOf, waitParameter } from '../wait.ts';
import {
  answerSubmitted,
  deadlineOf,
  findCommand,
  findPipeline,
  idempotencyNotes,
  takingProblems,
} from './execution.ts';
import { findJob, isSettled, jobAnswers } from './jobs.ts';
import { submitAndWait } from './waiting.ts';

const rerunBody = bodyOf({
  from: Type.Optional(
    Type.String({
      enum: ['start', 'failed'],
      description:
        'For a run: `failed` reuses the results of jobs that succeeded, and runs the others. `start`, which is the default, ' +
        'runs everything again.',
    }),
  ),
  payload: Type.Optional(Type.Object({}, { description: 'A new payload. Default: that of the old job.' })),
  reason: reasonSchema('Why; shown as `rerun_reason` of the new job.'),
  ...optionMembers,
});
/** The job to run again. `target`: its command or pipeline; a problem if the pipeline is no longer configured. */
type FoundJob = { readonly job: JobView; readonly target: { readonly inputSchema: JsonObject | null } | HttpProblem };
type RerunBody =
  | ({ readonly from?: RerunFrom; readonly payload?: object; readonly reason?: string } & RawOptions)
  | undefined;

export const rerunJob = route({
  method: 'POST',
  path: '/job/{job_id}/rerun',
  section: 'Jobs',
  summary: 'Runs a settled job again, as a new job.',
  access: { ...anyOf('jobs:rw'), also: 'the caller must also be allowed to run the command or the pipeline' },
  query: { wait: waitParameter },
  body: rerunBody,
  notes:
    'The new job has the payload, event and context of the old one, and runs with the plugins and pipelines that are configured ' +
    'now. With `from: failed` a run keeps its old definition and reuses the results of jobs that succeeded; all other jobs run, and ' +
    'the steps after them. If the old definition or a result is no longer stored, the answer is 409 `not_kept`. A job of a run is run ' +
    'again by itself: its result does not enter the run. The new job has the tags of the old one unless the call gives others; with ' +
    '`"tags": {}` it has none. Other options of the old job such as `expires` apply again, counted from now, unless the call gives ' +
    'others; its `run_at` does not. The caller also needs a scope that may run the command or the ' +
    `pipeline. ${waitNotes} ${idempotencyNotes}`,
  problems: [
    'unknown_job',
    'unknown_plugin',
    'unknown_command',
    'unknown_pipeline',
    'not_settled',
    'not_kept',
    'invalid_payload',
    ...takingProblems,
  ],
  answers: jobAnswers(Type.Object({ ...acceptedMembers, rerun_of: uuid }), 'new job'),
  find({ engine, params, config, caller }): FoundJob | HttpProblem {
    const job = findJob({ engine, params });
    if (isProblem(job)) return job;
    if (job.plugin === headgatePlugin)
      return problem('invalid_request', 'an action cannot be run again: start a new one with POST /actions');
    if (job.phase !== null) return problem('invalid_request', `${inPhase} "${job.phase}": run the whole run again`);
    const target = findTarget(config, job, caller!);
    // A pipeline that is no longer configured is refused only in `handle`, because a rerun with `from: failed` uses the old definition.
    const isGone = isProblem(target) && target.code === 'unknown_pipeline';
    if (isProblem(target) && !isGone) return target;
    return { job, target };
  },
  async handle(call) {
    const { config, found, caller, engine } = call;
    const { job, target } = found;
    const { from = 'start', payload, reason, ...given } = (call.body as RerunBody) ?? {};
    const read = readOptions(given, call.nowMs());
    const options = job.plugin === pipelinePlugin ? ofRun(read, deadlineOf(config, job.command)) : read;
    if (isProblem(options)) return options;
    if (from === 'failed' && payload !== undefined) return problem('invalid_request', failedWithPayload);
    if (isProblem(target) && from !== 'failed') return target;
    const inputSchema = isProblem(target) ? null : target.inputSchema;
    if (!isSettled(job)) {
      return problem(
        'not_settled',
        `the job ${job.jobId} is ${job.status}: only a job that has ended can be run again`,
      );
    }
    const idempotency = idempotencyOf(call, '/job/{job_id}/rerun');
    if (isProblem(idempotency)) return idempotency;
    const errors = payload === undefined ? [] : checkPayload(config, inputSchema, payload, '/payload');
    if (errors.length > 0) return mismatchProblem('invalid_payload', errors);
    const request = rerunRequest(job, reason ?? null, from, options);
    const submission = {
      payload: payload === undefined ? job.input.stored : pack(payload),
      submittedBy: caller!.origin,
      source: request.source,
      ...(request.options && { options: request.options }),
      asker: call,
      ...(idempotency && { idempotency }),
    };
    const { plugin, command } = job;
    const delivered = deliveredEvent(request);
    const submit = (end?: OnJobEnd) =>
      plugin === pipelinePlugin
        ? engine.startRun({ pipeline: command, ...submission, ...(delivered && { event: delivered }) }, end)
        : engine.submit({ plugin, command, event: request.event, ...submission }, end);
    const wait = waitOf(call);
    const reply = wait ? await submitAndWait(call, wait.ms, submit) : await submit();
    return answerSubmitted(call, reply, plugin, command, wait, { rerun_of: job.jobId });
  },
});

const failedWithPayload = '/payload cannot be combined with "from": "failed", which reuses results of the old payload';

const inPhase = 'a job of a phase cannot be run again; this one belongs to';

/** The command or pipeline that the job runs, if it is configured and the caller may run it; else a problem. */
function findTarget(config: Config, { plugin, command }: JobView, caller: Caller) {
  if (plugin !== pipelinePlugin) {
    const found = findCommand(config, plugin, command, caller);
    return isProblem(found) ? found : found.command;
  }
  if (!may(caller, ['plugin:rw'])) return forbidden(['plugin:rw']);
  const pipeline = findPipeline(config, command);
  return isProblem(pipeline) ? pipeline : { inputSchema: pipeline.inputSchema ?? null };
}
