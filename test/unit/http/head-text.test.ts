// Over bare sockets: methods in other letter cases, and bytes beyond ASCII in headers.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { can, server } from './differences.ts';
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

test('a key that is not UTF-8 is refused: its bytes are lost, so it could equal another key', async () => {
  for (const key of ['a\xe9b', 'a\xc3\xa9\xffb', 'a\xef\xbf\xbdb']) {
    const text = await call('POST', key);
    expect([statuses(text), text]).toEqual([[400], expect.stringContaining('"code":"invalid_idempotency_key"')]);
  }
  expect(gateway.engine.submissions).toEqual([]);
});

test('keys in UTF-8 that differ in a byte inside are different keys', async () => {
  for (const key of ['ab', 'a\xc3\xa9b', 'a\xc3\xa8b', 'ab\xc3\xa9'])
    expect(statuses(await call('POST', key))).toEqual([202]);
  const keys = gateway.engine.submissions.map(({ idempotency }) => Buffer.from(idempotency!.key).toString('hex'));
  expect(new Set(keys).size).toBe(can('a byte beyond ASCII at an end of a header') ? 4 : 3);
});
