// Messages on the pipe between the ledger thread and a plugin host.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Reports } from '../../../../runtime/host/process/reports.ts';
import { encodeMessage, keyBytes, type MessageKind, MessageReader } from '../../../../runtime/host/wire/message.ts';
import { emptyBody } from '../../../../runtime/host/wire/outcome.ts';
import {
  encodeOutcome,
  partsOf,
  readOutcomes,
  readReturned,
  returnedMessage,
} from '../../../../runtime/host/wire/outcome-message.ts';

const frameId = (body: Buffer) => body.readDoubleLE(0);

/** A message with one outcome that began then. */
function outcomeAt(startedUs: number): Buffer {
  const head = { task: 0, verdict: 'ok', permanent: false, startedUs, runUs: 1 } as const;
  return Buffer.concat([Buffer.alloc(8), encodeOutcome(head, emptyBody)]);
}

it('outcomes in parts are those that were cut, however they arrive and whatever comes between', () => {
  const written = fc.uint8Array({ minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(written, fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 99 }), (bytes, partBytes, step) => {
      const told: [MessageKind, Buffer][] = [];
      const reader = new MessageReader((kind, body) => told.push([kind, Buffer.from(body)]));
      const parts = [...partsOf(7, bytes, partBytes)];
      const stream = Buffer.concat(parts.flatMap((part, i) => [part, returnedMessage(i, 0, 1)]));
      for (let at = 0; at < stream.length; at += step) reader.push(stream.subarray(at, at + step));
      const [long, ...more] = told.filter(([kind]) => kind === 'outcomes').map(([, body]) => body);
      expect(more).toEqual([]);
      expect([frameId(long!), long!.subarray(8)]).toEqual([7, Buffer.from(bytes)]);
      expect(told.filter(([kind]) => kind === 'returned')).toHaveLength(parts.length);
    }),
  );
});

it.each([
  ['longer than all', [2, 0, 0, 0, 1, 2, 3]],
  ['without its length', [2, 0]],
  ['of more than may come', [255, 255, 255, 255, 1]],
])('a part %s is refused', (_, body) => {
  const { length } = body;
  const kind = partsOf(1, Buffer.alloc(1), 1).next().value![4]!;
  const reader = new MessageReader(() => {});
  expect(() => reader.push(Buffer.from([length, 0, 0, 0, kind, ...body]))).toThrow(RangeError);
});

it('a message without the key of its host is refused, however it arrives', () => {
  const key = Buffer.alloc(keyBytes, 7);
  const message = encodeMessage('returned', Buffer.alloc(16));
  const whole = Buffer.concat([key, message]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: whole.length }), fc.integer({ min: 0, max: keyBytes - 1 }), (step, place) => {
      let told = 0;
      const reader = new MessageReader(() => told++, key);
      const push = (bytes: Buffer) => {
        for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
      };
      push(Buffer.concat([whole, whole]));
      expect(told).toBe(2);
      const forged = Buffer.from(whole);
      forged[place]! ^= 1;
      expect(() => push(forged)).toThrow('no host wrote this');
      expect(told).toBe(2);
    }),
  );
});

it.each([
  ['an outcome that is cut', () => readOutcomes(Buffer.alloc(9), us => us)],
  ['an outcome of no kind', () => readOutcomes(Buffer.alloc(30, 255), us => us)],
  ['an outcome that began at no time', () => readOutcomes(outcomeAt(Number.NaN), us => us)],
  ['more tasks than there are', () => readReturned(Buffer.from([...Buffer.alloc(12), 255, 255, 255, 255]))],
])('%s is refused', (_, read) => {
  expect(read).toThrow(RangeError);
});

it('a short outcome does not wait for a long one, and the last word for both', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const [[end], pipe] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, connect(address.port)]);
  const key = Buffer.alloc(keyBytes, 7);
  const reports = new Reports(pipe, key);
  const told: number[] = [];
  const reader = new MessageReader((_, body) => told.push(frameId(body)), key);
  end.on('data', chunk => reader.push(chunk));
  reports.written(1, Buffer.alloc(4 * 2 ** 20));
  reports.written(2, Buffer.alloc(2 ** 20));
  reports.written(3, Buffer.alloc(22));
  reports.end(() => {});
  await once(end, 'end');
  expect(told).toEqual([3, 1, 2]);
  server.close();
});
