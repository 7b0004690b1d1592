// Schedules (docs/schedules.md): listing, running by hand, pausing and resuming.
import { pipelinePlugin } from '../../actors/job/records/job.ts';
import { historyMax, passReasons } from '../../actors/schedule/records/schedule.ts';
import { nextShown, type ScheduleView, scheduleStates } from '../../actors/schedule/views/schedules.ts';
import { catchUpRules, overlapRules, type ScheduleDefinition } from '../../config/config.ts';
import { Type } from '../../runtime/schema-type.ts';
import { writeCursor } from '../../service/json/cursor.ts';
import { scheduleDocument, schedulerJob } from '../../service/json/schedule.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { forbidden } from '../admission.ts';
import { type Caller, may } from '../auth.ts';
import { idempotencyOf } from '../idempotency.ts';
import {
  acceptedMembers,
  bodyOf,
  instant,
  jobStatus,
  nullable,
  oneOfTexts,
  reasonSchema,
  uuid,
} from '../openapi/schemas.ts';
import { perConfig } from '../per-config.ts';
import { type HttpProblem, isProblem, problem } from '../problem.ts';
import { cursor, pageDefault, pageLimit } from '../query.ts';
import { refusalDetails } from '../refusal.ts';
import { anyOf, type HttpCall, json, type Route, route } from '../route.ts';
import { waitNotes, waitOf, waitParameter } from '../wait.ts';
import { answerSubmitted, findCommand, idempotencyNotes, takingProblems } from './execution.ts';
import { jobAnswers } from './jobs.ts';
import { waitFor } from './waiting.ts';

const section = 'Control';
const readers = anyOf('control:ro', 'control:rw');
/** The letter that identifies the list of schedules in cursors. */
const schedulesList = 's';

const optionalInteger = Type.Optional(Type.Integer());
const firingSchema = Type.Object({
  outcome: Type.Union([Type.Literal('skipped'), Type.Literal('missed'), jobStatus], {
    description:
      '`queued` while the job waits in the queue of the schedule, `running` until it has ended, then its status. `skipped` and ' +
      '`missed`: it did not fire.',
  }),
  reason: Type.Optional(oneOfTexts(passReasons)),
  job_id: Type.Optional(uuid),
  due_at: nullable(instant),
  last_due_at: Type.Optional(instant),
  count: Type.Optional(
    Type.Integer({ description: 'Neighbouring occurrences that did not fire for the same reason.' }),
  ),
  at: Type.Optional(instant),
  fired_at: Type.Optional(instant),
  late_ms: Type.Optional(
    nullable(Type.Integer({ description: 'How long after its time it fired, without its jitter.' })),
  ),
  missed: Type.Optional(Type.Integer({ description: 'Occurrences that were missed since the last one that fired.' })),
});

const scheduleSchema = Type.Object({
  id: Type.String(),
  state: oneOfTexts(scheduleStates),
  plugin: Type.Optional(Type.String()),
  command: Type.Optional(Type.String()),
  pipeline: Type.Optional(Type.String()),
  cron: Type.Optional(Type.String()),
  every_ms: optionalInteger,
  at: Type.Optional(instant),
  timezone: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Map(Type.String(), { description: 'The tags of its jobs; left out if it has none.' })),
  jitter_ms: optionalInteger,
  if_running: Type.Optional(oneOfTexts(overlapRules)),
  catch_up: Type.Optional(oneOfTexts(catchUpRules)),
  catch_up_within_ms: optionalInteger,
  pause_after_failures: optionalInteger,
  skip_when_paused: Type.Optional(Type.Boolean()),
  enabled: Type.Optional(Type.Boolean()),
  next: Type.Array(instant, { description: `The next occurrences, at most ${nextShown}, without their jitter.` }),
  next_run_at: nullable(instant),
  last_due_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Occurrences up to this time have fired or were passed over.' }),
  ),
  running: Type.Optional(Type.Boolean({ description: 'Whether the job of the last firing has not ended.' })),
  queued: Type.Optional(Type.Integer({ description: 'Jobs that wait for the end of that job.' })),
  failures: Type.Optional(Type.Integer({ description: 'Failures in a row.' })),
  paused: Type.Optional(Type.Object({ by: Type.String(), since: instant, reason: Type.Optional(Type.String()) })),
  removed_at: Type.Optional(instant),
  history: Type.Optional(
    Type.Array(firingSchema, { description: `The latest firings, newest first, at most ${historyMax}.` }),
  ),
});

const schedulesOf = perConfig(({ schedules }) => new Map(schedules.map(schedule => [schedule.id, schedule])));

function findSchedule({ config, params }: Pick<HttpCall, 'config' | 'params'>): ScheduleDefinition | HttpProblem {
  const { id } = params as { readonly id: string };
  return schedulesOf(config).get(id) ?? problem('unknown_schedule', `there is no schedule ${JSON.stringify(id)}`);
}

/** The schedule; a problem if the schedule does not exist, or if the caller may not run its target. */
export function findRunnable(call: Pick<HttpCall, 'config' | 'params' | 'caller'>): ScheduleDefinition | HttpProblem {
  const schedule = findSchedule(call);
  return isProblem(schedule) ? schedule : (lackingScope(call, schedule, call.caller!) ?? schedule);
}

function lackingScope(
  { config }: Pick<HttpCall, 'config'>,
  { target }: ScheduleDefinition,
  caller: Caller,
): HttpProblem | null {
  if ('pipeline' in target) return may(caller, ['plugin:rw']) ? null : forbidden(['plugin:rw']);
  const found = findCommand(config, target.plugin, target.command, caller);
  return isProblem(found) ? found : null;
}

function scheduleText(view: ScheduleView): string {
  return JSON.stringify(scheduleDocument(view));
}

function numberBytes(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

const getSchedules = route({
  method: 'GET',
  path: '/schedules',
  section,
  summary: 'Lists schedules in the order of the configuration, with their next occurrences and latest firings.',
  notes: 'Schedules that were removed from the configuration follow for 30 days.',
  access: readers,
  query: { limit: pageLimit, cursor: cursor(schedulesList, 4) },
  answers: {
    200: {
      description: 'One page of schedules, and the number of all.',
      schema: Type.Object({
        schedules: Type.Array(scheduleSchema),
        total: Type.Integer({ minimum: 0, description: 'Schedules of the configuration.' }),
        next_cursor: Type.Optional(Type.String()),
      }),
    },
  },
  async handle(call) {
    const { config, engine, query } = call;
    const { limit = pageDefault, cursor: at } = query;
    const from = at?.readUInt32BE() ?? 0;
    const { shown, isLast } = await engine.schedules.page(from, limit, call.nowMs(), scheduleText);
    const more = isLast ? {} : { next_cursor: writeCursor(schedulesList, numberBytes(from + limit)) };
    const rest = JSON.stringify({ total: config.schedules.length, ...more }).slice(1);
    return json(200, `{"schedules":[${shown.join(',')}],${rest}`);
  },
});

const getSchedule = route({
  method: 'GET',
  path: '/schedule/{id}',
  section,
  summary: 'Returns one schedule.',
  notes: 'Also a schedule that was removed from the configuration, for 30 days.',
  access: readers,
  problems: ['unknown_schedule'],
  answers: { 200: { description: 'The schedule.', schema: scheduleSchema } },
  find(call): { readonly definition: ScheduleDefinition } | { readonly removed: ScheduleView } | HttpProblem {
    const definition = findSchedule(call);
    if (!isProblem(definition)) return { definition };
    const removed = call.engine.schedules.removedOne(call.params.id);
    return removed ? { removed } : definition;
  },
  async handle(call) {
    const { engine, found } = call;
    if ('removed' in found) return json(200, scheduleText(found.removed));
    const [text] = await engine.schedules.shown([found.definition], call.nowMs(), scheduleText);
    return json(200, text!);
  },
});

const getSchedulerJobs = route({
  method: 'GET',
  path: '/scheduler/jobs',
  section,
  summary: 'Lists schedules in the form of ductile.',
  notes: 'A schedule of a pipeline has `pipeline` as `plugin` and the name of the pipeline as `command`.',
  access: readers,
  answers: {
    200: {
      description: 'The schedules of the configuration.',
      schema: Type.Object({
        jobs: Type.Array(
          Type.Object({
            plugin: Type.String(),
            schedule_id: Type.String(),
            command: Type.String(),
            mode: oneOfTexts(['cron', 'every', 'at']),
            status: oneOfTexts(['active', 'paused_manual', 'exhausted', 'disabled']),
            reason: nullable(Type.String()),
            timezone: Type.String(),
            next_run_at: nullable(instant),
          }),
        ),
      }),
    },
  },
  async handle(call) {
    const { schedules } = call.config;
    const show = (view: ScheduleView) => JSON.stringify(schedulerJob(view, view.definition!));
    const shown = await call.engine.schedules.shown(schedules, call.nowMs(), show);
    return json(200, `{"jobs":[${shown.join(',')}]}`);
  },
});

/** Who may run the target of a schedule. */
export const runAccess = { ...anyOf('control:rw'), also: 'the caller must also be allowed to run the target' };

const runStarted = Type.Object({
  ...acceptedMembers,
  schedule: Type.Object({ id: Type.String(), due_at: Type.Null() }),
});

const runSchedule = route({
  method: 'POST',
  path: '/schedule/{id}/run',
  section,
  summary: 'Runs the target of a schedule now, with its payload.',
  notes:
    'The job has `due_at` null in `schedule`. It counts neither as an occurrence nor as a failure of the schedule, and runs beside other ' +
    `jobs of the schedule. In addition to \`control:rw\` the caller needs a scope that may run the target. ${waitNotes} ${idempotencyNotes}`,
  access: runAccess,
  query: { wait: waitParameter },
  body: bodyOf({}),
  problems: ['unknown_schedule', 'unknown_plugin', 'unknown_command', 'unknown_pipeline', ...takingProblems],
  answers: jobAnswers(runStarted),
  find: findRunnable,
  async handle(call) {
    const { engine, found } = call;
    const { id, target } = found;
    const idempotency = idempotencyOf(call, '/schedule/{id}/run');
    if (isProblem(idempotency)) return idempotency;
    const reply = await engine.schedules.run(id, call, idempotency ?? undefined);
    const plugin = 'pipeline' in target ? pipelinePlugin : target.plugin;
    const command = 'pipeline' in target ? target.pipeline : target.command;
    const wait = waitOf(call);
    const how = wait && reply.kind === 'accepted' && !call.isGone ? await waitFor(call, wait.ms, reply.id) : null;
    const waited = how && reply.kind === 'accepted' ? ({ kind: 'waited', id: reply.id, how } as const) : reply;
    return answerSubmitted(call, waited, plugin, command, wait, { schedule: { id, due_at: null } });
  },
});

const pausedSchema = Type.Object({
  id: Type.String(),
  by: Type.String(),
  since: instant,
  reason: Type.Optional(Type.String()),
});

const pauseSchedule = route({
  method: 'POST',
  path: '/schedule/{id}/pause',
  section,
  summary: 'Pauses a schedule: it does not fire until it is resumed, even after a restart.',
  notes: 'Jobs that it has started continue. Pausing again replaces the pause.',
  access: anyOf('control:rw'),
  body: bodyOf({ reason: reasonSchema('Shown with the schedule.') }),
  problems: ['unknown_schedule', 'unavailable', 'disk_full', 'stopping'],
  answers: { 200: { description: 'It is paused.', schema: pausedSchema } },
  find: findSchedule,
  async handle({ engine, found: { id }, body, caller }) {
    const { reason = null } = (body ?? {}) as { readonly reason?: string };
    const reply = await engine.schedules.pause(id, caller!.origin, reason);
    if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
    if (reply.pause === null) return problem('unavailable', refusalDetails.unavailable);
    const { by, sinceMs } = reply.pause;
    const answer = { id, by, since: timestamp(sinceMs * 1_000), ...(reason !== null && { reason }) };
    return json(200, JSON.stringify(answer));
  },
});

const resumeSchedule = route({
  method: 'POST',
  path: '/schedule/{id}/resume',
  section,
  summary: 'Resumes a schedule. One that is not paused is not an error.',
  notes: 'For the occurrences that passed meanwhile, `catch_up` applies. Its failures are counted from 0 again.',
  access: anyOf('control:rw'),
  body: bodyOf({}),
  problems: ['unknown_schedule', 'unavailable', 'disk_full', 'stopping'],
  answers: {
    200: {
      description: 'It is not paused.',
      schema: Type.Object({
        id: Type.String(),
        resumed: Type.Boolean({ description: 'False: it was not paused.' }),
      }),
    },
  },
  find: findSchedule,
  async handle({ engine, found: { id } }) {
    const reply = await engine.schedules.resume(id);
    if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
    return json(200, JSON.stringify({ id, resumed: reply.pause !== null }));
  },
});

export const scheduleRoutes: readonly Route[] = [
  getSchedules,
  getSchedule,
  getSchedulerJobs,
  runSchedule,
  pauseSchedule,
  resumeSchedule,
];
