// The groups of failed jobs (docs/contract.md#failures).
import { failureGroupsMax, trendHours } from '../../actors/index/records/failures.ts';
import { patternCharactersMax } from '../../actors/index/records/fingerprint.ts';
import { Type } from '../../runtime/schema-type.ts';
import { failuresList } from '../../service/json/failures.ts';
import { logPlaceBytes, readPlace } from '../../service/json/list.ts';
import { answerRead } from '../answer.ts';
import { fingerprintSchema } from '../fingerprint.ts';
import { instantOf, instant as instantSchema, uuid } from '../openapi/schemas.ts';
import { cursor, endUs, instant, pageDefault, pageLimit, startUs, text } from '../query.ts';
import { anyOf, route } from '../route.ts';
import { nameCharactersMax } from '../selection.ts';

const name = text(nameCharactersMax);

export const failureSchema = Type.Object({
  fingerprint: fingerprintSchema,
  plugin: Type.String(),
  command: Type.String(),
  pattern: Type.String({
    description:
      'The first line of the error: `#` stands for a number or an id, and `…` between quotes for any text. ' +
      `At most ${patternCharactersMax} characters.`,
  }),
  count: Type.Integer({ minimum: 1, description: 'Jobs of the group that are stored.' }),
  trend: Type.Array(Type.Integer(), {
    minItems: trendHours,
    maxItems: trendHours,
    description: `Jobs by hour, for the last ${trendHours} hours (UTC), oldest first. The last hour is the current one.`,
  }),
  first_at: instantSchema,
  last_at: instantSchema,
  sample: Type.Object(
    { job_id: uuid, message: Type.String() },
    { description: 'The job that failed last, and the first line of its error.' },
  ),
});

export const getFailures = route({
  method: 'GET',
  path: '/failures',
  section: 'Observation',
  summary: 'Lists groups of failed jobs. The group that was seen last comes first.',
  notes:
    'A job is in a group if it ended as `failed`, `timed_out` or `dead`. Jobs of one command are in one group if the first lines of their ' +
    'errors differ only in numbers, ids and quoted texts. `GET /jobs?fingerprint=…` lists the jobs of a group, and `where` of ' +
    '`POST /actions` accepts `fingerprint`, too. `from` and `to` select groups by `last_at`. ' +
    `There are at most ${failureGroupsMax} groups: beyond that, the group that was seen least recently is dropped.`,
  access: anyOf('jobs:ro', 'jobs:rw'),
  query: {
    plugin: name,
    command: name,
    from: instant,
    to: instant,
    limit: pageLimit,
    cursor: cursor(failuresList, logPlaceBytes),
  },
  problems: ['too_many_reads'],
  answers: {
    200: {
      description: 'One page of groups, and the number of all that match.',
      schema: Type.Object({
        failures: Type.Array(failureSchema),
        total: Type.Integer({ minimum: 0 }),
        indexed_to: Type.Optional(instantOf('All jobs that ended up to this time are counted. Absent: none is.')),
        next_cursor: Type.Optional(Type.String()),
      }),
    },
  },
  handle(call) {
    const { plugin = null, command = null, from, to, limit = pageDefault, cursor: after } = call.query;
    const filter = { plugin, command, fromUs: startUs(from), toUs: endUs(to) };
    const before = after ? readPlace(after) : null;
    // After the clock was set back, jobs end at times after now. They count in the current hour, too.
    const nowUs = Math.max(call.nowMs() * 1000, call.engine.newestEndUs());
    return answerRead(call, { kind: 'failures', filter, limit, before, nowUs });
  },
});
