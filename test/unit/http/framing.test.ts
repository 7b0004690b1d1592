// Over bare sockets: requests whose end two parsers could see in different places, bodies that never end, and callers that leave.
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pipelinedMax } from '../../../http/transport/node-connection.ts';
import { can, server } from './differences.ts';
import { bodyBytesMax, type Gateway, startGateway } from './gateway.ts';
import { exchange, statuses, takenIn, untilClosed } from './raw.ts';

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
  test.each(doubtful)('%s: refused, closed, and nothing behind it is handled', async (_name, headers, body) => {
    const isCoded = headers.some(header => header.startsWith('Transfer-Encoding'));
    const isUntaken = isCoded && !can('a body in chunks');
    const { text, isClosed } = await untilClosed(gateway.server.port, head(...headers) + body + smuggled);
    expect([statuses(text), isClosed]).toEqual([[isUntaken ? 411 : 400], true]);
    expect(text).toContain(`"code":"${isUntaken ? 'length_required' : 'malformed_request'}"`);
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

  test('one length is taken', async () => {
    const { text } = await exchange(gateway.server.port, [`${head('Content-Length: 2')}{}`], answered(1));
    expect([statuses(text), gateway.engine.submissions.length]).toEqual([[202], 1]);
  });

  test('two Host headers are 400, and none is', async () => {
    const twice = await untilClosed(gateway.server.port, `${head('Host: y', 'Content-Length: 2')}{}`);
    const never = await untilClosed(gateway.server.port, 'GET /healthz HTTP/1.1\r\nX: y\r\n\r\n');
    expect([statuses(twice.text), statuses(never.text)]).toEqual([[400], [400]]);
    expect(gateway.engine.submissions).toEqual([]);
  });

  const json = '{"payload":{}}';
  const chunkedBodies: readonly (readonly [name: string, body: string])[] = [
    ['in several chunks', chunk('{"pay') + chunk('load":{}}') + lastChunk],
    ['with a trailer', `${chunk(json)}0\r\nX-Sum: 1\r\n\r\n`],
    ['with an extension', `e;x=y\r\n${json}\r\n0;z="1"\r\n\r\n`],
  ];
  test.each(chunkedBodies)('a body in chunks, %s, is taken once and its connection goes on', async (_name, body) => {
    const parts = [head('Transfer-Encoding: chunked') + body];
    if (can('a body in chunks')) {
      const { text } = await exchange(gateway.server.port, [...parts, smuggled], answered(2));
      expect([statuses(text), gateway.engine.submissions.length]).toEqual([[202, 202], 2]);
      return;
    }
    const { text, isClosed } = await untilClosed(gateway.server.port, parts[0] + smuggled);
    expect([statuses(text), isClosed]).toEqual([[411], true]);
    expect(text).toContain('api.server: node');
    expect(gateway.engine.submissions).toEqual([]);
  });

  // A parser that does not check the two bytes after a chunk would serve as a request what a stricter one takes for a trailer.
  test.each([
    ['the last chunk', `0\r\nX:${smuggled}`],
    ['a chunk', `2\r\n{}XX0\r\n\r\n${smuggled}`],
  ])('the bytes behind %s smuggle no request', async (_name, body) => {
    const request = head('Transfer-Encoding: chunked').replace('root-token', 'wrong-token') + body;
    const { text, isClosed } = await untilClosed(gateway.server.port, request);
    expect([statuses(text).length, statuses(text)[0]! >= 400, isClosed]).toEqual([1, true, true]);
    expect(gateway.engine.submissions).toEqual([]);
  });
});

describe('bodies', () => {
  const large = 'x'.repeat(bodyBytesMax + 1);

  test('a declared length over the limit is 413 before any of it comes', async () => {
    const { text } = await exchange(gateway.server.port, [head('Content-Length: 999999999')], answered(1));
    expect(statuses(text)).toEqual([413]);
  });

  test.runIf(can('a body in chunks'))(
    'a chunked body is counted while it arrives: 413 long before its end',
    async () => {
      const parts = [head('Transfer-Encoding: chunked'), chunk(large.slice(0, 60_000)), chunk(large.slice(0, 60_000))];
      const { text } = await exchange(gateway.server.port, parts, answered(1));
      expect(statuses(text)).toEqual([413]);
    },
  );

  test('a body of exactly the limit is taken, one byte more is not, chunked or not', async () => {
    const frame = '{"payload":{"t":""}}';
    const fill = (bytes: number) => `{"payload":{"t":"${'x'.repeat(bytes - frame.length)}"}}`;
    for (const [bytes, status] of [
      [bodyBytesMax, 202],
      [bodyBytesMax + 1, 413],
    ] as const) {
      const body = fill(bytes);
      const whole = await exchange(gateway.server.port, [head(`Content-Length: ${bytes}`) + body], answered(1));
      expect(statuses(whole.text)).toEqual([status]);
      if (!can('a body in chunks')) continue;
      const parts = [head('Transfer-Encoding: chunked'), chunk(body.slice(0, 7)), chunk(body.slice(7)) + lastChunk];
      expect(statuses((await exchange(gateway.server.port, parts, answered(1))).text)).toEqual([status]);
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

describe('what one parser takes and the other does not (docs/http.md)', () => {
  const get = (version: string, ...headers: readonly string[]) =>
    ['GET /healthz HTTP/'.concat(version), 'Host: x', ...headers, 'Connection: close', '', ''].join('\r\n');
  const healthy = async (...parts: readonly string[]) => {
    const { text, isClosed } = await untilClosed(gateway.server.port, ...parts);
    expect([statuses(text), isClosed]).toEqual([[200], true]);
  };
  /** Expects this status, and the end of the connection; also a problem document, if the parser of the server can write one. */
  const refused = async (status: number, code: string, request: string) => {
    const { text, isClosed } = await untilClosed(gateway.server.port, request);
    expect([statuses(text), isClosed]).toEqual([[status], true]);
    if (!can('a request that the parser refuses with a response')) return;
    expect(text).toContain(`"code":"${code}"`);
    expect(text).toMatch(
      /X-Content-Type-Options: nosniff\r\nX-Request-Id: \S+\r\nContent-Type: application\/problem\+json/,
    );
    expect(text).toMatch(/Connection: close/i);
  };

  test.runIf(can('a request line in pieces'))('a request line in two packets, cut anywhere', async () => {
    const request = get('1.1');
    for (const at of [1, 4, 9, 14, 20]) await healthy(request.slice(0, at), request.slice(at));
  });

  test('HTTP/1.0', async () => {
    if (can('HTTP/1.0')) await healthy(get('1.0'));
    else await refused(505, 'http_version', get('1.0'));
    const coded = `${head('Transfer-Encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0')}${chunk('{}')}${lastChunk}`;
    const { text } = await untilClosed(gateway.server.port, coded);
    expect(statuses(text)).toEqual([can('HTTP/1.0') ? 400 : 505]);
    expect(gateway.engine.submissions).toEqual([]);
  });

  test('a target in absolute form', async () => {
    for (const [target, status] of [
      ['http://other.example/healthz', 200],
      ['HTTP://other.example:8080/healthz?x', 400],
      ['https://other.example', 200],
    ] as const) {
      const { text } = await untilClosed(gateway.server.port, get('1.1').replace('/healthz', target));
      expect(statuses(text)).toEqual([can('a target in absolute form') ? status : 505]);
    }
  });

  test.runIf(can('a header name with `_`'))('a header name with _ or a dot', async () => {
    await healthy(get('1.1', 'X_Y: 1', 'X.Y: 1'));
  });

  test('a chunked body beside a length', () =>
    refused(
      400,
      'malformed_request',
      `${head('Content-Length: 7', 'Transfer-Encoding: chunked')}${chunk('{}')}${lastChunk}`,
    ));

  test('a version that is none', () => refused(505, 'http_version', get('9.9')));

  describe.runIf(can('a request that the parser refuses with a response'))('in words', () => {
    const lines = (count: number) => Array.from({ length: count }, (_, n) => `X-${n}: y`);
    test.each([
      ['a folded header', 400, 'malformed_request', get('1.1', 'X-A:', ' folded')],
      ['a blank before the colon', 400, 'malformed_request', get('1.1', 'X-A : 1')],
      ['a NUL in a value', 400, 'malformed_request', get('1.1', 'X-A: a\0b')],
      ['no request at all', 400, 'malformed_request', '\x16\x03\x01\x02\0\x01\0\x01'],
      ['HTTP/2', 505, 'http_version', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['HTTP/2.0 in a request line', 505, 'http_version', get('2.0')],
      ['more than 100 header lines', 431, 'head_too_large', get('1.1', ...lines(101))],
      ['a header of 20,000 characters', 431, 'head_too_large', get('1.1', `X: ${'x'.repeat(20_000)}`)],
      ['CONNECT', 405, 'method_not_allowed', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['a bad chunk', 400, 'malformed_request', `${head('Transfer-Encoding: chunked')}zz\r\n{}\r\n`],
    ] as const)('%s: %i', async (_name, status, code, request) => {
      await refused(status, code, request);
    });

    test('100 header lines are taken', () => healthy(get('1.1', ...lines(98))));
  });

  test('an upgrade is not made: the request is answered as if it did not ask', async () => {
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const request = get('1.1', ...upgrade).replace('Connection: close', 'Connection: Upgrade');
    expect(statuses((await exchange(gateway.server.port, [request], answered(1))).text)).toEqual([200]);
  });

  test('no answer names the server', async () => {
    for (const request of [get('1.1'), 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']) {
      const { text } = await untilClosed(gateway.server.port, request);
      expect(text).not.toMatch(/uWebSockets|^Server:|^X-Powered-By:/im);
    }
  });

  test('100-continue is said where the body is wanted, and not where the request is refused', async () => {
    const expecting = head('Content-Length: 2', 'Expect: 100-continue');
    const begun = await exchange(gateway.server.port, [expecting, '{}'], answered(1));
    expect(statuses(begun.text)).toEqual([100, 202]);
    if (server !== 'node') return;
    const strange = expecting.replace('root-token', 'wrong-token');
    const { text, isClosed } = await untilClosed(gateway.server.port, strange);
    expect([statuses(text), isClosed]).toEqual([[401], true]);
  });
});

describe('requests behind one another on a connection', () => {
  const post = `${head('Content-Length: 2')}{}`;
  const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  const accepted = () => gateway.engine.submissions.length;

  test('GET behind GET in one packet: answered in order', async () => {
    const { text } = await exchange(gateway.server.port, [health.repeat(3)], answered(3));
    expect(statuses(text)).toEqual([200, 200, 200]);
  });

  test.each([
    ['a GET', health, 200],
    ['a POST', post, 202],
    ['what is no request', '\0\0\0 \0\r\n\r\n', 400],
  ])(
    '%s behind a POST, in one packet: all are answered in order, or nothing is enqueued',
    async (_name, behind, status) => {
      const isAnswered = can('a pipelined request behind one with a body, in the same packet');
      const { text } = await exchange(gateway.server.port, [post + behind], answered(2));
      if (isAnswered) expect(statuses(text)).toEqual([202, status]);
      else expect(statuses(text).filter(other => other === 202)).toEqual([]);
      expect(accepted()).toBe(statuses(text).filter(other => other === 202).length);
    },
  );

  test('in packets of their own, while the first still waits: answered in order', async () => {
    const release = gateway.engine.hold();
    const socket = connect(gateway.server.port, '127.0.0.1');
    let text = '';
    socket.on('data', data => {
      text += data.toString('latin1');
    });
    socket.write(post);
    await expect.poll(accepted).toBe(1);
    await new Promise<void>(sent => socket.write(post, () => sent()));
    release();
    await expect.poll(() => statuses(text)).toEqual([202, 202]);
    socket.destroy();
    expect(accepted()).toBe(2);
  });

  test.runIf(server === 'node')(
    'very many in one packet: those within the limit are answered, and the connection closes',
    async () => {
      const few = await exchange(gateway.server.port, [post + health.repeat(pipelinedMax)], answered(1 + pipelinedMax));
      expect(statuses(few.text).length).toBe(1 + pipelinedMax);
      const many = await untilClosed(gateway.server.port, post + health.repeat(3 * pipelinedMax));
      expect([statuses(many.text).length, many.isClosed]).toEqual([1 + pipelinedMax, true]);
    },
  );

  test.runIf(server === 'node')('very many in packets of their own are all answered', async () => {
    const socket = connect({ port: gateway.server.port, host: '127.0.0.1', noDelay: true });
    let text = '';
    socket.on('data', data => {
      text += data.toString('latin1');
    });
    for (let sent = 1; sent <= 1_000; sent++) {
      await new Promise<void>(written => socket.write(health, () => written()));
      await takenIn();
      // The system may deliver packets late, and then together, so no more are under way than may wait.
      if (sent % 100 === 0) await expect.poll(() => statuses(text).length).toBe(sent);
    }
    socket.destroy();
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

  test.each([
    ['HEAD /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 401],
    ['HEAD /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
  ])('HEAD of a refusal has its status, and no body: %j', async (request, status) => {
    const { text } = await exchange(gateway.server.port, [request], reply => reply.endsWith('\r\n\r\n'));
    expect(statuses(text)).toEqual([status]);
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
