// Backfills of schedules (docs/schedules.md#backfill). A backfill is an action that fires the occurrences in a past time range, except those that
// have fired already, and those that the schedule will still fire or skip by itself.
import { actionsOpenMax, noSelection } from '../../actors/job/records/action.ts';
import { pack } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import { parseTimestamp, timestamp } from '../../service/json/timestamp.ts';
import { backfillMax } from '../../service/schedules.ts';
import { idempotencyOf } from '../idempotency.ts';
import { bodyOf, counted, instant, instantOf, reasonSchema, uuid } from '../openapi/schemas.ts';
import { invalidAt, isProblem, mismatchProblem, type ProblemItem, problem } from '../problem.ts';
import { timeRule } from '../query.ts';
import { refusalDetails } from '../refusal.ts';
import { json, route } from '../route.ts';
import { answerStart, earlierAnswer } from './actions.ts';
import { idempotencyNotes, idempotencyProblems } from './execution.ts';
import { findRunnable, runAccess } from './schedules.ts';

const backfillBody = bodyOf({
  from: instantOf('RFC 3339. The first occurrence is at this time or later.'),
  to: instantOf('RFC 3339. The last occurrence is at this time or earlier.'),
  reason: reasonSchema('Shown with the action.'),
  dry_run: Type.Optional(Type.Boolean({ description: 'Only counts.' })),
});
type BackfillBody =
  | { readonly from: string; readonly to: string; readonly reason?: string; readonly dry_run?: boolean }
  | undefined;

const matched = counted('Occurrences between the two times, up to the last one that is past.');

export const backfillSchedule = route({
  method: 'POST',
  path: '/schedule/{id}/backfill',
  section: 'Control',
  summary: 'Starts an action that fires the occurrences of a period of the past that have not fired.',
  notes:
    'Occurrences that have fired are left out, and so are those that the schedule itself may still fire. All others are started beside ' +
    'each other, oldest first, whatever `if_running` says. The schedule itself continues as before. At most ' +
    `${backfillMax} occurrences may lie between the two times. \`GET /action/{id}\` shows the progress, and \`POST /job/{action_id}/cancel\` ends it. ` +
    'In addition to `control:rw` the caller needs a scope that may run the target. At most ' +
    `${actionsOpenMax} actions are open. ${idempotencyNotes}`,
  access: runAccess,
  body: backfillBody,
  problems: [
    'forbidden',
    'unknown_schedule',
    'unknown_plugin',
    'unknown_command',
    ...idempotencyProblems,
    'too_many_actions',
    'disk_full',
    'unavailable',
    'stopping',
  ],
  answers: {
    200: {
      description: 'With `dry_run`: what a backfill would do.',
      schema: Type.Object({
        matched,
        already_fired: counted('How many of them have fired.'),
      }),
    },
    202: {
      description: 'The action is on disk.',
      schema: Type.Object({ action_id: uuid, matched, up_to: instant }),
    },
  },
  find: findRunnable,
  async handle(call) {
    const { engine, found, caller } = call;
    const body = call.body as BackfillBody;
    if (body === undefined) return invalidAt('', 'must be an object with "from" and "to"');
    const fromUs = parseTimestamp(body.from);
    const toUs = parseTimestamp(body.to);
    const wrong = rangeProblems(fromUs, toUs);
    if (wrong.length > 0) return mismatchProblem('invalid_request', wrong);
    const idempotency = idempotencyOf(call, '/schedule/{id}/backfill');
    if (isProblem(idempotency)) return idempotency;
    // A call that repeats another (same idempotency key) gets the answer to the first call, however many occurrences there are by now.
    const earlier = idempotency && !body.dry_run ? await engine.actions.earlier(idempotency) : null;
    if (earlier?.kind === 'refused') return problem(earlier.refusal, refusalDetails[earlier.refusal]);
    const firstAnswer = earlier && earlierAnswer(call, earlier.id);
    if (firstAnswer) return firstAnswer;
    const fromMs = Math.ceil(fromUs! / 1_000);
    const toMs = Math.floor(toUs! / 1_000);
    const counted = await engine.schedules.count(found, fromMs, toMs, call.nowMs());
    if (counted === null) {
      return invalidAt('/to', `is too far from "from": more than ${backfillMax} occurrences lie between them`);
    }
    if (body.dry_run) return json(200, JSON.stringify({ matched: counted.matched, already_fired: counted.fired }));
    const { id } = found;
    const { reason } = body;
    const nowUs = call.nowMs() * 1_000;
    const up_to = timestamp(nowUs);
    const plan = {
      operation: 'backfill' as const,
      backfill: { schedule: id, fromMs, toMs, times: counted.times },
      selection: noSelection,
      moment: { atUs: nowUs, block: new Uint8Array(0), commitUs: 0 },
      searchedUs: null,
      limit: null,
      perSecond: null,
      reason: reason ?? null,
      by: caller!.origin,
      matched: counted.matched,
    };
    const payload = pack({
      do: 'backfill',
      schedule: id,
      from_time: body.from,
      to_time: body.to,
      ...(reason !== undefined && { reason }),
      matched: counted.matched,
      up_to,
    });
    return answerStart(call, plan, payload, idempotency, { matched: counted.matched, up_to });
  },
});

function rangeProblems(fromUs: number | undefined, toUs: number | undefined): readonly ProblemItem[] {
  const wrong: ProblemItem[] = [];
  if (fromUs === undefined) wrong.push({ pointer: '/from', message: timeRule });
  else if (fromUs < 0) wrong.push({ pointer: '/from', message: 'must not be before 1970' });
  if (toUs === undefined) wrong.push({ pointer: '/to', message: timeRule });
  else if (fromUs !== undefined && toUs < fromUs) wrong.push({ pointer: '/to', message: 'must not be before "from"' });
  return wrong;
}
