// The `where` of an action: the filters of GET /jobs and GET /job-logs, as members of a body.
import { parseQuery } from '../actors/index/records/words.ts';
import { acceptedRange } from '../actors/job/records/accepted.ts';
import type { JobOperation, Selection } from '../actors/job/records/action.ts';
import { type Status, statuses } from '../actors/job/records/job.ts';
import { type JobId, parseId } from '../runtime/ids.ts';
import { type Schema, Type } from '../runtime/schema-type.ts';
import { tagsMax } from '../runtime/tag-form.ts';
import { parseTimestamp } from '../service/json/timestamp.ts';
import { fingerprintRule, isFingerprint } from './fingerprint.ts';
import type { ProblemItem } from './problem.ts';
import { endUs, startUs, timeRule } from './query.ts';
import { isTag, tagRule } from './tags.ts';

/** The maximum length of a name in `where` and in queries. */
export const nameCharactersMax = 256;
/** The maximum length of a search query in `where`, and in the queries of GET /jobs and GET /job-logs. */
export const queryCharactersMax = 1_024;
/** Aliases of statuses. GET /jobs and GET /job-logs accept the same aliases. */
export const statusAliases = { pending: 'queued', ok: 'succeeded', error: 'failed' } as const;

const name = (description: string) => Type.Optional(Type.String({ maxLength: nameCharactersMax, description }));
const id = (description: string) => Type.Optional(Type.String({ format: 'uuid', description }));
const words = (description: string) => Type.Optional(Type.String({ maxLength: queryCharactersMax, description }));
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

const tagFilter: Schema = Type.Optional({
  type: ['string', 'array'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: tagsMax,
  description: 'Jobs with this tag, `key:text`, or with all tags of a list.',
});

export const whereSchema = Type.Object(
  {
    plugin: name('Jobs of this plugin.'),
    command: name('Jobs of this command.'),
    status: Type.Optional(Type.String({ enum: [...statuses, ...Object.keys(statusAliases)] })),
    pipeline: name('Runs of this pipeline; with `children` also the jobs of its steps.'),
    submitted_by: name('Jobs with this origin.'),
    job_id: id('This job.'),
    run: id('Jobs inside this run; needs `children`.'),
    root: id('This job and its descendants.'),
    parent: id('Children of this job.'),
    rerun_of: id('Reruns of this job.'),
    tag: tagFilter,
    created_from: time('Jobs that were accepted at this time or later; the filter `from` of `GET /jobs`.'),
    created_to: time('Jobs that were accepted at this time or earlier; the filter `to` of `GET /jobs`.'),
    error: words('Words of the last error.'),
    fingerprint: name('Jobs of this group of `GET /failures`: 16 of 0-9 and a-f.'),
    query: words('Words of the log of an attempt.'),
    from: time('An attempt of the job ended at this time or later.'),
    to: time('An attempt of the job ended at this time or earlier.'),
    children: Type.Optional(
      Type.Boolean({
        description: 'Also jobs inside runs, for `rerun` without those of phases. Default: runs and direct jobs.',
      }),
    ),
    all: Type.Optional(Type.Literal(true, { description: 'Matches every job; required if there is no filter.' })),
  },
  { additionalProperties: false, description: 'A job must match all of these.' },
);

type IdFilter = 'job_id' | 'run' | 'root' | 'parent' | 'rerun_of';
type NameFilter = 'plugin' | 'command' | 'pipeline' | 'submitted_by' | 'fingerprint';
type TimeFilter = 'created_from' | 'created_to' | 'from' | 'to';

export type Where = { readonly [Filter in IdFilter | NameFilter | TimeFilter | 'error' | 'query']?: string } & {
  readonly status?: Status | keyof typeof statusAliases;
  readonly tag?: string | readonly string[];
  readonly children?: boolean;
  readonly all?: true;
};

/** The errors in `where` that the schema cannot find; empty if `where` is valid. */
export function whereProblems(where: Where): readonly ProblemItem[] {
  const items: ProblemItem[] = [];
  const refuse = (key: string, message: string) => items.push({ pointer: `/where${key}`, message });
  const { children, all, ...filters } = where;
  if (Object.keys(filters).length === 0 && all !== true)
    refuse('', 'must have a filter, such as {"plugin": "mailer"}; {"all": true} matches every job');
  for (const key of ['job_id', 'run', 'root', 'parent', 'rerun_of'] as const)
    if (where[key] !== undefined && !parseId(where[key])) refuse(`/${key}`, 'must be the id of a job');
  if (where.run !== undefined && children !== true)
    refuse('/children', 'must be true with "run": jobs inside a run match only then');
  const { tag } = where;
  for (const [place, one] of tagsIn(where).entries())
    if (!isTag(one)) refuse(typeof tag === 'string' ? '/tag' : `/tag/${place}`, tagRule);
  if (where.fingerprint !== undefined && !isFingerprint(where.fingerprint)) refuse('/fingerprint', fingerprintRule);
  for (const key of ['created_from', 'created_to', 'from', 'to'] as const)
    if (where[key] !== undefined && parseTimestamp(where[key]) === undefined) refuse(`/${key}`, timeRule);
  for (const key of ['error', 'query'] as const)
    if (where[key] !== undefined && parseQuery(where[key]).length === 0)
      refuse(`/${key}`, 'must have at least one word to search for');
  return items;
}

/** The selection of the jobs to which an action applies. A rerun leaves out jobs of phases, which cannot be run again. */
export function selectionOf(where: Where, operation: JobOperation): Selection {
  const { plugin, command, status, pipeline, submitted_by, error, query, children, fingerprint } = where;
  const idOf = (text: string | undefined): JobId | null => (text === undefined ? null : parseId(text)!);
  const timeOf = (text: string | undefined) => (text === undefined ? undefined : parseTimestamp(text));
  const accepted = acceptedRange(startUs(timeOf(where.created_from)), endUs(timeOf(where.created_to)));
  return {
    plugin: plugin ?? null,
    command: command ?? null,
    status: status === undefined ? null : statusOf(status),
    submittedBy: submitted_by ?? null,
    pipeline: pipeline ?? null,
    jobId: idOf(where.job_id),
    run: idOf(where.run),
    root: idOf(where.root),
    parent: idOf(where.parent),
    ...(where.rerun_of !== undefined && { rerunOf: parseId(where.rerun_of)! }),
    ...(where.tag !== undefined && { tags: tagsIn(where) }),
    ...(accepted && { accepted }),
    error: error ?? null,
    ...(fingerprint !== undefined && { fingerprint }),
    query: query ?? null,
    fromUs: startUs(timeOf(where.from)),
    toUs: endUs(timeOf(where.to)),
    children: children === true,
    ...(operation === 'rerun' && { withoutPhases: true as const }),
  };
}

function tagsIn({ tag = [] }: Where): readonly string[] {
  return typeof tag === 'string' ? [tag] : tag;
}

function statusOf(given: NonNullable<Where['status']>): Status {
  return given in statusAliases ? statusAliases[given as keyof typeof statusAliases] : (given as Status);
}
