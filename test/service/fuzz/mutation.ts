// Changes that make valid requests odd, wrong or hostile, but leave their framing sound.

import { fc } from '../../support/seed.ts';
import { can } from '../../unit/http/differences.ts';
import { hostileBodies } from './bodies.ts';
import type { Request } from './request.ts';

type Mutation = (request: Request) => Request;

export type Tokens = {
  /** Every API token that the gateway knows. */
  readonly known: readonly string[];
  readonly expired: string;
};

/** Valid requests with one to three changes. */
export function mutated(valid: fc.Arbitrary<Request>, tokens: Tokens): fc.Arbitrary<Request> {
  const mutations = fc.array(mutationsOf(tokens), { minLength: 1, maxLength: 3 });
  return fc
    .tuple(valid, mutations)
    .map(([request, changes]) =>
      changes.reduce<Request>((changed, change) => change(changed), { ...request, isValid: false }),
    );
}

/** Valid requests, but with a body that no honest client sends. */
export function withHostileBody(valid: fc.Arbitrary<Request>): fc.Arbitrary<Request> {
  return fc.tuple(valid, hostileBodies).map(([request, body]) => ({ ...request, body, isValid: false }));
}

/** The requests, some in chunks or cut into two packets, which must not change the answer. */
export function transported(requests: fc.Arbitrary<Request>): fc.Arbitrary<Request> {
  const sizes = fc.constantFrom(1, 7, 1_000, 100_000);
  const chunkBytes = can('a body in chunks') ? seldom(sizes) : fc.constant(null);
  const cut = seldom(fc.double({ min: 0, max: 1, noNaN: true }));
  return fc.tuple(requests, chunkBytes, cut).map(([request, size, at]) => {
    // Many tiny chunks take much time and test little more than a few.
    const isLong = (request.body?.length ?? 0) > 2_000;
    return { ...request, chunkBytes: isLong && size !== null ? Math.max(size, 1_000) : size, cut: at };
  });
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const segments = [
  ...[
    '%00',
    '%zz',
    '%',
    '%4',
    '%ff',
    '%C0%80',
    '%ed%a0%80',
    '%e2%82',
    '%F0%9F%98%80',
    '%25',
    '%u0041',
    '%2F',
    '%2e%2e',
  ],
  ...['.', '..', '', '*', '{name}', 'null', '-1', ';a=b', 'a%20b', "'", '<b>', '%0d%0aX:y', '%22%5c', '\\', '|', '~'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'openapi.json', 'tree', 'absent', 'echo'],
  ...[
    '018bcfe5-6800-7000-8000-0000ffffffff',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    'a'.repeat(600),
    '%41'.repeat(200),
  ],
];

const pairs = [
  ...[
    'unknown=1',
    '__proto__=1',
    'constructor=',
    '=',
    '==',
    '&',
    '&&',
    '%zz=1',
    'limit=%',
    'limit=%ff',
    'query=%00',
    'a[]=1',
  ],
  ...[
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1e2',
    'limit=',
    'limit',
    'limit=0x10',
    'limit=99999999999999999999',
    'limit=+5',
  ],
  ...[
    'async=yes',
    'async=',
    'async=TRUE',
    'async=true',
    'include_result=1',
    'include_subs=true',
    'status=gone',
    'status=ok',
  ],
  ...[
    'cursor=',
    'cursor=AAAA',
    'cursor=%2F%2F',
    'cursor=__proto__',
    'from=yesterday',
    'from=2026-13-01T00:00:00Z',
    'to=0',
  ],
  ...[
    'since=9999-12-31T23:59:59Z',
    'since=0000-01-01T00:00:00Z',
    'types=',
    'types=*',
    'types=job.*,,',
    'types=nothing.*',
  ],
  ...[
    'last_event_id=-1',
    'last_event_id=9007199254740993',
    'job_id=x',
    'query=%22',
    'query=***',
    'query=%F0%9F%98%80',
    'plugin=',
  ],
  ...[`query=${'a%20'.repeat(100)}`, `plugin=${'x'.repeat(400)}`, 'query=(((((', 'query=NOT%20AND', 'query=a%00b'],
];

const headers: readonly (readonly [name: string, value: string])[] = [
  ...['', 'a', 'shared', 'shared', 'x'.repeat(255), 'x'.repeat(256), 'a b', '\xe9', '__proto__'].map(
    key => ['Idempotency-Key', key] as const,
  ),
  ...['', '*', '"', '"x"', 'W/"x"', ',', '"a", *', 'x'.repeat(500)].map(tag => ['If-None-Match', tag] as const),
  ...['', '-1', '1e3', '9'.repeat(30), '0', 'null'].map(id => ['Last-Event-ID', id] as const),
  ...['', 'x'.repeat(129), 'a b', '\xff', '<b>', 'ok-1', '__proto__'].map(id => ['X-Request-Id', id] as const),
  ...['close', 'keep-alive', 'Upgrade', 'x'].map(value => ['Connection', value] as const),
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['Accept', 'text/html'],
  ['Accept', 'x'.repeat(500)],
  ['Range', 'bytes=0-0'],
  ['Content-Encoding', 'gzip'],
  ['Content-Language', '\xe9'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['Origin', 'null'],
  ['If-Match', '"x"'],
  ['If-Modified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['TE', 'trailers'],
  ['Trailer', 'X-After'],
  ['constructor', 'x'],
  ['Authorization', 'Bearer second'],
];

const contentTypes = [
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    '',
    ' ',
    ';',
  ],
  ...[
    'application/json;charset=latin1',
    'application/json, text/plain',
    'APPLICATION/JSON',
    'json',
    'application/+json',
    '\xff',
  ],
];

const methods = [
  'GET',
  'POST',
  'HEAD',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'get',
  'Post',
  'FOO',
  'M-SEARCH',
];

function mutationsOf(tokens: Tokens): fc.Arbitrary<Mutation> {
  const authorizations = [
    ...tokens.known.flatMap(token => [`Bearer ${token}`, `Bearer ${token}`]),
    ...[
      null,
      null,
      '',
      'Bearer',
      'Bearer a b',
      'Basic YTpi',
      'Bearer \xff',
      `Bearer ${tokens.expired}`,
      'Bearer unknown',
    ],
    ...['Digest username="x"', 'Bearer \t', `Bearer ${'x'.repeat(600)}`],
  ];
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...methods).map(byMethod) },
    { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...segments), fc.nat(5)).map(bySegment) },
    { weight: 1, arbitrary: fc.constantFrom<Change>('drop', 'slash', 'double', 'again').map(byPath) },
    { weight: 3, arbitrary: fc.constantFrom(...pairs).map(byQuery) },
    { weight: 1, arbitrary: fc.constant(repeatQuery) },
    { weight: 3, arbitrary: fc.constantFrom(...headers).map(byHeader) },
    { weight: 5, arbitrary: fc.constant(byHeader(['Idempotency-Key', 'shared'])) },
    { weight: 3, arbitrary: fc.constantFrom(...authorizations).map(byAuthorization) },
    { weight: 2, arbitrary: fc.constantFrom(...contentTypes).map(byContentType) },
    { weight: 4, arbitrary: hostileBodies.map(byBody) },
    { weight: 2, arbitrary: fc.tuple(fc.nat(), fc.nat(255), fc.nat(2)).map(byByte) },
  );
}

type Change = 'drop' | 'slash' | 'double' | 'again';

function splitTarget({ target }: Request): { readonly path: string; readonly query: string } {
  const at = target.indexOf('?');
  return at < 0 ? { path: target, query: '' } : { path: target.slice(0, at), query: target.slice(at) };
}

const byMethod =
  (method: string): Mutation =>
  request => ({ ...request, method });

const bySegment =
  ([segment, at]: readonly [string, number]): Mutation =>
  request => {
    const { path, query } = splitTarget(request);
    const parts = path.split('/');
    parts[1 + (at % parts.length)] = segment;
    return { ...request, target: parts.join('/') + query };
  };

const byPath =
  (change: Change): Mutation =>
  request => {
    const { path, query } = splitTarget(request);
    const last = path.lastIndexOf('/');
    const changed = {
      drop: path.slice(0, last) || '/',
      slash: `${path}/`,
      double: `/${path}`,
      again: path + path.slice(last),
    };
    return { ...request, target: changed[change] + query };
  };

const byQuery =
  (pair: string): Mutation =>
  request => ({ ...request, target: `${request.target}${request.target.includes('?') ? '&' : '?'}${pair}` });

const repeatQuery: Mutation = request => {
  const { path, query } = splitTarget(request);
  return { ...request, target: query === '' ? `${path}?` : `${path}${query}&${query.slice(1)}` };
};

const byHeader =
  (header: readonly [string, string]): Mutation =>
  request => ({ ...request, headers: [...request.headers, header] });

function without(request: Request, name: string): Request['headers'] {
  return request.headers.filter(([given]) => given !== name);
}

const byAuthorization =
  (value: string | null): Mutation =>
  request => {
    const rest = without(request, 'Authorization');
    return { ...request, headers: value === null ? rest : [...rest, ['Authorization', value]] };
  };

const byContentType =
  (type: string): Mutation =>
  request => ({ ...request, headers: [...without(request, 'Content-Type'), ['Content-Type', type]] });

const byBody =
  (body: Buffer): Mutation =>
  request => ({ ...request, body });

/** Adds a byte to the body, replaces one, or cuts the body off. */
const byByte =
  ([place, byte, kind]: readonly [number, number, number]): Mutation =>
  request => {
    const { body } = request;
    if (body === null || body.length === 0) return request;
    const at = place % body.length;
    const rest = [body.subarray(at), body.subarray(at + 1), body.subarray(body.length)][kind]!;
    return { ...request, body: Buffer.concat([body.subarray(0, at), Buffer.from(kind === 2 ? [] : [byte]), rest]) };
  };
