// Over bare sockets: methods in other letter cases.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { server } from './differences.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { exchange, statuses } from './raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());
beforeEach(() => {
  gateway.engine.submissions.length = 0;
});

/** Calls echo.handle. The bytes of the key are those of its characters, which are at most U+00FF. */
async function call(method: string, key: string): Promise<string> {
  const lines = [`${method} /plugin/echo/handle HTTP/1.1`, 'Host: x', 'Authorization: Bearer root-token'];
  const head = [...lines, 'Connection: close', `Idempotency-Key: ${key}`, 'Content-Length: 0', '', ''].join('\r\n');
  return (await exchange(gateway.server.port, [head], () => false)).text;
}

test.each(['post', 'Post', 'pOST'])('%s is not POST: the call runs nothing', async method => {
  const text = await call(method, 'k');
  // node:http does not know the method.
  expect(statuses(text)).toEqual([server === 'uws' ? 405 : 400]);
  expect(gateway.engine.submissions).toEqual([]);
});
