// What is refused, with which status and code, and in which order.

import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { VaultCalls } from '../../../service/vault-client.ts';
import { can } from './differences.ts';
import { bodyBytesMax, type Gateway, startGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());
beforeEach(() => {
  gateway.engine.isStopping = false;
  gateway.engine.refusal = null;
});

type Ask = { token?: string | null; type?: string; body?: string | ReadableStream; headers?: Record<string, string> };

function ask(request: string, { token = 'root-token', type, body, headers }: Ask = {}): Promise<Response> {
  const [method, path] = request.split(' ') as [string, string];
  return fetch(gateway.url + path, {
    method,
    // The body is sent as bytes, because `fetch` adds a Content-Type to a string.
    ...(body === undefined ? {} : { body: typeof body === 'string' ? Buffer.from(body) : body, duplex: 'half' }),
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(type === undefined ? {} : { 'Content-Type': type }),
      ...headers,
    },
  } as RequestInit);
}

const large = `{"payload":{"text":"${'x'.repeat(bodyBytesMax)}"}}`;
const unknownId = '018bcfe5-6800-7000-8000-0000ffffffff';
const wholeNeed =
  /^this call needs one of the scopes plugin:ro, plugin:rw, \*; a command of type write needs plugin:rw or \*$/;
type Row = readonly [request: string, given: Ask, status: number, code: string, detail?: RegExp];
const table: readonly Row[] = [
  ['GET /nowhere', { token: null }, 401, 'unauthorized'],
  ['GET /nowhere', {}, 404, 'unknown_route'],
  ['GET /plugin/%zz/x', {}, 400, 'invalid_path'],
  ['POST /plugin/%zz/x', {}, 400, 'invalid_path'],
  ['GET /job/%00', {}, 400, 'invalid_path'],
  ['GET /job/%ff', {}, 400, 'invalid_path'],
  ['GET /%zz', { token: null }, 401, 'unauthorized'],
  ['GET /healthz/', {}, 404, 'unknown_route'],
  ['GET //healthz', {}, 404, 'unknown_route'],
  ['POST /plugin/echo/', {}, 404, 'unknown_route'],
  ['GET /job/', {}, 404, 'unknown_route'],
  ['GET /job/nonsense', {}, 404, 'unknown_job'],
  [`GET /job/${unknownId}`, {}, 404, 'unknown_job'],
  [`GET /job/${unknownId}/tree`, {}, 404, 'unknown_job'],
  ['GET /job/nonsense/tree', {}, 404, 'unknown_job'],
  ['POST /plugin/absent/handle', {}, 404, 'unknown_plugin'],
  ['POST /plugin/__proto__/handle', {}, 404, 'unknown_plugin'],
  ['POST /plugin/constructor/handle', {}, 404, 'unknown_plugin'],
  ['POST /plugin/echo/absent', {}, 404, 'unknown_command'],
  ['POST /pipeline/absent', {}, 404, 'unknown_pipeline'],
  ['POST /pipeline/forked', {}, 400, 'several_entry_dispatches', /async=true/],
  ['POST /pipeline/later?async=yes', {}, 400, 'invalid_query', /"async" must be true or false/],
  ['POST /pipeline/later?async=true&async=true', {}, 400, 'invalid_query', /more than once/],
  ['POST /pipeline/later?other=1', {}, 400, 'invalid_query', /"other"/],
  ['POST /pipeline/later?__proto__=1', {}, 400, 'invalid_query', /__proto__/],
  ['POST /pipeline/later?async=%zz', {}, 400, 'invalid_query', /percent-escape/],
  ['GET /healthz?x=1', {}, 400, 'invalid_query', /"x"/],
  ['POST /plugin/echo/handle', { body: '{' }, 400, 'invalid_json', /at byte 1$/],
  ['POST /plugin/echo/handle', { body: '{}{}' }, 400, 'invalid_json', /more after the JSON document at byte 2/],
  ['POST /plugin/echo/handle', { body: '[]' }, 400, 'invalid_request', /the body must be object/],
  ['POST /plugin/echo/handle', { body: 'null' }, 400, 'invalid_request'],
  ['POST /plugin/echo/handle', { body: '{"payload":1}' }, 400, 'invalid_request', /\/payload must be object/],
  ['POST /plugin/echo/handle', { body: '{"payload":null}' }, 400, 'invalid_request'],
  [
    'POST /plugin/echo/handle',
    { body: '{"a/1":1}' },
    400,
    'invalid_request',
    /\/a~11 is not a known field; known fields: payload, run_at, delay, expires, deadline, tags$/,
  ],
  ['POST /plugin/echo/size', { body: '' }, 400, 'invalid_payload', /\/payload\/width is required/],
  ['POST /plugin/echo/size', { body: '{"payload":{"width":"1"}}' }, 400, 'invalid_payload', /\/payload\/width must be/],
  ['POST /plugin/echo/size', { body: '{"payload":{"width":1,"h":2}}' }, 400, 'invalid_payload', /\/payload\/h is not/],
  [
    'POST /plugin/echo/handle',
    { body: '{}', type: 'text/plain' },
    415,
    'unsupported_media_type',
    /Content-Type .* application\/json$/,
  ],
  ['POST /plugin/echo/handle', { body: '{}', type: 'application/jsonp' }, 415, 'unsupported_media_type'],
  ['POST /plugin/echo/handle', { body: large }, 413, 'body_too_large', /100000 bytes; api.max_body_size sets/],
  ['GET /plugin/echo/handle', {}, 405, 'method_not_allowed', /POST/],
  ['DELETE /healthz', { token: null }, 405, 'method_not_allowed', /GET, HEAD/],
  ['OPTIONS /healthz', {}, 405, 'method_not_allowed'],
  ['OPTIONS /plugin/echo/handle', {}, 405, 'method_not_allowed'],
  ['PUT /plugin/echo/handle', { token: null }, 401, 'unauthorized'],
  ['OPTIONS /nowhere', {}, 404, 'unknown_route'],
  ['OPTIONS /healthz/', {}, 404, 'unknown_route'],
  ['DELETE /plugin/absent/handle', {}, 404, 'unknown_plugin'],
  ['PUT /plugin/echo/absent', {}, 404, 'unknown_command'],
  ['GET /pipeline/absent', {}, 404, 'unknown_pipeline'],
  [`DELETE /job/${unknownId}`, {}, 404, 'unknown_job'],
  [`POST /job/${unknownId}/tree`, {}, 404, 'unknown_job'],
  ['DELETE /plugin/absent/openapi.json', { token: null }, 404, 'unknown_plugin'],
  ['DELETE /plugin/echo/openapi.json', { token: null }, 405, 'method_not_allowed', /GET, HEAD/],
  ['DELETE /jobs', { token: 'none-token' }, 403, 'forbidden'],
  // A caller without these scopes gets the same answer for every command, and for one that does not exist.
  ['POST /plugin/echo/handle', { token: 'none-token' }, 403, 'forbidden', wholeNeed],
  ['POST /plugin/echo/look', { token: 'none-token' }, 403, 'forbidden', wholeNeed],
  ['POST /plugin/absent/handle', { token: 'none-token' }, 403, 'forbidden', wholeNeed],
  ['DELETE /jobs', {}, 405, 'method_not_allowed'],
];

function removeToken(): void {
  const config = gateway.engine.config();
  const tokens = config.api.tokens.filter(({ name }) => name !== 'root');
  gateway.engine.config = () => ({ ...config, api: { ...config.api, tokens } });
}

function signIn(): string {
  const originDigest = createHash('sha256').update('root-token').digest('hex');
  const { code } = gateway.engine.uiSessions.makeCode({ originDigest, scopes: ['*'] }, null);
  return gateway.engine.uiSessions.exchange(code)!.token;
}

type Loss = readonly [what: string, makeToken: () => string, change: () => void, status: number];
const losses: readonly Loss[] = [
  ['token is removed', () => 'root-token', removeToken, 401],
  ['session ends', signIn, () => void gateway.engine.uiSessions.end(() => true), 401],
  ['token stays in a changed configuration', () => 'nameless-token', removeToken, 202],
];

describe('refusals', () => {
  test.each(table)('%s %o is %i %s', async (...row) => {
    const [request, given, status, code, detail = /./] = row as unknown as Row;
    const answer = await ask(request, given);
    const body = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, body['code'], body['status']]).toEqual([status, code, status]);
    expect(body['detail']).toMatch(detail);
    expect(body['error']).toBe(body['detail']);
    expect(body['request_id']).toBe(answer.headers.get('X-Request-Id'));
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(gateway.engine.submissions).toEqual([]);
    expect(gateway.engine.runs).toEqual([]);
  });

  test.each(losses)('a call whose %s while its body arrives', async (...row) => {
    const [, makeToken, change, status] = row as unknown as Loss;
    const { config } = gateway.engine;
    const lines = ['POST /plugin/echo/handle HTTP/1.1', 'Host: x', `Authorization: Bearer ${makeToken()}`];
    const socket = connect(gateway.server.port, '127.0.0.1');
    let text = '';
    socket.on('data', data => {
      text += data.toString('latin1');
    });
    await new Promise<void>(sent => socket.write([...lines, 'Content-Length: 2', '', '{'].join('\r\n'), () => sent()));
    // This request, on another connection, is answered only after the server has read the first half of the body.
    expect((await ask('GET /healthz', { token: null })).status).toBe(200);
    change();
    socket.write('}');
    await expect.poll(() => text).toMatch(/\r\n\r\n/);
    socket.destroy();
    gateway.engine.config = config;
    expect(Number(text.slice('HTTP/1.1 '.length, 12))).toBe(status);
    expect(gateway.engine.submissions.splice(0)).toHaveLength(status === 202 ? 1 : 0);
  });

  const isChunked = can('a body in chunks');
  test.runIf(isChunked)('a vault call whose body is too large is answered once its refusal is audited', async () => {
    const { vault } = gateway.engine;
    const [before, audited]: [VaultCalls, string[]] = [{ ...vault }, []];
    let note = () => {};
    const noted = new Promise<void>(resolve => {
      note = resolve;
    });
    Object.assign(vault, {
      adminDigest: createHash('sha256').update('admin').digest().toString('latin1'),
      refused(op: string, code: string) {
        audited.push(`${op} ${code}`);
        return noted;
      },
    });
    const head = [
      'POST /vault/secret HTTP/1.1',
      'Host: x',
      'Authorization: Bearer admin',
      'Transfer-Encoding: chunked',
    ];
    const chunk = `${(bodyBytesMax + 1).toString(16)}\r\n${'x'.repeat(bodyBytesMax + 1)}\r\n`;
    const socket = connect(gateway.server.port, '127.0.0.1');
    let text = '';
    socket.on('data', data => {
      text += data.toString('latin1');
    });
    socket.write([...head, '', chunk].join('\r\n'));
    await expect.poll(() => audited).toHaveLength(1);
    await new Promise<void>(sent => socket.write(`${chunk}0\r\n\r\n`, () => sent()));
    // This request, on another connection, is answered only after the server has read the second chunk.
    expect((await ask('GET /healthz', { token: null })).status).toBe(200);
    expect(text).toBe('');
    note();
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    expect(audited).toEqual(['secret.set body_too_large']);
    Object.assign(vault, before);
  });

  // Each request is wrong in every way that comes later in the order, so that only the order decides.
  const wrong: Ask = { type: 'text/plain', body: large };
  const order: readonly (readonly [string, Ask, number])[] = [
    ['POST /plugin/absent/x?bad=1', { ...wrong, token: null }, 401],
    ['POST /plugin/absent/x?bad=1', { ...wrong, token: 'none-token' }, 403],
    ['POST /plugin/absent/x?bad=1', wrong, 404],
    ['PATCH /plugin/echo/handle?bad=1', wrong, 405],
    ['POST /plugin/echo/handle?bad=1', wrong, 413],
    ['POST /plugin/echo/handle?bad=1', { type: 'text/plain', body: '{' }, 415],
    ['POST /plugin/echo/handle?bad=1', { body: '{' }, 400],
  ];
  test.each(order)('%s comes to %3$i in the order of refusals', async (request, given, status) => {
    expect((await ask(request, given)).status).toBe(status);
    if (typeof given.body !== 'string' || !can('a body in chunks')) return;
    const chunked = new Blob([given.body]).stream();
    expect((await ask(request, { ...given, body: chunked })).status).toBe(status);
  });

  test('a service that is shutting down refuses work before anything else, with Retry-After, and goes on reading', async () => {
    gateway.engine.isStopping = true;
    const refused = await ask('POST /plugin/echo/handle', { token: null });
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(((await refused.json()) as { code: string }).code).toBe('stopping');
    const health = await ask('GET /healthz', { token: null });
    expect([health.status, health.headers.get('Connection')]).toEqual([200, 'close']);
    expect(await health.json()).toMatchObject({ status: 'stopping' });
  });

  test.each([
    ['queue_full', 503],
    ['disk_full', 503],
    ['unavailable', 503],
    ['stopping', 503],
    ['unknown_plugin', 404],
  ] as const)('what the engine refuses as %s is answered %i', async (refusal, status) => {
    gateway.engine.refusal = refusal;
    for (const request of ['POST /plugin/echo/handle', 'POST /pipeline/now', 'POST /pipeline/later']) {
      const answer = await ask(request);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([status, refusal]);
      expect(answer.headers.has('Retry-After')).toBe(status === 503);
    }
  });

  test('405 names what is allowed', async () => {
    expect((await ask('OPTIONS /healthz')).headers.get('Allow')).toBe('GET, HEAD');
    expect((await ask('OPTIONS /pipeline/later')).headers.get('Allow')).toBe('GET, HEAD, POST');
    expect((await ask('OPTIONS /plugin/echo/size')).headers.get('Allow')).toBe('POST');
  });

  test.each([
    [{ payload: { width: '1', name: 2, h: 3 } }, ['/payload/h', '/payload/name', '/payload/width']],
    [{ payload: 1, a: 2, b: 3 }, ['/a', '/b', '/payload']],
    [{ payload: { h: 1, width: Array.from({ length: 1_000 }, () => 0) } }, undefined],
    [{ payload: { h: 1, width: 1, name: 'A'.repeat(60_000) } }, undefined],
  ])('everything that is wrong with a body is told, of a large one the first thing: %#', async (body, pointers) => {
    const answer = await ask('POST /plugin/echo/size', { body: JSON.stringify(body) });
    const { errors } = (await answer.json()) as { errors?: readonly { readonly pointer: string }[] };
    expect([answer.status, errors?.map(({ pointer }) => pointer).sort()]).toEqual([400, pointers]);
  });

  const long = 'k'.repeat(90_000);
  const keys = Array.from({ length: 30 }, (_, n) => `${n}${'k'.repeat(3_000)}`);
  const width = '"width":1';
  test.each([
    [
      'a long key',
      `${width},"${long}":1`,
      /^\/payload contains a value whose pointer is too long to be shown; the value is not a known field/,
    ],
    ['a number below a long key', `${width},"${long}":1e999`, /^the number inside "\/payload" is too large/],
    [
      'many long keys',
      `${width},${keys.map(key => `"${key}":1`)}`,
      /^\/payload contains .* known fields: width, name$/,
    ],
    ['a key of 129 characters', `"${'k'.repeat(129)}":1`, /^\/payload\/width is required$/],
  ])('the answer to %s is short', async (_, members, detail) => {
    const answer = await ask('POST /plugin/echo/size', { body: `{"payload":{${members}}}` });
    const text = await answer.text();
    expect([answer.status, (JSON.parse(text) as { detail: string }).detail]).toEqual([
      400,
      expect.stringMatching(detail),
    ]);
    expect(text.length).toBeLessThan(3_000);
  });

  test('a pattern that would cost other engines exponential time is checked at once', async () => {
    // A backtracking engine would practically never end.
    const body = JSON.stringify({ payload: { width: 1, name: `${'a'.repeat(50_000)}b` } });
    expect((await ask('POST /plugin/echo/size', { body })).status).toBe(400);
  });
});

test('a request with a method that its path does not have counts for no route, whatever it is refused with', async () => {
  const counts = () => {
    const { samples } = gateway.engine.metrics.requests.families()[0]!;
    return new Map(
      samples.map(({ labels, value }) => [`${labels['method']} ${labels['route']} ${labels['code']}`, value]),
    );
  };
  const before = counts();
  const requests = ['PUT /jobs', `DELETE /job/${unknownId}`, 'PUT /pipeline/none'];
  expect(await Promise.all(requests.map(async request => (await ask(request)).status))).toEqual([405, 404, 404]);
  const more = [...counts()].map(([name, value]) => [name, Number(value) - Number(before.get(name) ?? 0)] as const);
  expect(more.filter(([, value]) => value > 0)).toEqual([
    ['other none 404', 2],
    ['other none 405', 1],
  ]);
});
