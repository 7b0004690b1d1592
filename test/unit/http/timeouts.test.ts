// Connections that the server closes when nothing more comes. The tests wait for its time-outs side by side.
import { afterAll, beforeAll, describe, test } from 'vitest';
import { can } from './differences.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { statuses, untilClosed } from './raw.ts';

const post = (token: string, header: string) =>
  ['POST /plugin/echo/handle HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, header, '', ''].join('\r\n');

describe.concurrent('closed by a time-out', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.server.close());

  // A parser that does not check the two bytes after a chunk would serve as a request what a stricter one takes for a trailer.
  test('the bytes behind the last chunk smuggle no request', async ({ expect }) => {
    const smuggling = '0\r\nX:GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    const request = post('wrong-token', 'Transfer-Encoding: chunked') + smuggling;
    const { text, isClosed } = await untilClosed(gateway.server.port, request);
    expect([statuses(text).length, statuses(text)[0]! >= 400, isClosed]).toEqual([1, true, true]);
    expect(gateway.engine.submissions).toEqual([]);
  });

  describe.runIf(!can('a header name with `_`'))('without an answer', () => {
    test.for(['X_Y: 1', 'X.Y: 1'])('a request with the header %s', async (header, { expect }) => {
      const request = `GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`;
      const { text, isClosed } = await untilClosed(gateway.server.port, request);
      expect([text, isClosed]).toEqual(['', true]);
      expect(gateway.lines.filter(line => line.route === '/healthz')).toEqual([]);
    });
  });

  describe.runIf(can('a request that the parser refuses with a response'))('with 408', () => {
    test.for([
      ['a head that does not come to its end', 'GET /healthz HTTP/1.1\r\nHo'],
      ['a body that is too slow', `${post('root-token', 'Content-Length: 100')}{"pay`],
    ] as const)('%s', async ([_, request], { expect }) => {
      const { text, isClosed } = await untilClosed(gateway.server.port, request);
      expect([statuses(text), isClosed]).toEqual([[408], true]);
      expect(text).toContain('"code":"request_timeout"');
      expect(gateway.engine.submissions).toEqual([]);
    });
  });
});
