// The routes that start and show actions over many jobs (docs/engine.md#actions). Actions are cancelled as jobs, by POST /job/{job_id}/cancel.

import type { IdempotencyKey } from '../../actors/job/protocol.ts';
import {
  type ActionPlan,
  actionCommands,
  actionsOpenMax,
  type JobOperation,
  jobOperations,
  skipReasons,
} from '../../actors/job/records/action.ts';
import { headgatePlugin, isHosted, type RerunFrom, rerunPoints } from '../../actors/job/records/job.ts';
import type { JobView } from '../../actors/job/views/job-view.ts';
import { sampleMax } from '../../actors/job/views/matches.ts';
import type { Config } from '../../config/config.ts';
import { formatId, type JobId, jobIdBytes, parseId } from '../../runtime/ids.ts';
import { pack } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import type { CountedSelection } from '../../service/actions.ts';
import { type ActionRequest, actionsList, requestOf, writeAction } from '../../service/json/action.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { forbidden } from '../admission.ts';
import { answerRead, unlessDown } from '../answer.ts';
import { type Caller, may } from '../auth.ts';
import { idempotencyOf } from '../idempotency.ts';
import { bodyOf, instant, jobStatus, nullable, oneOfTexts, reasonSchema, uuid } from '../openapi/schemas.ts';
import { type HttpProblem, invalidAt, isProblem, mismatchProblem, type ProblemItem, problem } from '../problem.ts';
import { cursor, pageDefault, pageLimit } from '../query.ts';
import { refusalDetails } from '../refusal.ts';
import { type Answer, anyOf, type HttpCall, json, type Route, route } from '../route.ts';
import { selectionOf, type Where, whereProblems, whereSchema } from '../selection.ts';
import { findCommand, idempotencyNotes, idempotencyProblems } from './execution.ts';
import { maySeeResults, resultScopes } from './jobs.ts';

const section = 'Control';
export const actionLimitMax = 1_000_000_000;
export const perSecondMax = 100_000;

const startBody = bodyOf({
  do: Type.String({ enum: [...jobOperations], description: 'What is done to each job.' }),
  where: whereSchema,
  from: Type.Optional(
    Type.String({
      enum: [...rerunPoints],
      description:
        'For `rerun`: with `failed`, runs reuse their jobs that succeeded, and run the others. Default: `start`, all jobs run.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: actionLimitMax, description: 'Takes at most this many.' })),
  per_second: Type.Optional(
    Type.Integer({ minimum: 1, maximum: perSecondMax, description: 'Takes at most this many per second.' }),
  ),
  reason: reasonSchema('Shown with the action, and with each job that is cancelled or run again.'),
  dry_run: Type.Optional(Type.Boolean({ description: 'Only counts.' })),
});
type StartBody = {
  readonly do: JobOperation;
  readonly where: Where;
  readonly from?: RerunFrom;
  readonly limit?: number;
  readonly per_second?: number;
  readonly reason?: string;
  readonly dry_run?: boolean;
};

const matched = Type.Integer({ minimum: 0, description: 'Jobs that match, before `limit`.' });
const upTo = Type.String({ format: 'date-time', description: 'The moment at which the filter is applied.' });
const indexAt = Type.Optional(
  Type.String({
    format: 'date-time',
    description:
      'With `query`, `error`, `fingerprint` or `tag`: the attempts that ended, and the jobs that were accepted, up to this commit were searched.',
  }),
);
const skippedSchema = Type.Object(
  Object.fromEntries(skipReasons.map(reason => [reason, Type.Optional(Type.Integer())])),
  { description: 'Jobs that were left as they were, by reason.' },
);

const actionSchema = Type.Object({
  action_id: uuid,
  state: jobStatus,
  do: oneOfTexts(actionCommands),
  where: Type.Optional(Type.Object({})),
  schedule: Type.Optional(Type.String({ description: 'Of a backfill, which has no `where`.' })),
  from_time: Type.Optional(instant),
  to_time: Type.Optional(instant),
  from: Type.Optional(oneOfTexts(rerunPoints)),
  limit: Type.Optional(Type.Integer()),
  per_second: Type.Optional(Type.Integer()),
  reason: Type.Optional(Type.String()),
  by: Type.String({ description: 'The `submitted_by` of whoever started it.' }),
  created_at: instant,
  completed_at: nullable(instant),
  up_to: upTo,
  index_at: indexAt,
  matched,
  done: Type.Integer(),
  skipped: skippedSchema,
  failed: Type.Integer({ description: 'Reruns whose plugin or pipeline is no longer configured.' }),
  cancel: Type.Optional(Type.Object({ by: Type.String(), at: instant, reason: Type.Optional(Type.String()) })),
});

const startAction = route({
  method: 'POST',
  path: '/actions',
  section,
  summary: 'Starts an action that cancels, reruns or runs now all jobs that match. It continues after a restart.',
  notes:
    'The action takes the jobs that matched at `up_to`, oldest first, each once. Jobs inside runs match only with `children: true`, ' +
    'and jobs that stand for actions never do. The action is a job of the plugin `headgate`: `POST /job/{action_id}/cancel` ends it, ' +
    'and what it has done stays. In addition to `control:rw` the caller needs `jobs:rw` to cancel and to run now; to rerun it needs ' +
    '`plugin:rw`, or `plugin:ro` if all commands that match are reads. `query`, `error` and `fingerprint` need a scope that shows results. ' +
    `At most ${actionsOpenMax} actions are open. ${idempotencyNotes}`,
  access: anyOf('control:rw'),
  body: startBody,
  holdsLate: true,
  problems: [
    'forbidden',
    ...idempotencyProblems,
    'too_many_reads',
    'too_many_actions',
    'disk_full',
    'unavailable',
    'stopping',
  ],
  answers: {
    200: {
      description: 'With `dry_run`: what an action would take.',
      schema: Type.Object({
        matched,
        sample: Type.Array(uuid, { description: `The oldest that match, at most ${sampleMax}.` }),
        up_to: upTo,
        index_at: indexAt,
      }),
    },
    202: {
      description: 'The action is on disk.',
      schema: Type.Object({ action_id: uuid, matched, up_to: upTo, index_at: indexAt }),
    },
  },
  async handle(call) {
    const body = call.body as StartBody | undefined;
    if (body === undefined) return invalidAt('', 'must be an object with "do" and "where"');
    const wrong = [...whereProblems(body.where), ...fromProblems(body)];
    if (wrong.length > 0) return mismatchProblem('invalid_request', wrong);
    const lacking = lackingScope(call.caller!, body);
    if (lacking) return lacking;
    const idempotency = idempotencyOf(call, '/actions');
    if (isProblem(idempotency)) return idempotency;
    const { caller } = call;
    const selection = selectionOf(body.where, body.do);
    const counted = await countOf(call, selection, body.dry_run ? null : idempotency);
    if ('kind' in counted) return counted;
    const refused = body.do === 'rerun' ? refusedRerun(call.config, counted, caller!) : null;
    if (refused) return refused;
    const { moment, searchedUs } = counted;
    const answer = answerOf(counted);
    if (body.dry_run) return json(200, JSON.stringify({ ...answer, sample: counted.sample.map(formatId) }));
    const { do: operation, where, from, limit, per_second, reason } = body;
    const plan = {
      operation,
      ...(from && { from }),
      selection,
      moment,
      searchedUs,
      limit: limit ?? null,
      perSecond: per_second ?? null,
      reason: reason ?? null,
      by: caller!.origin,
      matched: counted.matched,
    };
    const payload = pack({
      do: operation,
      where,
      ...(from && { from }),
      ...(limit !== undefined && { limit }),
      ...(per_second !== undefined && { per_second }),
      ...(reason !== undefined && { reason }),
      ...answer,
    });
    call.hold();
    return answerStart(call, plan, payload, idempotency, answer);
  },
});

const getActions = route({
  method: 'GET',
  path: '/actions',
  section,
  summary: 'Lists actions over many jobs, newest first.',
  access: anyOf('control:ro', 'control:rw'),
  query: { limit: pageLimit, cursor: cursor(actionsList, jobIdBytes) },
  problems: ['too_many_reads'],
  answers: {
    200: {
      description: 'One page of actions, and the number of all.',
      schema: Type.Object({
        actions: Type.Array(actionSchema),
        total: Type.Integer({ minimum: 0 }),
        next_cursor: Type.Optional(Type.String()),
      }),
    },
  },
  handle(call) {
    const { limit = pageDefault, cursor: before = null } = call.query;
    return answerRead(call, { kind: 'actions', limit, before });
  },
});

const getAction = route({
  method: 'GET',
  path: '/action/{id}',
  section,
  summary: 'Returns one action and its progress.',
  access: anyOf('control:ro', 'control:rw'),
  problems: ['unknown_action'],
  answers: { 200: { description: 'The action.', schema: actionSchema } },
  find({ engine, params }): JobView | HttpProblem {
    const id = parseId(params.id);
    const job = id && engine.job(id);
    if (job?.plugin === headgatePlugin) return job;
    return problem('unknown_action', `there is no action ${JSON.stringify(params.id)}`);
  },
  handle({ engine, found }) {
    return json(200, writeAction(found, engine.actions.find(parseId(found.jobId)!)));
  },
});

export const actionRoutes: readonly Route[] = [startAction, getActions, getAction];

function fromProblems({ do: operation, from }: StartBody): readonly ProblemItem[] {
  if (from === undefined || operation === 'rerun') return [];
  return [{ pointer: '/from', message: 'must be left out unless "do" is "rerun"' }];
}

function lackingScope(caller: Caller, { do: operation, where }: StartBody): HttpProblem | null {
  const needed = operation === 'rerun' ? (['plugin:ro', 'plugin:rw'] as const) : (['jobs:rw'] as const);
  if (!may(caller, needed)) return forbidden(needed);
  // Without a scope that shows results, a search is refused, because its matches would reveal parts of results.
  const isSearch = where.query !== undefined || where.error !== undefined || where.fingerprint !== undefined;
  return isSearch && !maySeeResults(caller) ? forbidden(resultScopes) : null;
}

/**
 * Counts the jobs that match. If the call repeats an earlier one (same idempotency key), returns the answer to the earlier call instead, whatever
 * matches now.
 */
async function countOf(
  call: HttpCall,
  selection: Parameters<HttpCall['engine']['actions']['count']>[0],
  idempotency: IdempotencyKey | null,
): Promise<CountedSelection | Answer> {
  const counted = await call.engine.actions.count(selection, call, idempotency).catch(unlessDown);
  if (counted === null) return problem('too_many_reads', 'too many selections are being counted');
  if ('matched' in counted || isProblem(counted)) return counted;
  if (counted.kind === 'refused') return problem(counted.refusal, refusalDetails[counted.refusal]);
  return earlierAnswer(call, counted.id) ?? countOf(call, selection, null);
}

/**
 * The refusal of a rerun if the caller may not run the command or pipeline of one of the matching jobs. Commands that are no longer
 * configured are ignored, because they cannot run.
 */
function refusedRerun(config: Config, { commands }: CountedSelection, caller: Caller): HttpProblem | null {
  if (may(caller, ['plugin:rw'])) return null;
  for (const each of commands) {
    const [plugin = '', command = ''] = each.split('\0');
    const found = isHosted(plugin) ? findCommand(config, plugin, command, caller) : null;
    if (found === null || (isProblem(found) && found.code === 'forbidden'))
      return problem(
        'forbidden',
        `jobs of ${plugin}/${command} match: running them again needs the scope plugin:rw or *`,
      );
  }
  return null;
}

type CountAnswer = { readonly matched: number; readonly up_to: string; readonly index_at?: string };

function answerOf({ matched: count, moment, searchedUs }: CountedSelection): CountAnswer {
  return {
    matched: count,
    up_to: timestamp(moment.atUs),
    ...(searchedUs !== null && { index_at: timestamp(searchedUs) }),
  };
}

/** Starts the action, and answers with it; or with the action that another call with the same idempotency key has started meanwhile. */
export async function answerStart(
  call: HttpCall,
  plan: ActionPlan,
  payload: Uint8Array,
  idempotency: IdempotencyKey | null,
  answer: CountAnswer,
): Promise<Answer> {
  const reply = await call.engine.actions.start({ plan, payload, ...(idempotency && { idempotency }), asker: call });
  if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
  return (idempotency && earlierAnswer(call, reply.id)) ?? startedAnswer(call, reply.id, answer);
}

function startedAnswer(call: HttpCall, id: JobId, answer: CountAnswer): Answer {
  call.submitted = id;
  return json(202, JSON.stringify({ action_id: formatId(id), ...answer }));
}

/** The answer to the call that started this action. Null: the action is no longer stored. */
export function earlierAnswer(call: HttpCall, id: JobId): Answer | null {
  const job = call.engine.job(id);
  if (!job?.input.payload) return null;
  const { matched: count, up_to, index_at }: ActionRequest = requestOf(job);
  return startedAnswer(call, id, {
    matched: count,
    up_to,
    ...(index_at !== undefined && { index_at: index_at as string }),
  });
}
