// Query parameters: declared by a route, parsed strictly.
import { type JobId, parseId } from '../runtime/ids.ts';
import { readCursor } from '../service/json/cursor.ts';
import { parseTimestamp } from '../service/json/timestamp.ts';
import { type HttpProblem, problem } from './problem.ts';

/** One query parameter: its JSON Schema, which the OpenAPI documents show, and its parser. */
export type Parameter<T> = {
  readonly schema: { readonly [keyword: string]: unknown };
  /** The end of a refusal's message, such as "must be true or false". */
  readonly rule: string;
  /** Parses the value; undefined if the text breaks the rule. */
  read(text: string): T | undefined;
  /** How often the parameter may be given. If set, the value of the parameter is a list. Absent: once. */
  readonly timesMax?: number;
};
export type Parameters = { readonly [name: string]: Parameter<unknown> };
/** The query as a handler gets it: a value for each given parameter. */
export type QueryValues<P extends Parameters> = {
  readonly [N in keyof P]?: P[N] extends Parameter<infer T> ? T : never;
};

export const flag: Parameter<boolean> = {
  schema: { type: 'boolean' },
  rule: 'must be true or false',
  read: text => (text === 'true' ? true : text === 'false' ? false : undefined),
};

export function text(charactersMax: number): Parameter<string> {
  return {
    schema: { type: 'string', maxLength: charactersMax },
    rule: `must be at most ${charactersMax} characters long`,
    read: given => (given.length <= charactersMax ? given : undefined),
  };
}

/** A whole number. `fallback`: the default that the documents show. The handler must apply it. */
export function integer(minimum: number, maximum: number, fallback: number): Parameter<number> {
  return {
    schema: { type: 'integer', minimum, maximum, default: fallback },
    rule: `must be a whole number from ${minimum} to ${maximum}`,
    read(given) {
      const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
      return value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

/** The default of `pageLimit`. */
export const pageDefault = 50;
/** The maximum number of elements in one answer of a list. */
export const pageLimit = integer(1, 200, pageDefault);

export const jobIdText: Parameter<JobId> = {
  schema: { type: 'string', format: 'uuid' },
  rule: 'must be the id of a job',
  read: parseId,
};

export const timeRule = 'must be an RFC 3339 time, such as 2026-01-31T12:00:00Z';

/** A time in µs since 1970. A time between two microseconds becomes the earlier one plus 0.5. */
export const instant: Parameter<number> = {
  schema: { type: 'string', format: 'date-time' },
  rule: timeRule,
  read: parseTimestamp,
};

/** The first whole microsecond at or after a time; null without a time. */
export function startUs(us: number | undefined): number | null {
  return us === undefined ? null : Math.ceil(us);
}

/** The last whole microsecond at or before a time; null without a time. */
export function endUs(us: number | undefined): number | null {
  return us === undefined ? null : Math.floor(us);
}

/** The position where a list continues: the `next_cursor` of an earlier answer. */
export function cursor(list: string, bytes: number): Parameter<Buffer> {
  return {
    schema: { type: 'string', maxLength: 64 },
    rule: 'must be a next_cursor of this list',
    read: given => readCursor(list, bytes, given),
  };
}

/** A parameter with a fixed set of values. `aliases`: other texts that callers may send, each with the value that it stands for. */
export function oneOf<const T extends string>(
  values: readonly T[],
  aliases: { readonly [alias: string]: T } = {},
): Parameter<T> {
  const known = new Map<string, T>([...values.map(value => [value, value] as const), ...Object.entries(aliases)]);
  const names = [...known.keys()];
  return {
    schema: { type: 'string', enum: names },
    rule: names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`,
    read: given => known.get(given),
  };
}

/** A parameter that may be given several times. Its value is a list. */
export function repeated<T>(timesMax: number, { schema, rule, read }: Parameter<T>): Parameter<readonly T[]> {
  return {
    schema: { type: 'array', items: schema, maxItems: timesMax },
    rule: `${rule}; it may be given ${timesMax} times`,
    read(text) {
      const value = read(text);
      return value === undefined ? undefined : [value];
    },
    timesMax,
  };
}

type QueryReading = { readonly kind: 'query'; readonly values: { readonly [name: string]: unknown } } | HttpProblem;
const noQuery: QueryReading = { kind: 'query', values: Object.freeze({}) };

/** Reads the query. Refuses parameters that are unknown, badly escaped or given too often, or that break their rule. */
export function readQuery(text: string, parameters: Parameters): QueryReading {
  if (text === '') return noQuery;
  const values: { [name: string]: unknown } = {};
  for (const pair of text.replaceAll('+', ' ').split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = decoded(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) return invalidQuery('the query has a bad percent-escape');
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!parameter) return invalidQuery(`unknown query parameter ${JSON.stringify(name)}`);
    const { timesMax = 1 } = parameter;
    const earlier = Object.hasOwn(values, name) ? values[name] : undefined;
    if (earlier !== undefined && timesMax === 1)
      return invalidQuery(`the query parameter "${name}" is given more than once`);
    const read = parameter.read(value);
    if (read === undefined) return invalidQuery(`the query parameter "${name}" ${parameter.rule}`);
    const all = earlier === undefined ? read : [...(earlier as unknown[]), ...(read as unknown[])];
    if (timesMax > 1 && (all as unknown[]).length > timesMax)
      return invalidQuery(`the query parameter "${name}" is given more than ${timesMax} times`);
    values[name] = all;
  }
  return { kind: 'query', values };
}

export function invalidQuery(detail: string): HttpProblem {
  return problem('invalid_query', detail);
}

/** The text without percent-escapes; undefined if one of them is bad. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
