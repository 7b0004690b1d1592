// The webhook listener over an engine in memory: refusals of the ledger, senders that leave in the middle, and too many bytes at once.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Observations } from '../../../actors/hub/protocol.ts';
import { refusals } from '../../../actors/job/protocol.ts';
import type { Config } from '../../../config/config.ts';
import { bodiesBytesMax } from '../../../http/body.ts';
import type { RequestLine } from '../../../http/log.ts';
import type { Server } from '../../../http/server.ts';
import { DeliveryEvents } from '../../../http/webhooks/delivery-events.ts';
import { serveWebhooks } from '../../../http/webhooks/listener.ts';
import { bindHere, server as serverName } from '../../unit/http/differences.ts';
import { MemoryEngine, makeConfig } from '../../unit/http/gateway.ts';
import { exchange, statuses, untilClosed } from '../../unit/http/raw.ts';
import { keys, sign } from './sender.ts';

const key = keys.plain;
const endpoint = { name: 'e', path: '/webhook/e', plugin: 'echo', secretRef: 'k', signatureHeader: 'X-Signature' };
const config: Config = {
  ...makeConfig(),
  webhooks: { listen: { host: '127.0.0.1', port: 0 }, endpoints: [{ ...endpoint, bodyBytesMax: bodiesBytesMax }] },
  tokens: { k: key },
};

class Engine extends MemoryEngine {
  current = config;
  onConfig: () => void = () => {};

  override config(): Config {
    this.onConfig();
    return this.current;
  }
}

const engine = new Engine();
const told: Observations[] = [];
const lines: RequestLine[] = [];
const faults: unknown[] = [];
let server: Server;

beforeAll(async () => {
  const log = {
    debug: true,
    request: (line: RequestLine) => lines.push(line),
    refused: () => {},
    control: () => {},
    fault: (error: unknown) => faults.push(error),
  };
  const deliveryEvents = new DeliveryEvents({
    publish: groups => told.push(...groups),
    nowMs: Date.now,
    later: act => act(),
    onRejected() {},
  });
  const listener = await bindHere(config.webhooks.listen);
  server = serveWebhooks(listener, { engine, log, nowMs: Date.now, idPrefix: 'w', deliveryEvents });
});
afterAll(() => {
  server.close();
  expect(faults).toEqual([]);
});
beforeEach(() => {
  engine.refusal = null;
  engine.isStopping = false;
  engine.current = config;
  engine.submissions.length = 0;
  told.length = 0;
  lines.length = 0;
});

const body = '{"a":"é"}';
const head = (length: number, signature = sign(key, body)) =>
  ['POST /webhook/e HTTP/1.1', 'Host: x', `X-Signature: ${signature}`, `Content-Length: ${length}`, '', ''].join(
    '\r\n',
  );
const whole = head(Buffer.byteLength(body)) + Buffer.from(body).toString('latin1');
const isAnswered = (text: string) => text.endsWith('}');
const send = async () => (await exchange(server.port, [whole], isAnswered)).text;

/** A sender that stops in the middle, and what it is answered. */
function begin(length: number, bytes: number): { readonly socket: Socket; answer: string } {
  const socket = connect(server.port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const sender = { socket, answer: '' };
  socket.on('data', data => {
    sender.answer += data;
  });
  socket.write(head(length));
  socket.write(Buffer.alloc(bytes, 0x20));
  return sender;
}

test.each(refusals)('work that is refused as %s is 503 with Retry-After: the sender may come back', async refusal => {
  engine.refusal = refusal;
  const text = await send();
  expect(statuses(text)).toEqual([503]);
  expect(text).toMatch(/Retry-After: \d+\r\n/);
  expect(text).not.toContain('echo');
  expect(told).toMatchObject([{ type: 'webhook.rejected', fields: { endpoint: 'e', status: 503 } }]);
});

test('while the service stops every delivery is 503, whatever its path, and health goes on', async () => {
  engine.isStopping = true;
  expect(await send()).toContain('"code":"stopping"');
  expect(await (await fetch(`http://127.0.0.1:${server.port}/healthz`)).json()).toMatchObject({ status: 'stopping' });
  expect((await fetch(`http://127.0.0.1:${server.port}/webhook/none`, { method: 'POST' })).status).toBe(503);
});

test('a delivery that is refused for its framing is told of too', async () => {
  const twice = whole.replace('Host: x', 'Host: x\r\nHost: y');
  expect(statuses((await untilClosed(server.port, twice)).text)).toEqual([400]);
  const fields = { endpoint: 'e', status: 400, code: 'malformed_request' };
  expect(told).toMatchObject([{ type: 'webhook.rejected', fields }]);
  await untilClosed(server.port, twice.replace('POST', 'PUT'));
  expect(told).toHaveLength(1);
  if (serverName !== 'node') return;
  // The parser of uWebSockets.js refuses a request without a Host by itself.
  expect(statuses((await untilClosed(server.port, whole.replace('Host: x\r\n', ''))).text)).toEqual([400]);
  expect(told.at(-1)).toMatchObject({ type: 'webhook.rejected', fields });
  expect(told).toHaveLength(2);
});

test('a body that comes byte by byte is the body that was signed', async () => {
  const encoded = Buffer.from(body).toString('latin1');
  const { text } = await exchange(server.port, [head(encoded.length), ...encoded], isAnswered);
  expect(statuses(text)).toEqual([202]);
  expect(told).toMatchObject([{ type: 'webhook.accepted', fields: { endpoint: 'e' } }]);
});

test.each<[string, Config, number]>([
  ['another key', { ...config, tokens: { k: keys.other } }, 503],
  ['no endpoint', { ...config, webhooks: { ...config.webhooks, endpoints: [] } }, 503],
  [
    'an endpoint with a time',
    {
      ...config,
      webhooks: {
        ...config.webhooks,
        endpoints: [{ ...config.webhooks.endpoints[0]!, timestamp: { header: 'X-Time', toleranceMs: 1_000 } }],
      },
    },
    503,
  ],
  ['other settings', { ...structuredClone(config), tokens: { k: key, more: keys.other } }, 202],
])(
  'after a reload with %s, a delivery whose body is still arriving gets the right answer',
  async (_, reloaded, status) => {
    const hasBegun = new Promise<void>(resolve => {
      engine.onConfig = resolve;
    });
    const sender = begin(Buffer.byteLength(body), 0);
    await hasBegun;
    engine.current = reloaded;
    sender.socket.write(body);
    await expect.poll(() => isAnswered(sender.answer)).toBe(true);
    expect(statuses(sender.answer)).toEqual([status]);
    expect(engine.submissions).toHaveLength(status === 202 ? 1 : 0);
    if (status === 503) expect(sender.answer).toContain('the endpoint has changed: send the delivery again');
  },
);

test('a refused delivery ends neither its connection nor the one behind it', async () => {
  const forged = whole.replace(/X-Signature: ./, 'X-Signature: ').replace('é', 'e');
  const { text } = await exchange(
    server.port,
    [forged + whole],
    said => statuses(said).length === 2 && isAnswered(said),
  );
  expect(statuses(text)).toEqual([403, 202]);
});

test('a sender that leaves in the middle leaves nothing behind', async () => {
  const { socket } = begin(100, 10);
  await new Promise<void>(sent => socket.write(' ', () => sent()));
  socket.destroy();
  await expect.poll(() => lines.map(({ status }) => status)).toEqual([null]);
  expect([engine.submissions, told]).toEqual([[], []]);
});

test('senders of many slow bodies keep nobody out: the oldest of theirs gives way', async () => {
  const slow = Array.from({ length: 4 }, () => begin(bodiesBytesMax, 0));
  // They send in turns, so that none of them waits for the others longer than a connection may be idle. Together they send a little too much.
  const piece = Buffer.alloc(2 ** 20, 0x20);
  for (let sent = 0; sent <= bodiesBytesMax; sent += slow.length * piece.length)
    await Promise.all(slow.map(({ socket }) => new Promise(taken => socket.write(piece, taken))));
  const waiting = { timeout: 100_000, interval: 5 };
  const parts = [whole.slice(0, -2), whole.slice(-2)];
  expect(statuses((await exchange(server.port, parts, isAnswered)).text)).toEqual([202]);
  const refused = () => slow.filter(({ answer }) => statuses(answer).includes(503));
  await expect.poll(() => refused().length, waiting).toBeGreaterThan(0);
  expect(refused()[0]!.answer).toMatch(/Retry-After: \d+\r\n/);
  for (const { socket } of slow) socket.destroy();
  await expect.poll(() => lines.filter(({ status }) => status === null || status === 503).length, waiting).toBe(4);
});
