// The options of a call (docs/engine.md#delayed-jobs). In a body they are members next to `payload` or, in a batch, next to `payloads`. For NDJSON
// they are query parameters. Each option with a time is declared once, for body and query; tags.ts declares the tags.
import type { CallOptions } from '../actors/job/records/options.ts';
import { tagsOf } from '../actors/job/records/tags.ts';
import { formatDuration, parseDuration } from '../config/quantity.ts';
import { type Schema, Type } from '../runtime/schema-type.ts';
import { parseTimestamp } from '../service/json/timestamp.ts';
import { makeBodyCheck } from './payload.ts';
import { type HttpProblem, isProblem, mismatchProblem, type ProblemItem, problem } from './problem.ts';
import { instant, type Parameter, type QueryValues } from './query.ts';
import { tagParameter, tagsSchema } from './tags.ts';

/** The maximum of each duration, and of the time until `run_at`, in days. */
const aheadDaysMax = 3650;
const aheadMsMax = aheadDaysMax * 86_400_000;

type OptionField = Parameter<number> & { readonly description: string };

function duration(minimumMs: number, description: string): OptionField {
  return {
    description,
    schema: { type: 'string' },
    rule: `must be a duration from ${minimumMs}ms to ${aheadDaysMax}d, such as 10m`,
    read(text) {
      const ms = parseDuration(text);
      return ms !== undefined && ms >= minimumMs && ms <= aheadMsMax ? ms : undefined;
    },
  };
}

const fields = {
  run_at: {
    ...instant,
    description: `The job runs at this time (RFC 3339), at most ${aheadDaysMax} days ahead; a time that has passed means at once.`,
    read(text) {
      const us = parseTimestamp(text);
      // A time before 1970, such as programs send if the time was never set, counts as 1970. The store holds no earlier times.
      return us === undefined ? undefined : Math.max(0, Math.ceil(us));
    },
  },
  delay: duration(0, 'The job runs after this time, such as `10m`. Not together with `run_at`.'),
  expires: duration(
    1,
    'A job that has not started after this time, from `run_at` or its acceptance on, ends `cancelled`. A run has started when one of ' +
      'its jobs has.',
  ),
  deadline: duration(
    1,
    'A job that has not ended after this time, from `run_at` or its acceptance on, ends `timed_out`; all its attempts count.',
  ),
} as const satisfies { readonly [name: string]: OptionField };

type OptionName = keyof typeof fields;
const times = Object.keys(fields) as OptionName[];
export const optionNames = [...times, 'tags'];
/** The options in a body that fits the schema of its route, as they were sent. */
export type RawOptions = { readonly [N in OptionName]?: string } & {
  readonly tags?: { readonly [key: string]: string };
};

/** The options as members of the schema of a body. */
export const optionMembers = {
  ...(Object.fromEntries(
    times.map(name => [name, Type.Optional(Type.String({ description: fields[name].description }))]),
  ) as { readonly [N in OptionName]: Schema }),
  tags: Type.Optional(tagsSchema),
};

export const optionParameters = { ...fields, tag: tagParameter };
type TimeOptions = { readonly [N in OptionName]?: number };
export type QueryOptions = QueryValues<typeof optionParameters>;

/** The options among the members of a body. Undefined: the body has no options. */
export function readOptions(given: RawOptions | undefined, nowMs: number): CallOptions | HttpProblem | undefined {
  if (given === undefined || ![...times, 'tags' as const].some(name => given[name] !== undefined)) return undefined;
  const values: { [N in OptionName]?: number } = {};
  const errors: ProblemItem[] = [];
  for (const name of times) {
    const text = given[name];
    if (text === undefined) continue;
    const { rule, read } = fields[name];
    const value = read(text);
    if (value === undefined) errors.push({ pointer: `/${name}`, message: rule });
    else values[name] = value;
  }
  const error = errors.length === 0 ? conflictIn(values, nowMs) : null;
  if (error) errors.push({ pointer: `/${error.name}`, message: error.message });
  return errors.length > 0 ? mismatchProblem('invalid_request', errors) : optionsOf(values, given.tags);
}

/**
 * Returns the options of a run, or a problem if their deadline is longer than `deadlineMsMax`. `deadlineMsMax`: the deadline of the pipeline;
 * undefined if the pipeline has no deadline.
 */
export function ofRun(
  options: CallOptions | HttpProblem | undefined,
  deadlineMsMax: number | undefined,
): CallOptions | HttpProblem | undefined {
  if (options === undefined || isProblem(options) || deadlineMsMax === undefined) return options;
  if ((options.deadlineMs ?? 0) <= deadlineMsMax) return options;
  return problem(
    'invalid_request',
    `/deadline must be at most ${formatDuration(deadlineMsMax)}, the deadline of the pipeline`,
  );
}

const checkMembers = makeBodyCheck(Type.Object(optionMembers));

/** The options among values that no schema has checked yet. Undefined: the values contain no options. */
export function checkOptions(
  given: { readonly [name: string]: unknown },
  nowMs: number,
): CallOptions | HttpProblem | undefined {
  const errors = checkMembers(given);
  return errors.length > 0 ? mismatchProblem('invalid_request', errors) : readOptions(given as RawOptions, nowMs);
}

/** The options among query parameters. Undefined: the query has no options. */
export function queryOptions(query: QueryOptions, nowMs: number): CallOptions | HttpProblem | undefined {
  if (![...times, 'tag' as const].some(name => query[name] !== undefined)) return undefined;
  const error = conflictIn(query, nowMs);
  if (error) return problem('invalid_query', `the query parameter "${error.name}" ${error.message}`);
  const tags = query.tag?.map(tag => [tag.slice(0, tag.indexOf(':')), tag.slice(tag.indexOf(':') + 1)] as const);
  const twice = tags?.find(([key], place) => tags.findIndex(([other]) => other === key) < place);
  if (twice) return problem('invalid_query', `the query parameter "tag" gives the tag ${twice[0]} more than once`);
  return optionsOf(query, tags && Object.fromEntries(tags));
}

function conflictIn(
  { run_at, delay }: TimeOptions,
  nowMs: number,
): { readonly name: OptionName; readonly message: string } | null {
  if (run_at !== undefined && delay !== undefined)
    return { name: 'delay', message: 'cannot be given together with run_at' };
  if (run_at === undefined || run_at / 1000 - nowMs <= aheadMsMax) return null;
  return { name: 'run_at', message: `must be at most ${aheadDaysMax} days ahead` };
}

function optionsOf({ run_at, delay, expires, deadline }: TimeOptions, tags: RawOptions['tags']): CallOptions {
  return {
    ...(run_at !== undefined && { runAtUs: run_at }),
    ...(delay !== undefined && { delayMs: delay }),
    ...(expires !== undefined && { expiresMs: expires }),
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(tags !== undefined && { tags: tagsOf(tags) }),
  };
}
