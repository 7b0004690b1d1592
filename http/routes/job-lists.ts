// The lists of jobs and of their logs (docs/contract.md#job-list), with filters, cursors and totals.

import { acceptedRange } from '../../actors/job/records/accepted.ts';
import { type Status, statuses, terminalStatuses } from '../../actors/job/records/job.ts';
import { countedMax, type JobFilter } from '../../actors/job/views/job-page.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { jobsList, logPlaceBytes, logsList, readPlace } from '../../service/json/list.ts';
import { forbidden } from '../admission.ts';
import { answerRead } from '../answer.ts';
import { fingerprintParameter } from '../fingerprint.ts';
import {
  counted,
  countsSchema,
  instantOf,
  instant as instantSchema,
  jobStatus,
  nullable,
  oneOfTexts,
  outputSchema,
  reusedSchema,
  uuid,
} from '../openapi/schemas.ts';
import {
  cursor,
  endUs,
  flag,
  instant,
  jobIdText,
  oneOf,
  type Parameters,
  pageDefault,
  pageLimit,
  type QueryValues,
  startUs,
  text,
} from '../query.ts';
import { anyOf, type Route, route } from '../route.ts';
import { nameCharactersMax, queryCharactersMax, statusAliases } from '../selection.ts';
import { jobTagsSchema, tagParameter } from '../tags.ts';
import { maySeeResults, resultScopes } from './jobs.ts';

const statusParameter = oneOf<Status>(statuses, statusAliases);
const name = text(nameCharactersMax);

const totalAtLeast = Type.Optional(
  Type.Literal(true, {
    description:
      'More jobs may match: for a tree with a status, and for any search by `error`, `fingerprint`, `tag`, `pipeline`, `rerun_of`, `from` or `to`, ' +
      `counting stops at ${countedMax}.`,
  }),
);
const total = Type.Integer({ minimum: 0 });
const searchedTo = Type.Optional(
  instantOf('For a search by `error` or `fingerprint`: all attempts that ended up to this time were searched.'),
);
const indexBehind = Type.Optional(
  counted('For a filter by `tag`: how many jobs with tags were not examined, because the index lacks them.'),
);
const nextCursor = Type.Optional(Type.String());

const jobRowSchema = Type.Object({
  job_id: uuid,
  plugin: Type.String(),
  command: Type.String(),
  status: jobStatus,
  created_at: instantSchema,
  started_at: nullable(instantSchema),
  completed_at: nullable(instantSchema),
  attempt: Type.Integer(),
  step_id: Type.Optional(Type.String({ description: 'The step of its pipeline, for a job inside a run.' })),
  tags: jobTagsSchema,
  counts: countsSchema,
  reused: reusedSchema,
});

const logSchema = Type.Object({
  job_id: uuid,
  log_id: Type.String(),
  plugin: Type.String(),
  command: Type.String(),
  status: oneOfTexts(terminalStatuses),
  attempt: Type.Integer(),
  submitted_by: Type.String(),
  created_at: instantSchema,
  completed_at: instantSchema,
  last_error: Type.Optional(Type.String()),
  stderr: Type.Optional(Type.String()),
  result: Type.Optional(outputSchema),
  spans: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), dur_ns: Type.Number() }), {
      description: 'What the plugin measured within the attempt; with `include_result`, if there is any.',
    }),
  ),
});

const unsearched = Type.Optional(
  Type.Integer({ description: 'For a search: how many recent logs were not searched.' }),
);

const jobsQuery = {
  plugin: name,
  command: name,
  status: statusParameter,
  pipeline: name,
  from: instant,
  to: instant,
  run: jobIdText,
  root: jobIdText,
  parent: jobIdText,
  rerun_of: jobIdText,
  error: text(queryCharactersMax),
  fingerprint: fingerprintParameter,
  tag: tagParameter,
  limit: pageLimit,
  cursor: cursor(jobsList, jobIdBytes),
} satisfies Parameters;

const getJobs = route({
  method: 'GET',
  path: '/jobs',
  section: 'Jobs',
  summary: 'Lists jobs, newest first.',
  notes:
    '`pipeline` selects the runs of a pipeline and the jobs of its steps, `rerun_of` the reruns of a job; `from` and `to` select jobs by `created_at`, both ends inclusive; ' +
    '`fingerprint` selects the jobs of a group of [failures](#get-failures). In `where` of `POST /actions`, `from` and `to` are called ' +
    '`created_from` and `created_to`, and jobs inside runs match only with `children: true`.',
  access: anyOf('jobs:ro', 'jobs:rw'),
  query: jobsQuery,
  answers: {
    200: {
      description: 'One page of jobs, and the number of all matches.',
      schema: Type.Object({
        jobs: Type.Array(jobRowSchema),
        total,
        total_at_least: totalAtLeast,
        searched_to: searchedTo,
        index_behind: indexBehind,
        next_cursor: nextCursor,
      }),
    },
  },
  problems: ['too_many_reads'],
  handle(call) {
    const { query } = call;
    // Without a scope that shows results, a search is refused, because its matches would reveal parts of results.
    const isSearch = query.error !== undefined || query.fingerprint !== undefined;
    if (isSearch && !maySeeResults(call.caller!)) return forbidden(resultScopes);
    const filter = jobFilterOf(query);
    const [limit, before] = [query.limit ?? pageDefault, query.cursor ?? null];
    return answerRead(call, { kind: 'jobs', filter, error: query.error ?? null, limit, before });
  },
});

function jobFilterOf(query: QueryValues<typeof jobsQuery>): JobFilter {
  const { plugin = null, command = null, status = null, pipeline, from, to, fingerprint, tag, rerun_of } = query;
  const accepted = acceptedRange(startUs(from), endUs(to));
  const within = (['run', 'root', 'parent'] as const).flatMap(of => {
    const id = query[of];
    return id ? [{ of, id }] : [];
  });
  return {
    plugin,
    command,
    status,
    within,
    ...(tag && { tags: tag }),
    ...(accepted && { accepted }),
    ...(pipeline !== undefined && { pipeline }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(rerun_of && { rerunOf: rerun_of }),
  };
}

const logsQuery = {
  job_id: name,
  plugin: name,
  command: name,
  status: statusParameter,
  submitted_by: name,
  from: instant,
  to: instant,
  query: text(queryCharactersMax),
  limit: pageLimit,
  include_result: flag,
  cursor: cursor(logsList, logPlaceBytes),
} satisfies Parameters;

const getLogs = route({
  method: 'GET',
  path: '/job-logs',
  section: 'Jobs',
  summary: 'Lists logs, one record per ended attempt, newest first.',
  access: anyOf('jobs:logs:ro', 'jobs:ro', 'jobs:rw'),
  query: logsQuery,
  answers: {
    200: {
      description: 'One page of logs, and the number of all matches.',
      schema: Type.Object({ logs: Type.Array(logSchema), total, unsearched, next_cursor: nextCursor }),
    },
  },
  problems: ['too_many_reads'],
  handle(call) {
    const { query } = call;
    const withResult = maySeeResults(call.caller!);
    // Without a scope that shows results, a search is refused, because its matches would reveal parts of results.
    if (query.query !== undefined && !withResult) return forbidden(resultScopes);
    const wanted = {
      jobId: query.job_id ?? null,
      plugin: query.plugin ?? null,
      command: query.command ?? null,
      status: query.status ?? null,
      submittedBy: query.submitted_by ?? null,
      fromUs: startUs(query.from),
      toUs: endUs(query.to),
      query: query.query ?? null,
      limit: query.limit ?? pageDefault,
      before: query.cursor ? readPlace(query.cursor) : null,
    };
    const detail = !withResult ? 'bare' : query.include_result ? 'result' : 'plain';
    return answerRead(call, { kind: 'logs', wanted, detail });
  },
});

export const jobListRoutes: readonly Route[] = [getJobs, getLogs];
