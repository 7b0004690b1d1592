// Requests that two readers could cut differently, bodies that never end, and callers that leave, over bare sockets.
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bodyBytesMax, type Gateway, startGateway } from './gateway.ts';
import { exchange, statuses, untilClosed } from './raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());
beforeEach(() => {
  gateway.engine.submissions.length = 0;
  gateway.lines.length = 0;
});

const head = (...headers: readonly string[]) =>
  ['POST /plugin/echo/handle HTTP/1.1', 'Host: x', 'Authorization: Bearer root-token', ...headers, '', ''].join('\r\n');
const smuggled = head('Content-Length: 0');
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const lastChunk = '0\r\n\r\n';
const answered = (count: number) => (text: string) => statuses(text).length >= count && text.endsWith('}');
const begun = (text: string) => statuses(text).length >= 1;

describe('framing', () => {
  const doubtful: readonly (readonly [name: string, headers: readonly string[], body: string])[] = [
    ['two lengths', ['Content-Length: 2', 'Content-Length: 2'], '{}'],
    ['two different lengths', ['Content-Length: 2', 'Content-Length: 9'], '{}'],
    ['an empty length and another', ['Content-Length:', 'Content-Length: 2'], '{}'],
    ['an empty length', ['Content-Length:'], ''],
    ['a coding in capitals', ['Transfer-Encoding: Chunked'], chunk('{}') + lastChunk],
    ['a coding that ends in chunked', ['Transfer-Encoding: xchunked'], chunk('{}') + lastChunk],
    ['two codings in one', ['Transfer-Encoding: gzip, chunked'], chunk('{}') + lastChunk],
    ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunk('{}') + lastChunk],
    ['chunked and another', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], chunk('{}') + lastChunk],
    ['an empty coding', ['Transfer-Encoding: '], ''],
    ['identity', ['Transfer-Encoding: identity'], ''],
  ];
  test.each(doubtful)('%s: 400, closed, and nothing behind it is handled', async (_name, headers, body) => {
    const { text, isClosed } = await untilClosed(gateway.server.port, head(...headers) + body + smuggled);
    expect([statuses(text), isClosed]).toEqual([[400], true]);
    expect(text).toContain('"code":"malformed_request"');
    expect(gateway.engine.submissions).toEqual([]);
  });

  const refusedByCore: readonly (readonly [name: string, headers: readonly string[]])[] = [
    ['both', ['Content-Length: 2', 'Transfer-Encoding: chunked']],
    ['both, the other way', ['Transfer-Encoding: chunked', 'Content-Length: 2']],
    ['a list of lengths', ['Content-Length: 2, 2']],
    ['a length with a sign', ['Content-Length: +2']],
    ['a negative length', ['Content-Length: -2']],
    ['a hexadecimal length', ['Content-Length: 0x2']],
    ['a length beyond all numbers', ['Content-Length: 99999999999999999999999']],
  ];
  test.each(refusedByCore)('%s: 400 and closed', async (_name, headers) => {
    const { text, isClosed } = await untilClosed(gateway.server.port, `${head(...headers)}{}${smuggled}`);
    expect([statuses(text), isClosed]).toEqual([[400], true]);
    expect(gateway.engine.submissions).toEqual([]);
  });

  test('one length, or exactly chunked, is taken', async () => {
    const port = gateway.server.port;
    const plain = await exchange(port, [`${head('Content-Length: 2')}{}`], answered(1));
    const parts = [head('Transfer-Encoding: chunked'), chunk('{"pay'), chunk('load":{}}'), lastChunk];
    const chunked = await exchange(port, parts, answered(1));
    expect([...statuses(plain.text), ...statuses(chunked.text)]).toEqual([202, 202]);
    expect(gateway.engine.submissions.length).toBe(2);
  });
});

describe('bodies', () => {
  const large = 'x'.repeat(bodyBytesMax + 1);

  test('a declared length over the limit is 413 before any of it comes', async () => {
    const { text } = await exchange(gateway.server.port, [head('Content-Length: 999999999')], answered(1));
    expect(statuses(text)).toEqual([413]);
  });

  test('a chunked body is counted while it arrives: 413 long before its end', async () => {
    const parts = [head('Transfer-Encoding: chunked'), chunk(large.slice(0, 60_000)), chunk(large.slice(0, 60_000))];
    const { text } = await exchange(gateway.server.port, parts, answered(1));
    expect(statuses(text)).toEqual([413]);
  });

  test('a body of exactly the limit is taken, one byte more is not, chunked or not', async () => {
    const frame = '{"payload":{"t":""}}';
    const fill = (bytes: number) => `{"payload":{"t":"${'x'.repeat(bytes - frame.length)}"}}`;
    for (const [bytes, status] of [
      [bodyBytesMax, 202],
      [bodyBytesMax + 1, 413],
    ] as const) {
      const body = fill(bytes);
      const whole = await exchange(gateway.server.port, [head(`Content-Length: ${bytes}`) + body], answered(1));
      const parts = [head('Transfer-Encoding: chunked'), chunk(body.slice(0, 7)), chunk(body.slice(7)) + lastChunk];
      const chunked = await exchange(gateway.server.port, parts, answered(1));
      expect([statuses(whole.text), statuses(chunked.text)]).toEqual([[status], [status]]);
    }
  });

  test('after an early refusal the rest of the body is passed over, and the connection goes on', async () => {
    const refused = head(`Content-Length: ${large.length}`).replace('echo', 'absent');
    const parts = [refused, large.slice(0, 50_000), large.slice(50_000), smuggled];
    const { text } = await exchange(gateway.server.port, parts, answered(2));
    expect(statuses(text)).toEqual([404, 202]);
  });

  test('a body that comes byte by byte is read whole', async () => {
    const body = '{"payload":{"a":"é"}}';
    const encoded = Buffer.from(body).toString('latin1');
    const parts = [head(`Content-Length: ${encoded.length}`), ...encoded];
    const { text } = await exchange(gateway.server.port, parts, answered(1));
    expect(statuses(text)).toEqual([202]);
  });

  test('a caller that leaves in the middle of its body leaves nothing behind', async () => {
    const socket = connect(gateway.server.port, '127.0.0.1');
    await new Promise<void>(sent => socket.write(`${head('Content-Length: 100')}{"pay`, () => sent()));
    socket.destroy();
    await expect.poll(() => gateway.lines.some(line => line.status === null)).toBe(true);
    expect([gateway.engine.submissions, gateway.faults]).toEqual([[], []]);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});

describe('what the parser does not take (docs/http.md)', () => {
  const get = (version: string, header: string) => `GET /healthz HTTP/${version}\r\nHost: x\r\n${header}\r\n\r\n`;
  test('HTTP/1.0 is 505, and the connection closes', async () => {
    const { text, isClosed } = await untilClosed(gateway.server.port, get('1.0', 'X-Y: 1'));
    expect([statuses(text), isClosed]).toEqual([[505], true]);
    expect(gateway.lines).toEqual([]);
  });

  // The idle time-out closes them: they wait for it side by side.
  test('a header name with _ or a dot closes the connection, without an answer', async () => {
    const requests = ['X_Y: 1', 'X.Y: 1'].map(header => get('1.1', header));
    const ends = await Promise.all(requests.map(request => untilClosed(gateway.server.port, request)));
    expect(ends.map(({ text, isClosed }) => [statuses(text), isClosed])).toEqual([
      [[], true],
      [[], true],
    ]);
    expect(gateway.lines).toEqual([]);
  });
});

describe('methods and ids', () => {
  test('HEAD answers as GET does, without a body, and the connection goes on', async () => {
    const request = 'HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    const get = await (await fetch(`${gateway.url}/healthz`)).text();
    const { text } = await exchange(gateway.server.port, [request, request.replace('HEAD', 'GET')], answered(2));
    const [first] = text.split('\r\n\r\n');
    expect(statuses(text)).toEqual([200, 200]);
    expect(first?.match(/^Content-Length: (\d+)/gm)).toEqual([`Content-Length: ${get.length}`]);
    expect(text.split('\r\n\r\n')[1]).toMatch(/^HTTP\/1\.1 200/);
  });

  test('HEAD of a refusal has its status, and no body', async () => {
    const request = 'HEAD /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const { text } = await exchange(gateway.server.port, [request], reply => reply.endsWith('\r\n\r\n'));
    expect(statuses(text)).toEqual([401]);
  });

  test('a fit X-Request-Id is taken over, any other is replaced, and none can add a header', async () => {
    const ask = async (id: string) =>
      (
        await exchange(
          gateway.server.port,
          [`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`],
          answered(1),
        )
      ).text;
    expect(await ask('abc-123_4.5')).toContain('X-Request-Id: abc-123_4.5\r\n');
    for (const bad of ['', 'a b', 'x'.repeat(129), '<script>', '\xff', 'a\tb']) {
      expect(await ask(bad)).toMatch(/X-Request-Id: test-[0-9a-z]+\r\n/);
    }
  });

  test('noise gets an answer or a closed connection, and the server goes on', async () => {
    for (const noise of [
      '\0\x01\x02\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\r\n\r\n\r\n',
      'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n',
    ]) {
      await exchange(gateway.server.port, [noise], begun, 300).catch(() => {});
    }
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect(gateway.faults).toEqual([]);
  });
});
