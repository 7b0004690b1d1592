// The bundled `http` against a server of the test: what it sends and returns, and where redirects may not lead.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Handler, JsonObject } from '../../../runtime/host/api/plugin-api.ts';
import { call, importBundled } from './fixture.ts';

type Sent = {
  readonly url: URL;
  readonly method: string;
  readonly headers: { [name: string]: string };
  readonly body: Buffer | null;
};

const { handle, redirected } = await importBundled<{
  handle: Handler;
  redirected(sent: Sent, status: number, location: string, settings: object): Sent;
}>('http/index.js');
const { exchange } = await importBundled<{
  exchange(sent: Sent, settings: object, signal: AbortSignal, resolve: unknown): Promise<unknown>;
}>('http/exchange.js');

let port = 0;
const seen: http.IncomingMessage[] = [];
/** The responses of the server by path; the query has details. */
const routes: {
  [path: string]: (request: http.IncomingMessage, response: http.ServerResponse, query: URLSearchParams) => void;
} = {
  '/echo': (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers } = request;
      response.setHeader('content-type', 'application/json; charset=utf-8');
      response.end(JSON.stringify({ method, headers, body: Buffer.concat(chunks).toString() }));
    });
  },
  '/status': (_, response, query) => response.writeHead(Number(query.get('code'))).end('as asked'),
  '/go': (_, response, query) =>
    response.writeHead(Number(query.get('code') ?? 302), { location: query.get('to')! }).end(),
  '/bytes': (_, response, query) => response.end(Buffer.alloc(Number(query.get('count')), 0xff)),
  '/endless': (_, response) => {
    const more = () => void (response.writable && response.write(Buffer.alloc(65536, 'x'), more));
    more();
  },
  '/never': () => {},
  '/broken': request => request.socket.destroy(),
  '/upgraded': request =>
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
  '/badjson': (_, response, query) =>
    response.setHeader('content-type', 'application/json').end(query.get('text') ?? '{'),
};
const server = http.createServer((request, response) => {
  seen.push(request);
  const { pathname, searchParams } = new URL(request.url!, 'http://x');
  const route = routes[pathname];
  if (route) route(request, response, searchParams);
  else response.writeHead(404).end();
});
beforeAll(async () => {
  await new Promise<void>(settle => server.listen(0, '127.0.0.1', settle));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const at = (path: string): string => `http://127.0.0.1:${port}${path}`;
const go = (to: string, code = 302): string => at(`/go?code=${code}&to=${encodeURIComponent(to)}`);
const send = async (
  payload: JsonObject,
  config: JsonObject = {},
  more: { secrets?: { [name: string]: string } } = {},
) => {
  const { response } = await call('handle', handle, payload as never, {
    config: { allowed_hosts: ['127.0.0.1'], ...config },
    ...more,
  });
  return response as { status?: string; error?: string; retry?: boolean; result?: { [key: string]: never } };
};

describe('a request', () => {
  test('carries method, headers and body, and brings back JSON', async () => {
    const { result } = await send({ url: at('/echo'), method: 'PUT', headers: { 'X-Mark': 'm' }, json: { a: 1 } });
    expect(result).toMatchObject({
      status: 200,
      url: at('/echo'),
      json: {
        method: 'PUT',
        body: '{"a":1}',
        headers: { 'x-mark': 'm', 'content-type': 'application/json', host: `127.0.0.1:${port}` },
      },
    });
    expect((await send({ url: at('/echo'), method: 'POST', text: 'plain' })).result).toMatchObject({
      json: { body: 'plain' },
    });
  });

  test('brings back text, and what is none as base64', async () => {
    expect((await send({ url: at('/status?code=200') })).result).toMatchObject({ text: 'as asked' });
    expect((await send({ url: at('/bytes?count=2') })).result).toMatchObject({ base64: '//8=' });
    expect((await send({ url: at('/badjson') })).result).toMatchObject({ text: '{' });
  });

  test.each([
    ['[1e999]'],
    ['{"a":"\\ud83d"}'],
    ['{"\\ude00":1}'],
    ['{"a":{"__proto__":1}}'],
    [`${'['.repeat(101)}${']'.repeat(101)}`],
  ])('JSON that a result cannot hold comes as text: %s', async text => {
    const { result } = await send({ url: at(`/badjson?text=${encodeURIComponent(text)}`) });
    expect([result?.['text'], result?.['json']]).toEqual([text, undefined]);
  });

  test.each([
    [200, undefined, undefined],
    [204, undefined, undefined],
    [304, undefined, undefined],
    [400, 'error', false],
    [401, 'error', false],
    [404, 'error', false],
    [501, 'error', false],
    [408, 'error', true],
    [425, 'error', true],
    [429, 'error', true],
    [500, 'error', true],
    [502, 'error', true],
    [503, 'error', true],
  ])('answered with %i: status %s, retry %s', async (code, status, retry) => {
    expect(await send({ url: at(`/status?code=${code}`) })).toMatchObject({
      ...(status ? { status, retry } : {}),
      result: { status: code },
    });
  });

  test('sends the headers of the config, with secrets in them, to base_url and nowhere else', async () => {
    const config = {
      base_url: at('/'),
      headers: { Authorization: 'Bearer {secrets.key}' },
      allowed_hosts: ['127.0.0.1', 'localhost'],
    };
    const granted = { secrets: { key: 'k1' } };
    const authorization = async (url: string) => {
      const { result } = await send({ url }, config, granted);
      return (result as unknown as { json: { headers: { authorization?: string } } }).json.headers.authorization;
    };
    expect(await authorization('echo')).toBe('Bearer k1');
    expect(await authorization(go('/echo'))).toBe('Bearer k1');
    expect(await authorization(`http://localhost:${port}/echo`)).toBeUndefined();
    expect(await authorization(go(`http://localhost:${port}/echo`))).toBeUndefined();
    expect(await send({ url: 'echo' }, config)).toMatchObject({ error: 'the secret key is not granted', retry: false });
  });

  test.each<[what: string, payload: JsonObject, config: JsonObject, error: RegExp]>([
    ['no URL', { url: 'nothing' }, {}, /is not a URL/],
    ['an address with a zone', { url: 'http://[fe80::1%25eth0]/' }, {}, /is not a URL/],
    ['another protocol', { url: 'file:///etc/passwd' }, {}, /neither http nor https/],
    ['a user name in the URL', { url: 'http://127.0.0.1:1@example.org/' }, {}, /user name or password/],
    [
      'a header of the connection',
      { url: 'http://example.org/', headers: { Host: 'x' } },
      {},
      /must not set the header/,
    ],
    ['two bodies', { url: 'http://example.org/', text: 'a', json: 1 }, {}, /exclude each other/],
    [
      'headers in the config without base_url',
      { url: 'http://example.org/' },
      { headers: { a: 'b' } },
      /base_url must be set/,
    ],
    [
      'a timeout that is none',
      { url: 'http://example.org/' },
      { timeout_ms: 'soon' },
      /timeout_ms must be a whole number/,
    ],
    [
      'hosts that are no list',
      { url: 'http://example.org/' },
      { allowed_hosts: 'all' },
      /allowed_hosts must be a list/,
    ],
  ])('with %s is refused for good', async (_, payload, config, error) => {
    expect(await send(payload, config)).toEqual({ status: 'error', error: expect.stringMatching(error), retry: false });
  });
});

describe('within bounds', () => {
  test('a body that is too large ends the request for good', async () => {
    const error = 'the response has more than 1000 bytes';
    for (const path of ['/bytes?count=1001', '/endless'])
      expect(await send({ url: at(path) }, { max_response_bytes: 1000 })).toEqual({
        status: 'error',
        error,
        retry: false,
      });
    expect((await send({ url: at('/bytes?count=1000') }, { max_response_bytes: 1000 })).result).toMatchObject({
      status: 200,
    });
  });

  test('no answer in time, and a connection that breaks, are worth another attempt', async () => {
    expect(await send({ url: at('/never') }, { timeout_ms: 30 })).toEqual({
      status: 'error',
      error: 'no answer after 30 ms',
    });
    expect(await send({ url: at('/broken') })).toMatchObject({ status: 'error', retry: true });
  });

  test('a server that goes over to another protocol ends it', async () => {
    expect(await send({ url: at('/upgraded') })).toMatchObject({
      error: 'the server switched to another protocol',
      retry: false,
    });
  });

  test.each([{ 'a b': 'c' }, { '': 'c' }, { a: 'b\r\nc: d' }, { a: '€' }])(
    'headers that no request can carry are final: %j',
    async headers => {
      expect(await send({ url: at('/echo'), headers })).toMatchObject({ status: 'error', retry: false });
    },
  );

  test('the deadline of the attempt ends it', async () => {
    const controller = new AbortController();
    const over = call(
      'handle',
      handle,
      { url: at('/never') },
      { config: { allowed_hosts: ['127.0.0.1'] }, signal: controller.signal },
    );
    controller.abort();
    expect((await over).response).toMatchObject({ status: 'error' });
  });
});

describe('what is not public', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '[::ffff:127.0.0.1]',
    '[::1]',
    '169.254.169.254',
    '10.0.0.1',
    'localhost',
  ])('is not reached as %s, nor by a redirect', async host => {
    const before = seen.length;
    const refused = { status: 'error', error: expect.stringContaining('not a public address'), retry: false };
    expect(await send({ url: `http://${host}:${port}/echo` }, { allowed_hosts: [] })).toEqual(refused);
    expect(seen.length).toBe(before);
    // The first hop is allowed by its port; where it leads to is not.
    expect(
      await send({ url: go(`http://${host}:${port + 1}/echo`) }, { allowed_hosts: [`127.0.0.1:${port}`] }),
    ).toEqual(refused);
    expect(seen.length).toBe(before + 1);
  });

  test('is not reached by a name that changes its address: the one that was checked is connected to', async () => {
    const url = new URL(`http://changing.example:${port}/echo`);
    const sent = { url, method: 'GET', headers: {}, body: null };
    const settings = { allowedHosts: [], responseBytesMax: 1000 };
    const answers = [[{ address: '127.0.0.1', family: 4 }], [{ address: '8.8.8.8', family: 4 }]];
    let asked = 0;
    const resolve = (_: string, __: object, done: (error: null, found: object) => void) =>
      done(null, answers[asked++]!);
    const error = expect.stringContaining('changing.example is 127.0.0.1');
    await expect(exchange(sent, settings, new AbortController().signal, resolve)).rejects.toMatchObject({
      message: error,
    });
    expect(asked).toBe(1);
  });
});

describe('a redirect', () => {
  const sent = (more: Partial<Sent> = {}): Sent => ({
    url: new URL('https://one.example/a'),
    method: 'POST',
    headers: { authorization: 'a', cookie: 'c', 'x-own': 'o', 'x-other': 'x', 'content-type': 't' },
    body: Buffer.from('b'),
    ...more,
  });
  const follow = (status: number, to: string, more: Partial<Sent> = {}) =>
    redirected(sent(more), status, to, { headers: { 'X-Own': 'o' } });

  test.each<[status: number, method: string, becomes: string]>([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [301, 'PUT', 'PUT'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
  ])('%i after %s goes on as %s', (status, method, becomes) => {
    const next = follow(status, '/b', { method });
    expect([next.method, next.url.href, next.body === null]).toEqual([
      becomes,
      'https://one.example/b',
      becomes === 'GET',
    ]);
    expect('content-type' in next.headers).toBe(becomes !== 'GET');
  });

  test('takes nothing to another origin that was meant for the first', () => {
    expect(Object.keys(follow(307, 'https://two.example/').headers)).toEqual(['x-other', 'content-type']);
    expect(Object.keys(follow(307, 'https://one.example:444/').headers)).toEqual(['x-other', 'content-type']);
    expect(Object.keys(follow(307, '/b').headers)).toHaveLength(5);
  });

  test.each([
    ['UTF-8', Buffer.from('/é 日').toString('latin1'), '/%C3%A9%20%E6%97%A5'],
    ['Latin-1', '/\xe9', '/%C3%A9'],
    ['ASCII', '/%C3%A9', '/%C3%A9'],
  ])('leads where a Location in %s says', (_, location, path) => {
    expect(follow(302, location).url.pathname).toBe(path);
  });

  test.each([
    ['http://one.example/', /from https to/],
    ['ftp://one.example/', /neither http nor https/],
    ['https://u:p@one.example/', /user name/],
    ['http://[', /not a URL/],
  ])('to %s is refused', (to, error) => expect(() => follow(302, to)).toThrow(error));

  test('after redirect ends', async () => {
    routes['/go-round'] = (_, response) => response.writeHead(302, { location: '/go-round' }).end();
    expect(await send({ url: at('/go-round') }, { max_redirects: 3 })).toEqual({
      status: 'error',
      error: 'more than 3 redirects',
      retry: false,
    });
    expect((await send({ url: go('/echo') }, { max_redirects: 0 })).error).toBe('more than 0 redirects');
  });
});
