// Query parameters: what a route declares of them, and reading them strictly.
import { type Problem, problem } from './problem.ts';

/** One parameter: its JSON Schema for the documents, and how its text is read. */
export type Parameter<T> = {
  readonly schema: { readonly [keyword: string]: unknown };
  /** What it must be, for the refusal: "must be true or false". */
  readonly rule: string;
  /** Undefined when the text breaks the rule. */
  read(text: string): T | undefined;
};
export type Parameters = { readonly [name: string]: Parameter<unknown> };
/** What a handler gets: a value for each parameter that was given. */
export type Query<P extends Parameters> = { readonly [N in keyof P]?: P[N] extends Parameter<infer T> ? T : never };

export const flag: Parameter<boolean> = {
  schema: { type: 'boolean' },
  rule: 'must be true or false',
  read: text => (text === 'true' ? true : text === 'false' ? false : undefined),
};

const none: { readonly [name: string]: unknown } = Object.freeze({});

export type QueryReading = { readonly kind: 'query'; readonly values: { readonly [name: string]: unknown } } | Problem;
const noQuery: QueryReading = { kind: 'query', values: none };

/** Refuses what is unknown, given twice, badly escaped or breaks its rule, naming it. */
export function readQuery(text: string, parameters: Parameters): QueryReading {
  if (text === '') return noQuery;
  const values: { [name: string]: unknown } = {};
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) return invalid('the query has a bad percent-escape');
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!parameter) return invalid(`unknown query parameter ${JSON.stringify(name)}`);
    if (Object.hasOwn(values, name)) return invalid(`the query parameter "${name}" is given more than once`);
    const read = parameter.read(value);
    if (read === undefined) return invalid(`the query parameter "${name}" ${parameter.rule}`);
    values[name] = read;
  }
  return { kind: 'query', values };
}

function invalid(detail: string): Problem {
  return problem('invalid_query', detail);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
