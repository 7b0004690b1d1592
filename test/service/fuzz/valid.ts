// Requests that must be accepted: the operations of the gateway's OpenAPI document, and the routes of the table.

import type { Route } from '../../../http/route.ts';
import type { Json, JsonObject } from '../../../runtime/packing.ts';
import { fc } from '../../support/seed.ts';
import { plain, type Request } from './request.ts';

/** Names, ids and cursors of the running gateway, from which requests are made. */
export type Known = {
  readonly document: JsonObject;
  readonly plugins: readonly string[];
  readonly pipelines: readonly string[];
  readonly jobs: readonly string[];
  readonly actions: readonly string[];
  readonly schedules: readonly string[];
  /** Cursors of second pages, by the path of the list. */
  readonly cursors: { readonly [path: string]: string };
  /** A token with all scopes. */
  readonly token: string;
};

/** Routes that do much work for one request. */
const heavy = ['/system/reload', '/system/doctor', '/system/selfcheck'];
/** The routes of the document's operations. */
const operationsPaths = ['/plugin/{plugin}/{command}', '/plugin/{plugin}/{command}/batch'];

export function validRequests(routes: readonly Route[], known: Known): fc.Arbitrary<Request> {
  // Left out: routes of the vault, which this gateway lacks, and the sign-in of the dashboard, whose codes work only once.
  const others = routes.filter(
    ({ path, access }) => !operationsPaths.includes(path) && access.kind !== 'vault' && path !== '/ui/session',
  );
  return fc.oneof(
    { weight: 60, arbitrary: operationRequests(known) },
    ...others.map(route => ({ weight: heavy.includes(route.path) ? 1 : 12, arbitrary: ofRoute(route, known) })),
  );
}

function headersOf({ token }: Known): fc.Arbitrary<Request['headers']> {
  const scheme = fc.constantFrom('Bearer', 'Bearer', 'bearer', 'BEARER');
  const more = fc.constantFrom<readonly (readonly [string, string])[]>(
    [],
    [],
    [['Accept', 'application/json']],
    [['Accept', 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4']],
    [['X-Request-Id', 'abc.DEF-1:2+3/4=5~6@7_8']],
    [['If-None-Match', '*']],
    [['If-None-Match', 'W/"a", "b"']],
    [['Last-Event-ID', '7']],
    [['Last-Event-ID', 'nonsense']],
    [['Accept-Encoding', 'gzip, br']],
    [['Cookie', 'a=b']],
    [['Prefer', 'respond-async, wait=0']],
    [['Prefer', 'wait="1"; x=",']],
  );
  return fc.tuple(scheme, more).map(([word, rest]) => [['Authorization', `${word} ${token}`], ...rest]);
}

/** Calls of the document's operations. */
export function operationRequests(known: Known): fc.Arbitrary<Request> {
  return fc.oneof(...operations(known));
}

function operations(known: Known): fc.Arbitrary<Request>[] {
  const paths = known.document['paths'] as { readonly [path: string]: { readonly post: JsonObject } };
  return Object.entries(paths).map(([target, { post }]) => {
    const schema = bodySchema(post);
    const body = schema
      ? fc.record({ payload: values(partOf(schema, ['properties', 'payload']), known.document) })
      : fc.oneof(fc.constant(undefined), fc.record({ payload: payloads }, { requiredKeys: [] }));
    const single = fc
      .tuple(headersOf(known), body, types)
      .map(([headers, value, type]) => posted(target, headers, value, type));
    const several = fc
      .tuple(headersOf(known), fc.array(body, { minLength: 1, maxLength: 4 }), types)
      .map(([headers, calls, type]) => posted(`${target}/batch`, headers, { payloads: calls.map(payloadOf) }, type));
    return fc.oneof({ weight: 4, arbitrary: single }, { weight: 1, arbitrary: several });
  });
}

function payloadOf(call: unknown): unknown {
  return (call as { readonly payload?: object } | undefined)?.payload ?? {};
}

function bodySchema(operation: JsonObject): JsonObject | undefined {
  if (!('requestBody' in operation)) return undefined;
  return partOf(operation, ['requestBody', 'content', 'application/json', 'schema']);
}

function partOf(value: Json, path: readonly string[]): JsonObject {
  return path.reduce((part, key) => (part as JsonObject)[key]!, value) as JsonObject;
}

const types = fc.constantFrom(null, 'application/json', 'application/json; charset=utf-8', 'application/vnd.x+json');

/** Harmless objects. */
const payloads: fc.Arbitrary<unknown> = fc
  .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }).filter(isExact), { maxKeys: 4 })
  .filter(value => !JSON.stringify(value).includes('__proto__'));

function posted(target: string, headers: Request['headers'], value: unknown, type: string | null): Request {
  const body = value === undefined ? null : Buffer.from(JSON.stringify(value));
  const typed = type === null || body === null ? headers : [...headers, ['Content-Type', type] as const];
  return { ...plain, method: 'POST', target, headers: typed, body, isValid: true };
}

function ofRoute(route: Route, known: Known): fc.Arbitrary<Request> {
  const names: { readonly [name: string]: readonly string[] } = {
    name: route.path.startsWith('/pipeline/') ? known.pipelines : known.plugins,
    plugin: known.plugins,
    pipeline: known.pipelines,
    job_id: known.jobs,
    id: route.path.startsWith('/schedule/') ? known.schedules : known.actions,
  };
  const pieces = route.path.split(/[{}]/);
  const path = fc
    .tuple(...pieces.map((piece, n) => (n % 2 === 0 ? fc.constant(piece) : fc.constantFrom(...names[piece]!))))
    .map(filled => filled.join(''));
  // A batch as JSON has its options in the body; only NDJSON has them in the query.
  const query = route.batch ? fc.constant('') : queries(route, known);
  const body = bodyOf(route, known);
  return fc.tuple(path, query, headersOf(known), body, types).map(([at, asked, headers, value, type]) => {
    const target = asked === '' ? at : `${at}?${asked}`;
    if (route.method === 'POST') return posted(target, headers, value, type);
    return { ...plain, method: route.method, target, headers, isValid: true };
  });
}

function bodyOf({ path, body, batch }: Route, known: Known): fc.Arbitrary<unknown> {
  if (path === '/actions') return actions(known);
  if (path === '/schedule/{id}/backfill') return backfills;
  if (path === '/job/{job_id}/reschedule') return fc.record({ delay: fc.constantFrom('0ms', '10m', '3650d') });
  if (batch) {
    const given = {
      payloads: fc.array(payloads, { minLength: 1, maxLength: 4 }),
      delay: fc.constantFrom('0s', '1d'),
      tags,
    };
    return fc.record(given, { requiredKeys: ['payloads'] });
  }
  return body === null ? fc.constant(undefined) : fc.option(bodies(body), { nil: undefined });
}

/** Actions. Most are dry runs; the filters of the others match nothing. */
function actions(known: Known): fc.Arbitrary<unknown> {
  const filters = {
    plugin: fc.constantFrom(...known.plugins, 'pipeline', 'headgate'),
    status: fc.constantFrom('queued', 'error', 'succeeded', 'dead'),
    pipeline: fc.constantFrom(...known.pipelines),
    job_id: fc.constantFrom(...known.jobs),
    root: fc.constantFrom(...known.jobs),
    rerun_of: fc.constantFrom(...known.jobs),
    tag: fc.oneof(tag, fc.array(tag, { minLength: 1, maxLength: 3 })),
    error: fc.constantFrom('as asked', '"as asked"', 'ask*'),
    query: fc.constantFrom('world', 'hello -x'),
    fingerprint: fc.constantFrom('5f0c2ab17d94e836', '0000000000000000'),
    created_from: fc.constantFrom(...moments),
    created_to: fc.constantFrom(...moments),
    from: fc.constantFrom(...moments),
    children: fc.boolean(),
    all: fc.constant(true),
  };
  const where = fc.record(filters, { requiredKeys: ['all'] });
  const deed = fc.constantFrom('cancel', 'rerun', 'run_now');
  const more = { limit: fc.integer({ min: 1, max: 9 }), reason: fc.constantFrom('late', 'a\nb') };
  const counted = fc.record(
    { do: deed, where, dry_run: fc.constant(true), ...more },
    { requiredKeys: ['do', 'where', 'dry_run'] },
  );
  const points = fc.record({
    do: fc.constant('rerun'),
    where,
    from: fc.constantFrom('start', 'failed'),
    dry_run: fc.constant(true),
  });
  const started = fc.record({ do: deed, where: fc.constant({ plugin: 'nobody' }) });
  return fc.oneof(
    { weight: 8, arbitrary: counted },
    { weight: 1, arbitrary: points },
    { weight: 1, arbitrary: started },
  );
}

/** Backfills: dry runs, or periods whose occurrences are (nearly) all still to come, so that hardly any job starts. */
const backfills = fc.record(
  {
    from: fc.constantFrom('2026-01-01T00:00:00Z', '2998-01-01T00:00:00+01:00'),
    to: fc.constantFrom('2999-01-01T00:00:00Z', '2999-01-01T00:00:00.123456Z'),
    reason: fc.constantFrom('late', 'a\nb'),
    dry_run: fc.boolean(),
  },
  { requiredKeys: ['from', 'to'] },
);

/** Bodies with the fields that a route takes from anybody: a payload, or a reason. */
function bodies({ properties = {} }: { readonly properties?: object }): fc.Arbitrary<unknown> {
  const fields = {
    payload: payloads,
    reason: fc.constantFrom('late', 'a\nb', '"'),
    delay: fc.constantFrom('0ms', '10m', '3650d'),
    expires: fc.constantFrom('1ms', '1h'),
    deadline: fc.constantFrom('1ms', '1h'),
    tags,
  };
  const taken = Object.entries(fields).filter(([name]) => Object.hasOwn(properties, name));
  return fc.record(Object.fromEntries(taken), { requiredKeys: [] });
}

const tag = fc.constantFrom('tenant:acme', 'a_1:', 'kind:ü:"');
const tags = fc.dictionary(fc.stringMatching(/^[a-z0-9]{1,32}$/), fc.string({ maxLength: 20 }), { maxKeys: 8 });

function queries({ path, query, batch }: Route, known: Known): fc.Arbitrary<string> {
  // The query parameters of a batch are its options, which a JSON batch has in its body.
  if (batch) return fc.constant('');
  if (path === '/stopwatch/{plugin}') return stopwatchQueries;
  if (path === '/job/{job_id}/timeline') return timelineQueries;
  const parameters = Object.entries(query).map(([name, { schema }]) => {
    const value =
      name === 'wait'
        ? waits
        : name === 'tag'
          ? tag
          : name === 'cursor'
            ? fc.constant(known.cursors[path]!)
            : parameter(schema as JsonObject, known);
    return value.map(given => `${name}=${encodeURIComponent(String(given))}`);
  });
  if (parameters.length === 0) return fc.constant('');
  return fc
    .tuple(...parameters.map(one => fc.oneof(fc.constant(''), fc.constant(''), one)), fc.nat(parameters.length))
    .map(given => {
      const turn = given.pop() as number;
      const pairs = given.filter(pair => pair !== '');
      return [...pairs.slice(turn), ...pairs.slice(0, turn)].join('&');
    });
}

/** Windows that begin before they end, and parameters that belong together. */
const stopwatchQueries = fc
  .tuple(
    fc.constantFrom('', 'since=2026-01-31T12:00:00Z', 'to=2099-12-31T00:00:00.123456%2B01:30'),
    fc.constantFrom('', 'series=true', 'heat=true&buckets=1', 'buckets=400&series=true&heat=true', 'heat=false'),
    fc.constantFrom('', 'step=handle.run', 'step=handle.waited&step=handle.total'),
    fc.constantFrom('', 'include_subs=true'),
  )
  .map(parts => parts.filter(part => part !== '').join('&'));

/** Parts of a run that begin before they end. */
const timelineQueries = fc
  .tuple(
    fc.constantFrom('', 'from=1970-01-01t00:00:00z', 'from=2026-01-31T12:00:00Z'),
    fc.constantFrom('', 'to=2099-12-31T00:00:00.123456%2B01:30'),
    fc.constantFrom('', 'buckets=1', 'buckets=2000'),
  )
  .map(parts => parts.filter(part => part !== '').join('&'));

const waits = fc.constantFrom('0s', '20ms', '1s');

const moments = [
  '2020-02-29T23:59:60Z',
  '2026-01-31T12:00:00Z',
  '2099-12-31T00:00:00.123456+01:30',
  '1970-01-01t00:00:00z',
];

function parameter(schema: JsonObject, known: Known): fc.Arbitrary<Json> {
  if (Array.isArray(schema['examples'])) return fc.constantFrom(...schema['examples']);
  if (schema['format'] === 'date-time') return fc.constantFrom(...moments);
  if (schema['format'] === 'uuid') return fc.constantFrom(...known.jobs);
  if (schema['type'] !== 'string' || schema['enum']) return values(schema, known.document);
  const words = fc.constantFrom(...known.plugins, ...known.jobs, 'handle', '"as asked"', 'ask* -x', '"', '*', 'OR (');
  return fc.oneof(words, fc.string({ maxLength: 40 }), fc.string({ unit: 'grapheme', maxLength: 6 }).map(wellFormed));
}

/** Any value that fits the schema. Knows only the keywords that the schemas of this gateway use. */
function values(schema: JsonObject, document: JsonObject): fc.Arbitrary<Json> {
  const { type, minimum = -(2 ** 31), maximum = 2 ** 31 } = schema;
  const [min, max] = [Number(minimum), Number(maximum)];
  if (typeof schema['$ref'] === 'string') {
    return values(partOf(document, schema['$ref'].split('/').slice(1)), document);
  }
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  switch (type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: Math.max(min, -(2 ** 31)), max: Math.min(max, 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min, max, noNaN: true });
    case 'string':
      if (typeof schema['pattern'] === 'string') return fc.stringMatching(new RegExp(schema['pattern']));
      return fc.string({ unit: 'binary', maxLength: Number(schema['maxLength'] ?? 20) }).map(wellFormed);
    case 'array':
      return fc.array(values(schema['items'] as JsonObject, document), { maxLength: Number(schema['maxItems'] ?? 4) });
    case 'object': {
      const properties = Object.entries((schema['properties'] ?? {}) as { readonly [name: string]: JsonObject });
      const record = Object.fromEntries(properties.map(([name, one]) => [name, values(one, document)]));
      return fc.record(record, { requiredKeys: (schema['required'] ?? []) as string[] }) as fc.Arbitrary<JsonObject>;
    }
    default:
      throw new Error(`no values for ${JSON.stringify(schema)}`);
  }
}

/** Replaces unpaired surrogates. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** Whether each integer in the value is exact as a double; the service refuses others, unless they are written with an exponent. */
function isExact(value: unknown): boolean {
  let isHeld = true;
  JSON.stringify(value, (_, part: unknown) => {
    if (Number.isInteger(part) && !Number.isSafeInteger(part) && !String(part).includes('e')) isHeld = false;
    return part;
  });
  return isHeld;
}
