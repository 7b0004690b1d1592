// The lists of jobs and of their logs (interface, 4.2): filters, cursors, exact totals.

import type { Place } from '../../actors/job/journal.ts';
import type { JobPage } from '../../actors/job/listing.ts';
import { type Status, statuses, terminalStatuses } from '../../actors/job/record.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { forbidden } from '../admission.ts';
import type { LogPage } from '../engine.ts';
import { logParts, writeJobRow } from '../job-json.ts';
import type { JsonPart } from '../json-pieces.ts';
import { outputSchema } from '../openapi/schemas.ts';
import { inPieces } from '../pieces.ts';
import { cursor, flag, instant, integer, oneOf, type Parameters, type Query, text } from '../query.ts';
import { type Answer, anyOf, json, type Route, route } from '../route.ts';
import { maySeeResults, resultScopes } from './jobs.ts';

/** The most rows that one answer holds. */
const limitMax = 200;
const limitDefault = 50;
const nameCharactersMax = 256;
/** Of a search: far above what anybody types. */
const queryCharactersMax = 1_024;

const status = oneOf<Status>(statuses, { pending: 'queued', ok: 'succeeded', error: 'failed' });
const limit = integer(1, limitMax, limitDefault);
const name = text(nameCharactersMax);
const jobsCursor = cursor('j', jobIdBytes);
/** Time in µs (8), place (4). */
const logsCursor = cursor('l', 12);

const moment = Type.String({ format: 'date-time' });
const momentOrNull = Type.Union([moment, Type.Null()]);
const statusOf = (names: readonly string[]) => Type.Union(names.map(value => Type.Literal(value)));
const total = Type.Integer({ minimum: 0 });
const nextCursor = Type.Optional(Type.String());

const jobRowSchema = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  plugin: Type.String(),
  command: Type.String(),
  status: statusOf(statuses),
  created_at: moment,
  started_at: momentOrNull,
  completed_at: momentOrNull,
  attempt: Type.Integer(),
});

const logSchema = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  log_id: Type.String(),
  plugin: Type.String(),
  command: Type.String(),
  status: statusOf(terminalStatuses),
  attempt: Type.Integer(),
  submitted_by: Type.String(),
  created_at: moment,
  completed_at: moment,
  last_error: Type.Optional(Type.String()),
  stderr: Type.Optional(Type.String()),
  result: Type.Optional(outputSchema),
});

const unsearched = Type.Optional(
  Type.Integer({ description: 'Of a search: how many logs of the last moments it has not looked at yet.' }),
);

const getJobs = route({
  method: 'GET',
  path: '/jobs',
  section: 'Jobs',
  summary: 'Jobs, the newest first.',
  access: anyOf('jobs:ro', 'jobs:rw'),
  query: { plugin: name, command: name, status, limit, cursor: jobsCursor },
  body: null,
  answers: {
    200: {
      description: 'A page of the jobs, and how many match in all.',
      schema: Type.Object({ jobs: Type.Array(jobRowSchema), total, next_cursor: nextCursor }),
    },
  },
  find: () => null,
  handle({ engine, query }) {
    const filter = {
      plugin: query.plugin ?? null,
      command: query.command ?? null,
      status: query.status ?? null,
    };
    return answered(engine.listJobs(filter, query.limit ?? limitDefault, query.cursor ?? null), page =>
      json(200, writeJobs(page)),
    );
  },
});

const logsQuery = {
  job_id: name,
  plugin: name,
  command: name,
  status,
  submitted_by: name,
  from: instant,
  to: instant,
  query: text(queryCharactersMax),
  limit,
  include_result: flag,
  cursor: logsCursor,
} satisfies Parameters;

const getLogs = route({
  method: 'GET',
  path: '/job-logs',
  section: 'Jobs',
  summary: 'Logs: a record for each attempt that ended, the newest first.',
  access: anyOf('jobs:logs:ro', 'jobs:ro', 'jobs:rw'),
  query: logsQuery,
  body: null,
  answers: {
    200: {
      description: 'A page of the logs, and how many match in all.',
      schema: Type.Object({ logs: Type.Array(logSchema), total, unsearched, next_cursor: nextCursor }),
    },
  },
  find: () => null,
  handle({ engine, query, caller }) {
    const withResult = maySeeResults(caller!);
    // What is found would tell what is hidden.
    if (query.query !== undefined && !withResult) return forbidden(resultScopes);
    const page = engine.listLogs({
      jobId: query.job_id ?? null,
      ...filterOf(query),
      query: query.query ?? null,
      limit: query.limit ?? limitDefault,
      before: query.cursor ? readPlace(query.cursor) : null,
    });
    const detail = !withResult ? 'bare' : query.include_result ? 'result' : 'plain';
    return answered(page, found => inPieces(logsParts(found, detail)));
  },
});

export const jobListRoutes: readonly Route[] = [getJobs, getLogs];

function filterOf({ plugin, command, status: wanted, submitted_by, from, to }: Query<typeof logsQuery>) {
  return {
    plugin: plugin ?? null,
    command: command ?? null,
    status: wanted ?? null,
    submittedBy: submitted_by ?? null,
    fromUs: from === undefined ? null : Math.ceil(from),
    toUs: to === undefined ? null : Math.floor(to),
  };
}

/** At once where the page is there at once. */
function answered<T>(page: T | Promise<T>, write: (page: T) => Answer): Answer | Promise<Answer> {
  return page instanceof Promise ? page.then(write) : write(page);
}

function writeJobs({ rows, total: count, more }: JobPage): string {
  const next = more ? `,"next_cursor":"${jobsCursor.write(rows.at(-1)!.id)}"` : '';
  return `{"jobs":[${rows.map(writeJobRow).join(',')}],"total":${count}${next}}`;
}

function* logsParts(
  { logs, total: count, next, unsearched: left }: LogPage,
  detail: 'bare' | 'plain' | 'result',
): Iterable<JsonPart> {
  let separator = '';
  yield '{"logs":[';
  for (const log of logs) {
    yield separator;
    yield* logParts(log, detail);
    separator = ',';
  }
  const more = next ? `,"next_cursor":"${logsCursor.write(placeBytes(next))}"` : '';
  yield `],"total":${count}${left > 0 ? `,"unsearched":${left}` : ''}${more}}`;
}

function placeBytes({ atUs, place }: Place): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64BE(BigInt(atUs), 0);
  bytes.writeUInt32BE(place, 8);
  return bytes;
}

function readPlace(bytes: Buffer): Place {
  const atUs = bytes.readBigUInt64BE(0);
  const latest = BigInt(Number.MAX_SAFE_INTEGER);
  return { atUs: Number(atUs < latest ? atUs : latest), place: bytes.readUInt32BE(8) };
}
