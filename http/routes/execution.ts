// Execution: plugin calls and pipeline calls (docs/contract.md#plugin-call, docs/contract.md#pipeline-call).

import type { EntryEvent, RefusedWork, SubmitReply } from '../../actors/job/protocol.ts';
import { pipelinePlugin } from '../../actors/job/records/job.ts';
import { callEvent } from '../../actors/pipeline/protocol.ts';
import { firstStepCount } from '../../actors/pipeline/views/first-steps.ts';
import type { Command, Config, PluginInstance } from '../../config/config.ts';
import type { PipelineDefinition } from '../../config/pipeline/definition.ts';
import type { ApiScope } from '../../config/section/scope.ts';
import { formatId } from '../../runtime/ids.ts';
import { pack, packedEmpty } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import { forbidden } from '../admission.ts';
import { type Caller, may } from '../auth.ts';
import { idempotencyKeyCharsMax, idempotencyOf } from '../idempotency.ts';
import { accepted, bodyOf, runFinished, runUnfinished } from '../openapi/schemas.ts';
import { ofRun, optionMembers, type RawOptions, readOptions } from '../options.ts';
import { checkPayload } from '../payload.ts';
import { perConfig } from '../per-config.ts';
import { type HttpProblem, isProblem, mismatchProblem, problem } from '../problem.ts';
import { flag } from '../query.ts';
import { refusalDetails, refusalProblem } from '../refusal.ts';
import { type Answer, anyOf, type HttpCall, json, type Route, route } from '../route.ts';
import { type Wait, waitedAnswer, waitNotes, waitOf, waitParameter } from '../wait.ts';
import { answerAsItStands, jobAnswers, jobSchema } from './jobs.ts';
import { findPlugin } from './plugins.ts';
import { runAndWait } from './synchronous-run.ts';
import { submitAndWait, type WaitResult } from './waiting.ts';

const callBody = bodyOf({
  payload: Type.Optional(Type.Object({}, { description: 'The payload of the job.' })),
  ...optionMembers,
});
type CallBody = ({ readonly payload?: object } & RawOptions) | undefined;

export const idempotencyNotes =
  `With an \`Idempotency-Key\` header (1 to ${idempotencyKeyCharsMax} characters), a request of the same token that repeats an ` +
  'earlier one (method, path, query, parsed body) within 24 hours gets the first answer again and creates nothing. Another ' +
  'request with the same key gets 422. Refused requests are not remembered.';
export const idempotencyProblems = ['invalid_idempotency_key', 'idempotency_mismatch'] as const;
export const takingProblems = [
  ...idempotencyProblems,
  'queue_full',
  'too_many_waiting',
  'paused',
  'disk_full',
  'unavailable',
  'overloaded',
] as const;

/** The event that a call of this command implies: null for every command except `handle`. */
export function eventOf({ name }: Command): EntryEvent | null {
  return name === 'handle' ? callEvent : null;
}

/** For each type of command, the scopes that allow running it. A caller needs one of them, or `*`. */
const neededFor: { readonly [type in Command['type']]: readonly ApiScope[] } = {
  read: ['plugin:ro', 'plugin:rw'],
  write: ['plugin:rw'],
};

/** Who may call a command. The refusal is the same for every command and type, so that it does not show whether the command exists. */
export const commandAccess = {
  ...anyOf('plugin:ro', 'plugin:rw'),
  also: 'a command of type write needs plugin:rw or *',
};

type FoundCommand = { readonly plugin: PluginInstance; readonly command: Command };

/** Returns the plugin and its command. Returns a problem if the plugin or command does not exist, or if the caller may not run the command. */
export function findCommand(
  config: Config,
  pluginName: string,
  name: string,
  caller: Caller,
): FoundCommand | HttpProblem {
  const plugin = findPlugin(config, pluginName, caller);
  if (isProblem(plugin)) return plugin;
  const command = plugin.manifest.commands.find(each => each.name === name);
  if (!command) return problem('unknown_command', `the plugin ${plugin.name} has no command ${JSON.stringify(name)}`);
  return may(caller, neededFor[command.type]) ? { plugin, command } : forbidden(neededFor[command.type]);
}

const callPlugin = route({
  method: 'POST',
  path: '/plugin/{plugin}/{command}',
  section: 'Execution',
  summary: 'Runs one command of a plugin as a job.',
  access: commandAccess,
  query: { wait: waitParameter },
  body: callBody,
  notes: `${waitNotes} ${idempotencyNotes}`,
  problems: ['unknown_plugin', 'unknown_command', 'invalid_payload', ...takingProblems],
  answers: jobAnswers(accepted),
  find: ({ config, params, caller }) => findCommand(config, params.plugin, params.command, caller!),
  handle(call) {
    const { engine, config, found, body, caller } = call;
    const { plugin, command } = found;
    const idempotency = idempotencyOf(call, '/plugin/{plugin}/{command}');
    if (isProblem(idempotency)) return idempotency;
    const { payload } = (body as CallBody) ?? {};
    const options = readOptions(body as CallBody, call.nowMs());
    if (isProblem(options)) return options;
    const errors = checkPayload(config, command.inputSchema, payload ?? {}, '/payload');
    if (errors.length > 0) return mismatchProblem('invalid_payload', errors);
    const submission = {
      plugin: plugin.name,
      command: command.name,
      payload: payload === undefined ? packedEmpty : pack(payload),
      submittedBy: caller!.origin,
      event: eventOf(command),
      asker: call,
      ...(options && { options }),
      ...(idempotency && { idempotency }),
    };
    const wait = waitOf(call);
    const answer = (reply: SubmitReply | WaitResult) => answerSubmitted(call, reply, plugin.name, command.name, wait);
    return wait
      ? submitAndWait(call, wait.ms, end => engine.submit(submission, end)).then(answer)
      : engine.submit(submission).then(answer);
  },
});

const callPipeline = route({
  method: 'POST',
  path: '/pipeline/{pipeline}',
  section: 'Execution',
  summary: 'Runs a pipeline, and waits for the result if the pipeline is synchronous.',
  access: anyOf('plugin:rw'),
  query: { async: flag, wait: waitParameter },
  body: callBody,
  notes:
    `${waitNotes} A synchronous pipeline waits for the shorter of \`wait\` and its own \`timeout_secs\`. A call with \`run_at\` or ` +
    '`delay` is answered as with `?async=true`. With the header `Prefer: return=minimal`, the answer of a synchronous pipeline has no `tree`. ' +
    `${idempotencyNotes} If a repeated call waits, it waits for the same run or job and returns its current state, or 404 if it ` +
    'is no longer stored.',
  problems: ['unknown_pipeline', 'several_entry_dispatches', 'invalid_payload', ...takingProblems],
  answers: {
    200: {
      description: 'The run has settled; with `wait` the job of an asynchronous run.',
      schema: Type.Union([runFinished, jobSchema]),
    },
    202: {
      description: 'The run is on disk, or it did not finish in time.',
      schema: Type.Union([accepted, runUnfinished, jobSchema]),
    },
  },
  find: ({ config, params }) => findPipeline(config, params.pipeline),
  async handle(call) {
    const { engine, found: pipeline, body, query, caller } = call;
    const options = ofRun(readOptions(body as CallBody, call.nowMs()), pipeline.deadlineMs);
    if (isProblem(options)) return options;
    // A call of a synchronous pipeline waits for a delayed run only if `wait` is given.
    const isDelayed = options?.runAtUs !== undefined || options?.delayMs !== undefined;
    const isSynchronous = pipeline.executionMode === 'synchronous' && query.async !== true && !isDelayed;
    if (isSynchronous && firstStepCount(pipeline) > 1) {
      const detail = `the pipeline ${pipeline.name} begins with several steps (entry dispatches): call it with ?async=true`;
      return problem('several_entry_dispatches', detail);
    }
    const { payload } = (body as CallBody) ?? {};
    const idempotency = idempotencyOf(call, '/pipeline/{pipeline}');
    if (isProblem(idempotency)) return idempotency;
    const errors = checkPayload(call.config, pipeline.inputSchema ?? null, payload ?? {}, '/payload');
    if (errors.length > 0) return mismatchProblem('invalid_payload', errors);
    const submission = {
      pipeline: pipeline.name,
      payload: payload === undefined ? packedEmpty : pack(payload),
      submittedBy: caller!.origin,
      asker: call,
      ...(options && { options }),
      ...(idempotency && { idempotency }),
    };
    const wait = waitOf(call);
    if (isSynchronous) {
      const answer = await runAndWait(call, submission, pipeline.timeoutMs, wait);
      return answer.kind === 'refused' ? refuse(answer, pipelinePlugin, pipeline.name, call.nowMs()) : answer;
    }
    const reply = wait
      ? await submitAndWait(call, wait.ms, end => engine.startRun(submission, end))
      : await engine.startRun(submission);
    return answerSubmitted(call, reply, pipelinePlugin, pipeline.name, wait);
  },
});

export const executionRoutes: readonly Route[] = [callPlugin, callPipeline];

const pipelinesOf = perConfig(({ pipelines }) => new Map(pipelines.map(pipeline => [pipeline.name, pipeline])));

/** The deadline of the pipeline. Undefined: the pipeline has no deadline, or is not configured. */
export function deadlineOf(config: Config, name: string): number | undefined {
  return pipelinesOf(config).get(name)?.deadlineMs;
}

export function findPipeline(config: Config, name: string): PipelineDefinition | HttpProblem {
  return pipelinesOf(config).get(name) ?? problem('unknown_pipeline', `there is no pipeline ${JSON.stringify(name)}`);
}

/**
 * Answers a call. A refused call gets the refusal, and a caller that has waited gets the job document. Any other caller gets 202 with the id, to
 * which `members` are added.
 */
export function answerSubmitted(
  call: HttpCall,
  reply: SubmitReply | WaitResult,
  plugin: string,
  command: string,
  wait: Wait | null,
  members: object | null = null,
): Answer | Promise<Answer> {
  if (reply.kind !== 'refused') call.submitted = reply.id;
  switch (reply.kind) {
    case 'refused':
      return refuse(reply, plugin, command, call.nowMs());
    case 'accepted':
      return queued(formatId(reply.id), plugin, command, members);
    case 'waited':
      return answerAsItStands(call, reply.id).then(answer => {
        // If the job cannot be read now, the answer is 202 with its id, because after a refusal the caller might submit the job again.
        const isUnread = answer.kind === 'problem' && answer.code !== 'unknown_job';
        return waitedAnswer(isUnread ? queued(formatId(reply.id), plugin, command, members) : answer, wait!, reply.how);
      });
  }
}

function queued(id: string, plugin: string, command: string, members: object | null): Answer {
  const more = members ? `,${JSON.stringify(members).slice(1, -1)}` : '';
  return json(
    202,
    `{"job_id":"${id}","status":"queued","plugin":${JSON.stringify(plugin)},"command":${JSON.stringify(command)}${more}}`,
  );
}

export function refuse(refused: RefusedWork, plugin: string, command: string, nowMs: number): HttpProblem {
  return refusalProblem(refused, refused.detail ?? `${refusalDetails[refused.refusal]} (${plugin}/${command})`, nowMs);
}
